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
from support.node_proxy import http, result
from support.planted_secrets import plant_secret
from support.promises import case, promise
from support.stage import Stage, own_relayer, service
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

OUR_PAGE: Final = {"origin": "http://farebox.test", "x-farebox-csrf": "1"}


def _code(answer: Answer) -> str:
    return str(answer.json()["error"]["code"])


def _looked_up(stage: Stage, address: str, network: Network = Network.TESTNET) -> int:
    """How often the node was asked for the account."""
    key = base64.b64encode(account_key(Address(address))).decode()
    calls = [call for call in stage.node(network).calls if call.method == "getLedgerEntries"]
    return sum(key in call.params["keys"] for call in calls)


async def _me(stage: Stage, token: str) -> Answer:
    return await stage.client.request("GET", "/v1/auth/me", headers=bearer(token))


@promise("challenge:consumed-by-verify", "challenge:single-use")
async def test_signed_challenge_gives_one_session(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    document = add_signatures(challenge["transactionXdr"], Network.TESTNET, key)
    answers = await asyncio.gather(*(verify_challenge(stage.client, document) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [200, *[401] * 7]
    assert {_code(answer) for answer in answers if answer.status == 401} == {"challenge_not_open"}
    session = next(answer.json() for answer in answers if answer.status == 200)
    me = (await _me(stage, session["token"])).json()
    owner = user_id(Network.TESTNET, key.public_key)
    assert session["user"] == me["user"]
    assert me["user"] == {"id": owner, "network": "stellar:testnet", "address": key.public_key}
    assert me["kind"] == "session"
    assert me["expiresAt"] == session["expiresAt"]
    sessions = await stage.query("SELECT count(*) AS n FROM sessions WHERE user_id = $1", owner)
    assert sessions[0]["n"] == 1


@promise("session:not-broadcast")
async def test_challenge_is_valid_for_sdk_and_never_submitted(stage: Stage) -> None:
    key = Keypair.random()
    for network in Network:
        challenge = await request_challenge(stage.client, key.public_key, network)
        read = read_challenge_transaction(
            challenge["transactionXdr"], challenge["signingKey"], DOMAIN, DOMAIN, network.passphrase
        )
        assert challenge["signingKey"] == SERVER.public_key
        assert challenge["networkPassphrase"] == network.passphrase
        assert read.client_account_id == key.public_key
        assert read.transaction.transaction.sequence == 0, "it could be submitted"
        for each in stage.networks.values():
            each.node.calls.clear()
        await new_session(stage.client, key, network)
        assert stage.node(network).counts()["sendTransaction"] == 0
        assert _looked_up(stage, key.public_key, network) == 1


async def test_wallet_is_a_different_user_per_network(stage: Stage) -> None:
    key = Keypair.random()
    signatures = [
        (await try_sign_in(stage.client, key.public_key, key, network=network)).json()["user"]["id"]
        for network in (Network.TESTNET, Network.PUBNET, Network.TESTNET)
    ]
    assert signatures[0] == signatures[2] != signatures[1]


async def test_challenge_is_refused_on_another_network(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key, Network.TESTNET)
    document = add_signatures(challenge["transactionXdr"], Network.TESTNET, key)
    answer = await verify_challenge(stage.client, document, Network.PUBNET)
    assert (answer.status, _code(answer)) == (400, "invalid_challenge")
    assert (await verify_challenge(stage.client, document)).status == 200


async def test_multisig_account_needs_both_signers_and_not_its_own_key(
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
        answer = await try_sign_in(stage.client, multisig.address, *keys)
        assert answer.status == status, keys
        assert status == 200 or _code(answer) == "signature_refused"


@case("AU-020")
async def test_removed_signer_cannot_sign_in(stage: Stage) -> None:
    ledger = stage.ledger()
    master, friend = await ledger.account(), Keypair.random()

    def signer_of(weight: int) -> Signer:
        return Signer.ed25519_public_key(friend.public_key, weight)

    def befriend(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=signer_of(1))

    def part(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=signer_of(0))

    assert (await try_sign_in(stage.client, master.public_key, friend)).status == 401
    await ledger.submit(master, befriend)
    answer = await try_sign_in(stage.client, master.public_key, friend)
    assert answer.status == 200
    await ledger.submit(master, part)
    assert _code(await try_sign_in(stage.client, master.public_key, friend)) == "signature_refused"
    # earlier sessions continue until they expire or are ended
    assert (await _me(stage, answer.json()["token"])).status == 200


async def test_zero_weight_key_is_refused_when_thresholds_are_zero(stage: Stage) -> None:
    ledger = stage.ledger()
    master, friend = await ledger.account(), Keypair.random()

    def retire_master(builder: TransactionBuilder) -> None:
        builder.append_set_options_op(signer=Signer.ed25519_public_key(friend.public_key, 1))
        builder.append_set_options_op(
            master_weight=0, low_threshold=0, med_threshold=0, high_threshold=0
        )

    await ledger.submit(master, retire_master)
    assert _code(await try_sign_in(stage.client, master.public_key, master)) == "signature_refused"
    assert (await try_sign_in(stage.client, master.public_key, friend)).status == 200


async def test_sign_in_is_unavailable_without_node_and_challenge_stays_open(
    stage: Stage,
) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    document = add_signatures(challenge["transactionXdr"], Network.TESTNET, key)
    stage.node().on("getLedgerEntries", http(502))
    answer = await verify_challenge(stage.client, document)
    assert (answer.status, _code(answer)) == (503, "service_unavailable")
    stage.node().reset()
    assert (await verify_challenge(stage.client, document)).status == 200


async def test_sign_in_is_refused_when_node_is_stale_or_inconsistent(
    stage: Stage,
) -> None:
    key = Keypair.random()  # not on the ledger, so that its own key would do
    challenge = await request_challenge(stage.client, key.public_key)
    document = add_signatures(challenge["transactionXdr"], Network.TESTNET, key)

    def old(response: dict[str, Any]) -> None:
        response["latestLedger"] -= 1_000

    def strange(response: dict[str, Any]) -> None:
        wanted = account_key(Address(key.public_key))
        entry = base64.b64encode(wanted + bytes(8)).decode()
        response["entries"] = [{"key": base64.b64encode(wanted).decode(), "xdr": entry}]

    for lie in (old, strange):
        stage.node().on("getLedgerEntries", result(lie))
        answer = await verify_challenge(stage.client, document)
        assert (answer.status, _code(answer)) == (503, "service_unavailable"), lie
    stage.node().reset()
    assert (await verify_challenge(stage.client, document)).status == 200


async def test_sign_out_ends_one_or_all_sessions_of_wallet(stage: Stage) -> None:
    key = Keypair.random()
    first, second, third = [await new_session(stage.client, key) for _ in range(3)]
    stranger = await new_session(stage.client)
    out = await stage.client.post("/v1/auth/logout", b"", bearer(first))
    assert (out.status, out.json()) == (200, {"ended": 1})
    assert [(await _me(stage, each)).status for each in (first, second)] == [401, 200]
    assert (await stage.client.post("/v1/auth/logout", b"", bearer(first))).status == 401
    out = await stage.client.post("/v1/auth/logout", {"everywhere": True}, bearer(second))
    assert out.json() == {"ended": 2}
    statuses = [(await _me(stage, each)).status for each in (second, third, stranger)]
    assert statuses == [401, 401, 200]


async def test_sign_in_and_out_write_audit_events_without_token(stage: Stage) -> None:
    key = Keypair.random()
    token = await new_session(stage.client, key)
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


async def test_same_origin_page_gets_cookie_and_no_token(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    request = {
        "network": "stellar:testnet",
        "transactionXdr": add_signatures(challenge["transactionXdr"], Network.TESTNET, key),
        "delivery": "cookie",
    }
    answer = await stage.client.post("/v1/auth/verify", request, OUR_PAGE)
    assert answer.status == 200, answer.body
    assert "token" not in answer.json()
    assert answer.json()["csrf"] == {"header": "X-Farebox-CSRF", "value": "1"}
    pair, *attributes = answer.headers["set-cookie"].split("; ")
    name, _, token = pair.partition("=")
    assert name == "__Host-fbx_sess"
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=86400"} == set(attributes)
    assert plant_secret(token).encode() not in answer.body
    cookie = {"cookie": pair}
    me = await stage.client.request("GET", "/v1/auth/me", headers=cookie)
    assert me.status == 200
    assert (await stage.client.post("/v1/auth/logout", b"", cookie)).status == 403
    out = await stage.client.post("/v1/auth/logout", b"", cookie | OUR_PAGE)
    assert out.status == 200
    assert "__Host-fbx_sess=; Max-Age=0;" in out.headers["set-cookie"]


async def test_sep10_client_signs_in_at_one_endpoint(stage: Stage) -> None:
    key = Keypair.random()
    for network, is_form in ((Network.TESTNET, False), (Network.PUBNET, True)):
        path = f"/v1/auth/{network.label}"
        challenge = await stage.client.get(
            f"{path}?account={key.public_key}&client_domain=a.example"
        )
        assert challenge.status == 200, challenge.body
        assert challenge.json()["network_passphrase"] == network.passphrase
        document = add_signatures(challenge.json()["transaction"], network, key)
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


async def test_foreign_origin_can_sign_in_at_sep10_endpoint_only(
    stage: Stage,
) -> None:
    path = f"/v1/auth/{Network.TESTNET.label}"
    key, page = Keypair.random(), {"origin": "https://wallet.example"}
    preflight = page | {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    allowed = await stage.client.request("OPTIONS", path, headers=preflight)
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-methods"] == "GET, POST"
    assert allowed.headers["access-control-allow-headers"] == "Content-Type"
    answers = [
        allowed,
        await stage.client.request("GET", f"{path}?account={key.public_key}", headers=page),
        await stage.client.request("GET", path, headers=page),  # 400
        await stage.client.request("POST", path, body=b"{", headers=page),
        await stage.client.request("DELETE", path, headers=page),
        await stage.client.request("OPTIONS", "/.well-known/stellar.toml", headers=preflight),
    ]
    assert [answer.status for answer in answers] == [204, 200, 400, 400, 405, 204]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
    for method, other in (("POST", "/v1/auth/challenge"), ("OPTIONS", "/v1/auth/verify")):
        answer = await stage.client.request(method, other, headers=preflight)
        assert "access-control-allow-origin" not in answer.headers


async def test_stellar_toml_names_sign_in_endpoints(stage: Stage) -> None:
    answer = await stage.client.get("/.well-known/stellar.toml")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["content-type"].startswith("text/plain")
    lines = dict(line.split("=", 1) for line in answer.body.decode().splitlines())
    assert lines["SIGNING_KEY"] == f'"{SERVER.public_key}"'
    assert lines["NETWORK_PASSPHRASE"] == f'"{Network.PUBNET.passphrase}"'
    assert lines["WEB_AUTH_ENDPOINT"] == '"http://127.0.0.1:8402/v1/auth/pubnet"'


async def test_sign_in_is_unavailable_without_signing_key(stage: Stage) -> None:
    environment = stage.environment | await own_relayer(stage)
    del environment["FAREBOX_AUTH_SIGNING_SECRET"]
    async with service(environment) as client:
        request = {"network": "stellar:testnet", "address": Keypair.random().public_key}
        answer = await client.post("/v1/auth/challenge", request)
        assert (answer.status, _code(answer)) == (503, "sign_in_unavailable")
        assert answer.headers["retry-after"] == "60"
        request = {"network": "stellar:testnet", "transactionXdr": "AAAA"}
        answer = await client.post("/v1/auth/verify", request)
        assert (answer.status, _code(answer)) == (503, "sign_in_unavailable")
        assert (await client.get("/.well-known/stellar.toml")).status == 404
        assert (await client.get("/health/ready")).status == 200


async def test_contract_account_gets_unavailable_without_contract(stage: Stage) -> None:
    request = {
        "network": "stellar:testnet",
        "address": stage.networks[Network.TESTNET].scene.asset,
    }
    answer = await stage.client.post("/v1/auth/challenge", request)
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


async def test_invalid_challenge_request_is_refused_with_its_code(stage: Stage) -> None:
    honest = {"network": "stellar:testnet", "address": Keypair.random().public_key}
    for said, code in REFUSED:
        answer = await stage.client.post("/v1/auth/challenge", honest | said)
        assert (answer.status, _code(answer)) == (400, code), said
        assert SERVER.secret.encode() not in answer.body


async def test_challenge_without_server_signature_makes_no_rpc_call(stage: Stage) -> None:
    key = Keypair.random()
    challenge = await request_challenge(stage.client, key.public_key)
    envelope = TransactionEnvelope.from_xdr(challenge["transactionXdr"], Network.TESTNET.passphrase)
    envelope.signatures.clear()
    envelope.sign(key)
    answer = await verify_challenge(stage.client, envelope.to_xdr())
    assert (answer.status, _code(answer)) == (400, "invalid_challenge")
    assert _looked_up(stage, key.public_key) == 0
