"""Signing in over HTTP, with the real database and devnet."""

import asyncio
import base64
from typing import Any, Final

from stellar_sdk import Keypair, Signer, TransactionBuilder, TransactionEnvelope
from stellar_sdk.sep.stellar_web_authentication import read_challenge_transaction

from farebox.kernel.addresses import Address
from farebox.kernel.caller import user_id
from farebox.kernel.networks import Network
from farebox.stellar.account_entry import account_key
from support.accounts import Multisig
from support.asgi import Answer
from support.node import http, result
from support.planted import planted
from support.promises import case, promise
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

OUR_PAGE: Final = {"origin": "http://farebox.test", "x-farebox-csrf": "1"}


def _code(answer: Answer) -> str:
    return str(answer.json()["error"]["code"])


def _looked_up(stage: Stage, address: str, network: Network = Network.TESTNET) -> int:
    """How often the node was asked for the account."""
    key = base64.b64encode(account_key(Address(address))).decode()
    asked = [call for call in stage.node(network).calls if call.method == "getLedgerEntries"]
    return sum(key in call.params["keys"] for call in asked)


async def _me(stage: Stage, token: str) -> Answer:
    return await stage.client.request("GET", "/v1/auth/me", headers=bearer(token))


@promise("challenge:consumed-by-verify", "challenge:single-use")
async def test_a_signed_challenge_gives_one_session_and_no_second(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    document = signed(asked["transactionXdr"], Network.TESTNET, key)
    answers = await asyncio.gather(*(verify(stage.client, document) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [200, *[401] * 7]
    assert {_code(answer) for answer in answers if answer.status == 401} == {"challenge_not_open"}
    told = next(answer.json() for answer in answers if answer.status == 200)
    me = (await _me(stage, told["token"])).json()
    owner = user_id(Network.TESTNET, key.public_key)
    assert told["user"] == me["user"]
    assert me["user"] == {"id": owner, "network": "stellar:testnet", "address": key.public_key}
    assert me["kind"] == "session"
    assert me["expiresAt"] == told["expiresAt"]
    sessions = await stage.query("SELECT count(*) AS n FROM sessions WHERE user_id = $1", owner)
    assert sessions[0]["n"] == 1


@promise("session:not-broadcast")
async def test_a_challenge_is_what_the_sdk_takes_for_one_and_is_never_sent(stage: Stage) -> None:
    key = Keypair.random()
    for network in Network:
        asked = await challenge(stage.client, key.public_key, network)
        read = read_challenge_transaction(
            asked["transactionXdr"], asked["signingKey"], DOMAIN, DOMAIN, network.passphrase
        )
        assert asked["signingKey"] == SERVER.public_key
        assert asked["networkPassphrase"] == network.passphrase
        assert read.client_account_id == key.public_key
        assert read.transaction.transaction.sequence == 0, "it could be submitted"
        for each in stage.networks.values():
            each.node.calls.clear()
        await session_of(stage.client, key, network)
        assert stage.node(network).counts()["sendTransaction"] == 0
        assert _looked_up(stage, key.public_key, network) == 1


async def test_one_wallet_is_another_user_on_another_network(stage: Stage) -> None:
    key = Keypair.random()
    told = [
        (await tried(stage.client, key.public_key, key, network=network)).json()["user"]["id"]
        for network in (Network.TESTNET, Network.PUBNET, Network.TESTNET)
    ]
    assert told[0] == told[2] != told[1]


async def test_a_challenge_of_one_network_is_none_on_another(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key, Network.TESTNET)
    document = signed(asked["transactionXdr"], Network.TESTNET, key)
    answer = await verify(stage.client, document, Network.PUBNET)
    assert (answer.status, _code(answer)) == (400, "invalid_challenge")
    assert (await verify(stage.client, document)).status == 200


async def test_both_signers_of_a_shared_account_are_needed_and_its_own_key_is_none(
    stage: Stage, multisig: Multisig
) -> None:
    first, second = multisig.signers
    cases: list[tuple[tuple[Keypair, ...], int]] = [
        ((), 401),
        ((multisig.master,), 401),
        ((first,), 401),
        ((first, multisig.master), 401),
        ((first, second, multisig.master), 401),
        ((first, first), 401),
        ((first, second, Keypair.random()), 401),
        ((second, first), 200),
    ]
    for keys, status in cases:
        answer = await tried(stage.client, multisig.address, *keys)
        assert answer.status == status, keys
        assert status == 200 or _code(answer) == "signature_refused"


@case("AU-020")
async def test_a_signer_that_was_removed_signs_nobody_in(stage: Stage) -> None:
    ledger = stage.ledger()
    master, friend = await ledger.account(), Keypair.random()

    def signer_of(weight: int) -> Signer:
        return Signer.ed25519_public_key(friend.public_key, weight)

    def befriend(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=signer_of(1))

    def part(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=signer_of(0))

    assert (await tried(stage.client, master.public_key, friend)).status == 401
    await ledger.submit(master, befriend)
    answer = await tried(stage.client, master.public_key, friend)
    assert answer.status == 200
    await ledger.submit(master, part)
    assert _code(await tried(stage.client, master.public_key, friend)) == "signature_refused"
    # what had begun before goes on until it ends or somebody ends it
    assert (await _me(stage, answer.json()["token"])).status == 200


async def test_a_key_of_no_weight_is_refused_although_the_thresholds_are_zero(stage: Stage) -> None:
    ledger = stage.ledger()
    master, friend = await ledger.account(), Keypair.random()

    def retire_master(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=Signer.ed25519_public_key(friend.public_key, 1))
        builder.append_set_options_op(
            master_weight=0, low_threshold=0, med_threshold=0, high_threshold=0
        )

    await ledger.submit(master, retire_master)
    assert _code(await tried(stage.client, master.public_key, master)) == "signature_refused"
    assert (await tried(stage.client, master.public_key, friend)).status == 200


async def test_without_its_node_nobody_is_signed_in_and_the_challenge_stays_open(
    stage: Stage,
) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    document = signed(asked["transactionXdr"], Network.TESTNET, key)
    stage.node().on("getLedgerEntries", http(502))
    answer = await verify(stage.client, document)
    assert (answer.status, _code(answer)) == (503, "service_unavailable")
    stage.node().reset()
    assert (await verify(stage.client, document)).status == 200


async def test_what_a_node_far_behind_or_beside_itself_says_of_an_account_lets_nobody_in(
    stage: Stage,
) -> None:
    key = Keypair.random()  # not on the ledger, so that its own key would do
    asked = await challenge(stage.client, key.public_key)
    document = signed(asked["transactionXdr"], Network.TESTNET, key)

    def old(told: dict[str, Any]) -> None:
        told["latestLedger"] -= 1_000

    def strange(told: dict[str, Any]) -> None:
        wanted = account_key(Address(key.public_key))
        entry = base64.b64encode(wanted + bytes(8)).decode()
        told["entries"] = [{"key": base64.b64encode(wanted).decode(), "xdr": entry}]

    for lie in (old, strange):
        stage.node().on("getLedgerEntries", result(lie))
        answer = await verify(stage.client, document)
        assert (answer.status, _code(answer)) == (503, "service_unavailable"), lie
    stage.node().reset()
    assert (await verify(stage.client, document)).status == 200


async def test_signing_out_ends_the_session_or_all_of_the_wallets(stage: Stage) -> None:
    key = Keypair.random()
    first, second, third = [await session_of(stage.client, key) for _ in range(3)]
    stranger = await session_of(stage.client)
    out = await stage.client.post("/v1/auth/logout", b"", bearer(first))
    assert (out.status, out.json()) == (200, {"ended": 1})
    assert [(await _me(stage, each)).status for each in (first, second)] == [401, 200]
    assert (await stage.client.post("/v1/auth/logout", b"", bearer(first))).status == 401
    out = await stage.client.post("/v1/auth/logout", {"everywhere": True}, bearer(second))
    assert out.json() == {"ended": 2}
    statuses = [(await _me(stage, each)).status for each in (second, third, stranger)]
    assert statuses == [401, 401, 200]


async def test_signing_in_and_out_leaves_a_trace_without_the_token(stage: Stage) -> None:
    key = Keypair.random()
    token = await session_of(stage.client, key)
    await stage.client.post("/v1/auth/logout", b"", bearer(token))
    owner = user_id(Network.TESTNET, key.public_key)
    rows = await stage.query(
        "SELECT action, actor, subject, audit_trail::text AS row FROM audit_trail"
        " WHERE owner = $1 ORDER BY done_at",
        owner,
    )
    assert [row["action"] for row in rows] == ["session.created", "session.revoked"]
    assert {row["actor"] for row in rows} == {"session"}
    assert rows[0]["subject"] == rows[1]["subject"]
    assert not any(token in row["row"] for row in rows)


async def test_a_page_of_ours_gets_a_cookie_and_no_token(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    said = {
        "network": "stellar:testnet",
        "transactionXdr": signed(asked["transactionXdr"], Network.TESTNET, key),
        "delivery": "cookie",
    }
    answer = await stage.client.post("/v1/auth/verify", said, OUR_PAGE)
    assert answer.status == 200, answer.body
    assert "token" not in answer.json()
    assert answer.json()["csrf"] == {"header": "X-Farebox-CSRF", "value": "1"}
    pair, *attributes = answer.headers["set-cookie"].split("; ")
    name, _, token = pair.partition("=")
    assert name == "__Host-fbx_sess"
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=86400"} == set(attributes)
    assert planted(token).encode() not in answer.body
    cookie = {"cookie": pair}
    me = await stage.client.request("GET", "/v1/auth/me", headers=cookie)
    assert me.status == 200
    assert (await stage.client.post("/v1/auth/logout", b"", cookie)).status == 403
    out = await stage.client.post("/v1/auth/logout", b"", cookie | OUR_PAGE)
    assert out.status == 200
    assert "__Host-fbx_sess=; Max-Age=0;" in out.headers["set-cookie"]


async def test_a_client_of_the_standard_signs_in_at_one_endpoint(stage: Stage) -> None:
    key = Keypair.random()
    for network, is_form in ((Network.TESTNET, False), (Network.PUBNET, True)):
        path = f"/v1/auth/{network.label}"
        asked = await stage.client.get(f"{path}?account={key.public_key}&client_domain=a.example")
        assert asked.status == 200, asked.body
        assert asked.json()["network_passphrase"] == network.passphrase
        document = signed(asked.json()["transaction"], network, key)
        if is_form:
            body = f"transaction={document}".replace("+", "%2B").replace("=", "%3D")
            body = body.replace("transaction%3D", "transaction=")
            answer = await stage.client.request(
                "POST",
                path,
                body=body.encode(),
                headers={"content-type": "application/x-www-form-urlencoded"},
            )
        else:
            answer = await stage.client.post(path, {"transaction": document})
        assert answer.status == 200, answer.body
        assert (await _me(stage, answer.json()["token"])).status == 200


async def test_wallets_find_out_where_they_sign_in(stage: Stage) -> None:
    answer = await stage.client.get("/.well-known/stellar.toml")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["content-type"].startswith("text/plain")
    lines = dict(line.split("=", 1) for line in answer.body.decode().splitlines())
    assert lines["SIGNING_KEY"] == f'"{SERVER.public_key}"'
    assert lines["NETWORK_PASSPHRASE"] == f'"{Network.PUBNET.passphrase}"'
    assert lines["WEB_AUTH_ENDPOINT"] == '"http://127.0.0.1:8402/v1/auth/pubnet"'


async def test_without_a_signing_key_nobody_signs_in(testnet_only: Stage) -> None:
    environment = dict(testnet_only.environment)
    del environment["FAREBOX_AUTH_SIGNING_SECRET"]
    async with service(environment) as client:
        said = {"network": "stellar:testnet", "address": Keypair.random().public_key}
        answer = await client.post("/v1/auth/challenge", said)
        assert (answer.status, _code(answer)) == (503, "sign_in_unavailable")
        said = {"network": "stellar:testnet", "transactionXdr": "AAAA"}
        answer = await client.post("/v1/auth/verify", said)
        assert (answer.status, _code(answer)) == (503, "sign_in_unavailable")
        assert (await client.get("/.well-known/stellar.toml")).status == 404
        assert (await client.get("/health/ready")).status == 200


async def test_a_contract_account_is_told_that_no_contract_stands_for_it(stage: Stage) -> None:
    said = {
        "network": "stellar:testnet",
        "address": stage.networks[Network.TESTNET].scene.asset,
    }
    answer = await stage.client.post("/v1/auth/challenge", said)
    assert (answer.status, _code(answer)) == (503, "contract_login_unavailable")


REFUSED: Final[list[tuple[dict[str, object], str]]] = [
    ({"network": "stellar:futurenet"}, "unsupported_network"),
    ({"network": "TESTNET"}, "unsupported_network"),
    ({"address": "G" + "A" * 55}, "invalid_address"),
    ({"address": Keypair.random().public_key.lower()}, "invalid_address"),
    ({"address": SERVER.secret}, "invalid_address"),
    ({"address": ""}, "invalid_address"),
    ({"homeDomain": "elsewhere.example"}, "unknown_home_domain"),
    ({"memo": "1"}, "memo_unsupported"),
    ({"memo": 0}, "memo_unsupported"),
    ({"clientDomain": "wallet.example"}, "invalid_request"),
    ({"network": None}, "invalid_request"),
    ({"address": "G" * 129}, "invalid_request"),
]


async def test_what_cannot_be_asked_for_is_refused_by_name(stage: Stage) -> None:
    honest = {"network": "stellar:testnet", "address": Keypair.random().public_key}
    for said, code in REFUSED:
        answer = await stage.client.post("/v1/auth/challenge", honest | said)
        assert (answer.status, _code(answer)) == (400, code), said
        assert SERVER.secret.encode() not in answer.body


async def test_a_challenge_without_the_services_signature_reaches_no_network(stage: Stage) -> None:
    key = Keypair.random()
    asked = await challenge(stage.client, key.public_key)
    envelope = TransactionEnvelope.from_xdr(asked["transactionXdr"], Network.TESTNET.passphrase)
    envelope.signatures.clear()
    envelope.sign(key)
    answer = await verify(stage.client, envelope.to_xdr())
    assert (answer.status, _code(answer)) == (400, "invalid_challenge")
    assert _looked_up(stage, key.public_key) == 0
