"""Section 4: what somebody tries who wants a session that is not theirs."""

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from stellar_sdk import (
    IdMemo,
    Keypair,
    ManageData,
    MuxedAccount,
    TimeBounds,
    TransactionBuilder,
    TransactionEnvelope,
)

from farebox.accounts.challenge import make_challenge
from farebox.accounts.signed_challenge import MAX_BYTES, ChallengeTerms
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.pooled import channel_pool
from support.promises import case
from support.signing_in import (
    DOMAIN,
    SERVER,
    bearer,
    challenge,
    session_of,
    signed,
    tried,
    verify,
)
from support.stage import Stage, service

NET: Final = Network.TESTNET
PASSPHRASE: Final = NET.passphrase
OUR_PAGE: Final = {"origin": "http://farebox.test", "x-farebox-csrf": "1"}


def _is(answer: Answer, status: int, code: str) -> bool:
    return (answer.status, answer.json()["error"]["code"]) == (status, code)


async def _me(client: AsgiClient, headers: Mapping[str, str]) -> int:
    return (await client.request("GET", "/v1/auth/me", headers=headers)).status


async def _passes(stage: Stage, table: str, address: str, seconds: float) -> None:
    """The account's challenges or sessions are older by so much."""
    whose = (
        "address = $2"
        if table == "challenges"
        else "user_id IN (SELECT id FROM users WHERE address = $2)"
    )
    await stage.query(
        f"UPDATE {table} SET expires_at = expires_at - $1::interval WHERE {whose}",
        timedelta(seconds=seconds),
        address,
    )


