"""Section 4: attempts to get the session of another account."""

import asyncio
import base64
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from stellar_sdk import (
    IdMemo,
    Keypair,
    ManageData,
    MuxedAccount,
    TimeBounds,
    TransactionBuilder,
    TransactionEnvelope,
)

from farebox.accounts.account_web_auth import make_challenge
from farebox.accounts.signed_challenge import MAX_BYTES, ChallengeTerms
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.channel_pool import channel_pool
from support.promises import case
from support.stage import Stage, service
from support.wallet_sign_in import (
    DOMAIN,
    SERVER,
    add_signatures,
    bearer,
    new_session,
    request_challenge,
    try_sign_in,
    verify_challenge,
)

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
async def test_challenge_works_once_through_any_endpoint(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    document = add_signatures(challenge["transactionXdr"], NET, key)
    assert (await verify_challenge(stage.client, document)).status == 200
    assert _is(await verify_challenge(stage.client, document), 401, "challenge_not_open")
    again = add_signatures(challenge["transactionXdr"], NET, key)
    assert _is(await verify_challenge(stage.client, again), 401, "challenge_not_open")
    standard = await stage.client.post("/v1/auth/testnet", {"transaction": document})
    assert _is(standard, 401, "challenge_not_open")


@case("AU-003")
async def test_challenge_expires_after_five_minutes(stage: Stage) -> None:
    while True:
        began = time.monotonic()
        answer = await _present_after(stage, 298)
        if time.monotonic() - began < 2:  # else the machine stood still past the five minutes
            break
    assert answer.status == 200
    assert _is(await _present_after(stage, 301), 401, "challenge_not_open")


async def _present_after(stage: Stage, seconds: float) -> Answer:
    """The answer to a challenge that is so old."""
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    document = add_signatures(challenge["transactionXdr"], NET, key)
    await _passes(stage, "challenges", key.public_key, seconds)
    return await verify_challenge(stage.client, document)


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
async def test_challenge_times_use_database_clock(database: Database) -> None:
    terms = ChallengeTerms(NET, Address(SERVER.public_key), DOMAIN)
    account = Address(Keypair.random().public_key)
    for off in (timedelta(minutes=1), timedelta(minutes=-1)):
        async with DatabaseClock(database, _WrongClock(off)) as clock:
            made = make_challenge(terms, Secret(SERVER.secret), account, now=clock.now())
            async with database.connection() as db:
                left = made.expires_at - await db.fetchval("SELECT clock_timestamp()")
            assert timedelta(seconds=297) < left <= timedelta(minutes=5)


@case("AU-003")
async def test_challenge_with_edited_time_bounds_is_refused(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    envelope = TransactionEnvelope.from_xdr(challenge["transactionXdr"], PASSPHRASE)
    assert envelope.transaction.preconditions is not None
    bounds = envelope.transaction.preconditions.time_bounds
    assert bounds is not None
    later = TimeBounds(bounds.min_time, bounds.max_time + 3_600)
    envelope.transaction.preconditions.time_bounds = later
    envelope.sign(key)
    assert _is(await verify_challenge(stage.client, envelope.to_xdr()), 400, "invalid_challenge")
    # and not even the service's own signature makes it one that was issued
    envelope.signatures.clear()
    envelope.sign(SERVER)
    envelope.sign(key)
    assert _is(await verify_challenge(stage.client, envelope.to_xdr()), 401, "challenge_not_open")


@case("AU-009")
async def test_service_accounts_cannot_sign_in(stage: Stage) -> None:
    paymaster = await stage.ledger().account()
    async with channel_pool(stage, 1) as pool:
        environment = pool.environment | {"FAREBOX_PAYMASTER_SECRET_TESTNET": paymaster.secret}
        relayer = Keypair.from_secret(environment["FAREBOX_RELAYER_SECRET_TESTNET"])
        async with service(environment) as client:
            ours = [SERVER, relayer, paymaster, pool.key(0), stage.relayer(Network.PUBNET)]
            for network in Network:
                for key in ours:
                    request = {"network": network.value, "address": key.public_key}
                    answer = await client.post("/v1/auth/challenge", request)
                    assert _is(answer, 403, "account_not_allowed")
                    path = f"/v1/auth/{network.label}?account={key.public_key}"
                    assert _is(await client.get(path), 403, "account_not_allowed")


@case("AU-009")
async def test_server_signature_authenticates_no_other_account(stage: Stage) -> None:
    key = Keypair.random()
    assert _is(await try_sign_in(stage.client, key.public_key), 401, "signature_refused")
    assert _is(await try_sign_in(stage.client, key.public_key, SERVER), 401, "signature_refused")


@case("AU-012")
async def test_muxed_account_and_memo_are_refused(
    stage: Stage,
) -> None:
    key = Keypair.random()
    muxed = MuxedAccount(key.public_key, 7).account_muxed
    assert muxed is not None
    request = {"network": NET.value, "address": muxed}
    answer = await stage.client.post("/v1/auth/challenge", request)
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
        challenge = await request_challenge(stage.client, key.public_key)
        envelope = TransactionEnvelope.from_xdr(challenge["transactionXdr"], PASSPHRASE)
        change(envelope)
        envelope.signatures.clear()
        envelope.sign(SERVER)
        envelope.sign(key)
        assert _is(
            await verify_challenge(stage.client, envelope.to_xdr()), 400, "invalid_challenge"
        )


def _with_memo(envelope: TransactionEnvelope) -> None:
    envelope.transaction.memo = IdMemo(7)


def _with_muxed_source(envelope: TransactionEnvelope) -> None:
    source = envelope.transaction.operations[0].source
    assert source is not None
    envelope.transaction.operations[0].source = MuxedAccount(source.account_id, 7)


@case("AU-013")
async def test_client_domain_is_ignored_and_fetches_nothing(stage: Stage) -> None:
    key, domain_key = Keypair.random(), Keypair.random()
    request = {"network": NET.value, "address": key.public_key, "clientDomain": "127.0.0.1"}
    assert _is(await stage.client.post("/v1/auth/challenge", request), 400, "invalid_request")
    path = f"/v1/auth/testnet?account={key.public_key}&client_domain=127.0.0.1"
    body = (await stage.client.get(path)).json()
    envelope = TransactionEnvelope.from_xdr(body["transaction"], PASSPHRASE)
    names = [operation.data_name for operation in envelope.transaction.operations]  # type: ignore[attr-defined]  # data entries, both
    assert names == [f"{DOMAIN} auth", "web_auth_domain"]
    extra = ManageData("client_domain", "wallet.example", source=domain_key.public_key)
    envelope.transaction.operations.append(extra)
    for keys in ([SERVER, key, domain_key], [SERVER, key], [key, domain_key]):
        envelope.signatures.clear()
        for each in keys:
            envelope.sign(each)
        assert _is(
            await verify_challenge(stage.client, envelope.to_xdr()), 400, "invalid_challenge"
        )


@case("AU-015")
async def test_challenge_of_another_account_is_refused(stage: Stage) -> None:
    ann, bob = Keypair.random(), Keypair.random()
    challenge = await request_challenge(stage.client, ann.public_key)
    by_bob = add_signatures(challenge["transactionXdr"], NET, bob)
    for claimed in (bob.public_key, ann.public_key):
        answer = await verify_challenge(stage.client, by_bob, address=claimed)
        assert answer.status == 401
    by_ann = add_signatures(challenge["transactionXdr"], NET, ann)
    answer = await verify_challenge(stage.client, by_ann, address=bob.public_key)
    assert _is(answer, 401, "challenge_not_open")
    # ann's own transaction with bob's account in it is another transaction
    envelope = TransactionEnvelope.from_xdr(challenge["transactionXdr"], PASSPHRASE)
    envelope.transaction.operations[0].source = MuxedAccount(bob.public_key)
    envelope.sign(bob)
    assert _is(await verify_challenge(stage.client, envelope.to_xdr()), 400, "invalid_challenge")
    assert (await verify_challenge(stage.client, by_ann, address=ann.public_key)).status == 200


@case("AU-016")
@pytest.mark.usefixtures("one_minute")
async def test_challenges_are_limited_per_client_address_and_in_total(stage: Stage) -> None:
    most, sent = 5, 60
    key = Keypair.random()
    environment = stage.environment | {"FAREBOX_CHALLENGES_PER_MINUTE": str(most)}
    async with service(environment) as client:
        request = {"network": NET.value, "address": key.public_key}
        answers = await asyncio.gather(
            *(client.post("/v1/auth/challenge", request) for _ in range(sent))
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
async def test_envelope_that_is_not_a_challenge_is_not_looked_up(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    honest = TransactionEnvelope.from_xdr(
        add_signatures(challenge["transactionXdr"], NET, key), PASSPHRASE
    )
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
        answer = await verify_challenge(stage.client, document)
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
    assert (await verify_challenge(stage.client, honest.to_xdr())).status == 200


@case("AU-020")
async def test_session_ends_after_a_day_or_at_sign_out(stage: Stage) -> None:
    key = Keypair.random()
    token = await new_session(stage.client, key)
    minute = 60.0
    await _passes(stage, "sessions", key.public_key, 24 * 60 * minute - minute)
    assert await _me(stage.client, bearer(token)) == 200
    await _passes(stage, "sessions", key.public_key, 2 * minute)
    assert await _me(stage.client, bearer(token)) == 401
    assert (await stage.client.post("/v1/auth/logout", b"", bearer(token))).status == 401
    ended = await new_session(stage.client, key)
    await stage.client.post("/v1/auth/logout", b"", bearer(ended))
    assert await _me(stage.client, bearer(ended)) == 401


@case("AU-021")
async def test_session_fixation_is_refused(stage: Stage) -> None:
    key, eve = Keypair.random(), Keypair.random()
    planted = "fbx_sess_" + "A" * 32
    eves = await new_session(stage.client, eve)
    for brought in (planted, eves):
        cookie = {"cookie": f"__Host-fbx_sess={brought}"}
        challenge = await request_challenge(stage.client, key.public_key)
        request = {
            "network": NET.value,
            "transactionXdr": add_signatures(challenge["transactionXdr"], NET, key),
            "delivery": "cookie",
        }
        answer = await stage.client.post("/v1/auth/verify", request, OUR_PAGE | cookie)
        assert answer.status == 200, answer.body
        assert brought not in answer.headers["set-cookie"]
        fresh = answer.headers["set-cookie"].split(";")[0]
        me = await stage.client.request("GET", "/v1/auth/me", headers={"cookie": fresh})
        assert me.json()["user"]["address"] == key.public_key
    assert await _me(stage.client, {"cookie": f"__Host-fbx_sess={planted}"}) == 401


@case("AU-021")
async def test_cross_site_page_cannot_sign_in_its_visitor(stage: Stage) -> None:
    eve = Keypair.random()
    challenge = await request_challenge(stage.client, eve.public_key)
    request = {
        "network": NET.value,
        "transactionXdr": add_signatures(challenge["transactionXdr"], NET, eve),
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
        answer = await stage.client.post("/v1/auth/verify", request, page)
        assert _is(answer, 403, "cross_site_request")
        assert "set-cookie" not in answer.headers
    assert (await stage.client.post("/v1/auth/verify", request, OUR_PAGE)).status == 200


@case("AU-041")
async def test_sign_in_has_no_redirect_and_denies_framing(stage: Stage) -> None:
    key = Keypair.random()
    for name in ("redirect", "returnTo", "redirect_uri", "callback"):
        request = {"network": NET.value, "address": key.public_key, name: "https://evil.example"}
        assert _is(await stage.client.post("/v1/auth/challenge", request), 400, "invalid_request")
    path = f"/v1/auth/testnet?account={key.public_key}&redirect=https://evil.example"
    challenge = await stage.client.get(path)
    document = add_signatures(challenge.json()["transaction"], NET, key)
    answer = await stage.client.post("/v1/auth/testnet", {"transaction": document})
    for each in (challenge, answer):
        assert each.status == 200
        assert "location" not in each.headers
        assert b"evil" not in each.body
        assert "frame-ancestors 'none'" in each.headers["content-security-policy"]
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["cache-control"] == "no-store"
        assert each.headers["access-control-allow-origin"] == "*"  # SEP-10 asks for it
        assert "access-control-allow-credentials" not in each.headers