@case("AU-001")
async def test_a_challenge_works_once_whichever_way_it_comes_back(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    document = signed(asked["transactionXdr"], NET, key)
    assert (await verify(stage.client, document)).status == 200
    assert _is(await verify(stage.client, document), 401, "challenge_not_open")
    again = signed(asked["transactionXdr"], NET, key)
    assert _is(await verify(stage.client, again), 401, "challenge_not_open")
    standard = await stage.client.post("/v1/auth/testnet", {"transaction": document})
    assert _is(standard, 401, "challenge_not_open")


@case("AU-003")
async def test_a_challenge_is_open_for_five_minutes_and_not_a_second_more(stage: Stage) -> None:
    for seconds, is_open in ((298, True), (301, False)):
        key = Keypair.random()
        asked = await challenge(stage.client, key.public_key)
        document = signed(asked["transactionXdr"], NET, key)
        await _passes(stage, "challenges", key.public_key, seconds)
        answer = await verify(stage.client, document)
        assert answer.status == 200 if is_open else _is(answer, 401, "challenge_not_open")


class _WrongClock:
    """A machine whose clock is a minute off."""

    def __init__(self, off: timedelta) -> None:
        self._off = off

    def now(self) -> datetime:
        return datetime.now(UTC) + self._off

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@case("AU-003")
async def test_a_machine_whose_clock_is_off_issues_by_the_databases(database: Database) -> None:
    terms = ChallengeTerms(NET, Address(SERVER.public_key), DOMAIN)
    account = Address(Keypair.random().public_key)
    for off in (timedelta(minutes=1), timedelta(minutes=-1)):
        async with DatabaseClock(database, _WrongClock(off)) as clock:
            made = make_challenge(terms, Secret(SERVER.secret), account, now=clock.now())
            async with database.connection() as db:
                left = made.expires_at - await db.fetchval("SELECT clock_timestamp()")
            assert timedelta(seconds=297) < left <= timedelta(minutes=5)


@case("AU-003")
async def test_edited_time_bounds_are_those_of_another_transaction(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    envelope = TransactionEnvelope.from_xdr(asked["transactionXdr"], PASSPHRASE)
    assert envelope.transaction.preconditions is not None
    bounds = envelope.transaction.preconditions.time_bounds
    assert bounds is not None
    later = TimeBounds(bounds.min_time, bounds.max_time + 3_600)
    envelope.transaction.preconditions.time_bounds = later
    envelope.sign(key)
    assert _is(await verify(stage.client, envelope.to_xdr()), 400, "invalid_challenge")
    # and not even the service's own signature makes it one that was issued
    envelope.signatures.clear()
    envelope.sign(SERVER)
    envelope.sign(key)
    assert _is(await verify(stage.client, envelope.to_xdr()), 401, "challenge_not_open")


@case("AU-009")
async def test_no_account_of_the_services_is_a_wallet(stage: Stage) -> None:
    paymaster = await stage.ledger().account()
    async with channel_pool(stage, 1) as pool:
        environment = pool.environment | {"FAREBOX_PAYMASTER_SECRET_TESTNET": paymaster.secret}
        relayer = Keypair.from_secret(environment["FAREBOX_RELAYER_SECRET_TESTNET"])
        async with service(environment) as client:
            ours = [SERVER, relayer, paymaster, pool.key(0), stage.relayer(Network.PUBNET)]
            for network in Network:
                for key in ours:
                    said = {"network": network.value, "address": key.public_key}
                    answer = await client.post("/v1/auth/challenge", said)
                    assert _is(answer, 403, "account_not_allowed")
                    path = f"/v1/auth/{network.label}?account={key.public_key}"
                    assert _is(await client.get(path), 403, "account_not_allowed")


@case("AU-009")
async def test_the_services_signature_speaks_for_no_account_but_its_own(stage: Stage) -> None:
    key = Keypair.random()
    assert _is(await tried(stage.client, key.public_key), 401, "signature_refused")
    assert _is(await tried(stage.client, key.public_key, SERVER), 401, "signature_refused")


@case("AU-012")
async def test_a_muxed_account_and_a_memo_are_refused_and_never_the_plain_account(
    stage: Stage,
) -> None:
    key = Keypair.random()
    muxed = MuxedAccount(key.public_key, 7).account_muxed
    assert muxed is not None
    said = {"network": NET.value, "address": muxed}
    answer = await stage.client.post("/v1/auth/challenge", said)
    assert _is(answer, 400, "muxed_account_unsupported")
    answer = await stage.client.get(f"/v1/auth/testnet?account={muxed}")
    assert _is(answer, 400, "muxed_account_unsupported")
    for memo in ("7", 7, ""):
        with_memo: dict[str, object] = {"address": key.public_key, "memo": memo}
        with_memo["network"] = NET.value
        answer = await stage.client.post("/v1/auth/challenge", with_memo)
        assert _is(answer, 400, "memo_unsupported")
    answer = await stage.client.get(f"/v1/auth/testnet?account={key.public_key}&memo=7")
    assert _is(answer, 400, "memo_unsupported")
    for change in (_with_memo, _with_muxed_source):
        asked = await challenge(stage.client, key.public_key)
        envelope = TransactionEnvelope.from_xdr(asked["transactionXdr"], PASSPHRASE)
        change(envelope)
        envelope.signatures.clear()
        envelope.sign(SERVER)
        envelope.sign(key)
        assert _is(await verify(stage.client, envelope.to_xdr()), 400, "invalid_challenge")


def _with_memo(envelope: TransactionEnvelope) -> None:
    envelope.transaction.memo = IdMemo(7)


def _with_muxed_source(envelope: TransactionEnvelope) -> None:
    source = envelope.transaction.operations[0].source
    assert source is not None
    envelope.transaction.operations[0].source = MuxedAccount(source.account_id, 7)


@case("AU-013")
async def test_a_client_domain_is_in_no_challenge_and_fetches_nothing(stage: Stage) -> None:
    key, domain_key = Keypair.random(), Keypair.random()
    said = {"network": NET.value, "address": key.public_key, "clientDomain": "127.0.0.1"}
    assert _is(await stage.client.post("/v1/auth/challenge", said), 400, "invalid_request")
    path = f"/v1/auth/testnet?account={key.public_key}&client_domain=127.0.0.1"
    asked = (await stage.client.get(path)).json()
    envelope = TransactionEnvelope.from_xdr(asked["transaction"], PASSPHRASE)
    names = [operation.data_name for operation in envelope.transaction.operations]  # type: ignore[attr-defined]  # data entries, both
    assert names == [f"{DOMAIN} auth", "web_auth_domain"]
    extra = ManageData("client_domain", "wallet.example", source=domain_key.public_key)
    envelope.transaction.operations.append(extra)
    for keys in ([SERVER, key, domain_key], [SERVER, key], [key, domain_key]):
        envelope.signatures.clear()
        for each in keys:
            envelope.sign(each)
        assert _is(await verify(stage.client, envelope.to_xdr()), 400, "invalid_challenge")


@case("AU-015")
async def test_a_challenge_of_one_account_is_none_of_another(stage: Stage) -> None:
    ann, bob = Keypair.random(), Keypair.random()
    asked = await challenge(stage.client, ann.public_key)
    by_bob = signed(asked["transactionXdr"], NET, bob)
    for claimed in (bob.public_key, ann.public_key):
        answer = await verify(stage.client, by_bob, address=claimed)
        assert answer.status == 401
    by_ann = signed(asked["transactionXdr"], NET, ann)
    answer = await verify(stage.client, by_ann, address=bob.public_key)
    assert _is(answer, 401, "challenge_not_open")
    # ann's own transaction with bob's account in it is another transaction
    envelope = TransactionEnvelope.from_xdr(asked["transactionXdr"], PASSPHRASE)
    envelope.transaction.operations[0].source = MuxedAccount(bob.public_key)
    envelope.sign(bob)
    assert _is(await verify(stage.client, envelope.to_xdr()), 400, "invalid_challenge")
    assert (await verify(stage.client, by_ann, address=ann.public_key)).status == 200


@case("AU-016")
async def test_challenges_are_counted_by_client_address_and_kept_to_a_number(stage: Stage) -> None:
    most, asked = 5, 60
    key = Keypair.random()
    environment = stage.environment | {"FAREBOX_CHALLENGES_PER_MINUTE": str(most)}
    async with service(environment) as client:
        said = {"network": NET.value, "address": key.public_key}
        answers = await asyncio.gather(
            *(client.post("/v1/auth/challenge", said) for _ in range(asked))
        )
    assert sum(answer.status == 200 for answer in answers) == most
    refused = [answer for answer in answers if answer.status != 200]
    assert all(_is(answer, 429, "too_many_requests") for answer in refused)
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
    rows = await stage.query(
        "SELECT count(*) AS n FROM challenges WHERE address = $1", key.public_key
    )
    assert rows[0]["n"] == most


@case("AU-018")
async def test_no_envelope_but_a_challenge_is_even_looked_up(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    honest = TransactionEnvelope.from_xdr(signed(asked["transactionXdr"], NET, key), PASSPHRASE)
    raw = honest.to_xdr_object().to_xdr_bytes()
    bump = TransactionBuilder.build_fee_bump_transaction(key, 200, honest, PASSPHRASE)
    bump.sign(key)
    tag = 4
    bombs = [
        raw[:tag] + b"\xff" * 2_000,
        # counts of operations, signatures and values that the bytes could never hold
        raw.replace(b"\0\0\0\2\0\0\0\1", b"\xff\xff\xff\xff\0\0\0\1", 1),
        raw[: -2 * 76 - 4] + b"\xff\xff\xff\xff" + raw[-2 * 76 :],
        raw[:tag] + b"\0\0\x01\0" + raw[tag + 4 :],
        b"\0\0\0\0" + raw[8:],
        raw + bytes(4),
        raw[:-1],
        raw + bytes(MAX_BYTES),
        bytes(48_000),
    ]
    documents = [bump.to_xdr(), *(base64.b64encode(bomb).decode() for bomb in bombs)]
    documents += ["", "AAAA", "not base64", "A" * 65_536, "\u202e" * 100]
    stage.node().calls.clear()
    for document in documents:
        answer = await verify(stage.client, document)
        assert _is(answer, 400, "invalid_challenge"), document[:60]
    for other in ("A" * 65_537, None, 7, ["AAAA"]):
        answer = await stage.client.post(
            "/v1/auth/verify", {"network": NET.value, "transactionXdr": other}
        )
        assert _is(answer, 400, "invalid_request")
    for body in (b"", b"null", b"[]", b'{"a":' * 50_000, b"\xff", b'{"network": 1}'):
        answer = await stage.client.post("/v1/auth/verify", body)
        assert _is(answer, 400, "invalid_request")
        answer = await stage.client.post("/v1/auth/testnet", body)
        assert _is(answer, 400, "invalid_request")
    assert (await stage.client.post("/v1/auth/verify", bytes(300_000))).status == 413
    assert (await verify(stage.client, honest.to_xdr())).status == 200


@case("AU-020")
async def test_a_session_ends_after_a_day_and_with_its_sign_out(stage: Stage) -> None:
    key = Keypair.random()
    token = await session_of(stage.client, key)
    minute = 60.0
    await _passes(stage, "sessions", key.public_key, 24 * 60 * minute - minute)
    assert await _me(stage.client, bearer(token)) == 200
    await _passes(stage, "sessions", key.public_key, 2 * minute)
    assert await _me(stage.client, bearer(token)) == 401
    assert (await stage.client.post("/v1/auth/logout", b"", bearer(token))).status == 401
    ended = await session_of(stage.client, key)
    await stage.client.post("/v1/auth/logout", b"", bearer(ended))
    assert await _me(stage.client, bearer(ended)) == 401


@case("AU-021")
async def test_a_value_brought_along_never_becomes_the_session(stage: Stage) -> None:
    key, eve = Keypair.random(), Keypair.random()
    planted = "fbx_sess_" + "A" * 32
    eves = await session_of(stage.client, eve)
    for brought in (planted, eves):
        cookie = {"cookie": f"__Host-fbx_sess={brought}"}
        asked = await challenge(stage.client, key.public_key)
        said = {
            "network": NET.value,
            "transactionXdr": signed(asked["transactionXdr"], NET, key),
            "delivery": "cookie",
        }
        answer = await stage.client.post("/v1/auth/verify", said, OUR_PAGE | cookie)
        assert answer.status == 200, answer.body
        assert brought not in answer.headers["set-cookie"]
        fresh = answer.headers["set-cookie"].split(";")[0]
        me = await stage.client.request("GET", "/v1/auth/me", headers={"cookie": fresh})
        assert me.json()["user"]["address"] == key.public_key
    assert await _me(stage.client, {"cookie": f"__Host-fbx_sess={planted}"}) == 401


@case("AU-021")
async def test_another_sites_page_cannot_sign_its_visitor_in(stage: Stage) -> None:
    eve = Keypair.random()
    asked = await challenge(stage.client, eve.public_key)
    said = {
        "network": NET.value,
        "transactionXdr": signed(asked["transactionXdr"], NET, eve),
        "delivery": "cookie",
    }
    for page in (
        {},
        {"x-farebox-csrf": "1"},
        {"origin": "http://farebox.test"},
        OUR_PAGE | {"origin": "https://evil.example"},
        OUR_PAGE | {"origin": "null"},
        OUR_PAGE | {"origin": "http://farebox.test.evil.example"},
        OUR_PAGE | {"sec-fetch-site": "cross-site"},
    ):
        answer = await stage.client.post("/v1/auth/verify", said, page)
        assert _is(answer, 403, "cross_site_request")
        assert "set-cookie" not in answer.headers
    assert (await stage.client.post("/v1/auth/verify", said, OUR_PAGE)).status == 200


@case("AU-041")
async def test_signing_in_leads_nowhere_and_shows_in_no_frame(stage: Stage) -> None:
    key = Keypair.random()
    for name in ("redirect", "returnTo", "redirect_uri", "callback"):
        said = {"network": NET.value, "address": key.public_key, name: "https://evil.example"}
        assert _is(await stage.client.post("/v1/auth/challenge", said), 400, "invalid_request")
    path = f"/v1/auth/testnet?account={key.public_key}&redirect=https://evil.example"
    asked = await stage.client.get(path)
    document = signed(asked.json()["transaction"], NET, key)
    answer = await stage.client.post("/v1/auth/testnet", {"transaction": document})
    for each in (asked, answer):
        assert each.status == 200
        assert "location" not in each.headers
        assert b"evil" not in each.body
        assert "frame-ancestors 'none'" in each.headers["content-security-policy"]
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in each.headers
