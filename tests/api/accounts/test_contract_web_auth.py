"""Contract accounts sign in over HTTP, with the real database, devnet and contract."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Final

import pytest
from stellar_sdk import Keypair, xdr
from stellar_sdk.sep.stellar_soroban_web_authentication import read_challenge_authorization_entries

from farebox.accounts import contract_challenge
from farebox.accounts.sign_in import MAX_ATTEMPTS
from farebox.kernel.caller import user_id
from farebox.kernel.networks import Network
from support import node_proxy
from support.asgi import Answer, AsgiClient
from support.contracts import Wallet, wallet
from support.promises import case, promise
from support.stage import NetworkStage, Stage, environment_for, service
from support.wallet_sign_in import (
    DOMAIN,
    SERVER,
    add_signatures,
    bearer,
    request_challenge,
    verify_challenge,
)
from support.web_auth import flips, sign_challenge, web_auth

TESTNET: Final = Network.TESTNET


@pytest.fixture(scope="module")
async def testnet(stage_networks: dict[Network, NetworkStage]) -> NetworkStage:
    """The network that the wallets are on, and the account that signs challenges."""
    found = stage_networks[TESTNET]
    await found.ledger.fund(SERVER.public_key)
    return found


@pytest.fixture(scope="module")
async def contract(testnet: NetworkStage) -> str:
    """The web-auth contract."""
    return (await web_auth(testnet.ledger)).contract


@pytest.fixture(scope="module")
async def doorway(
    stage_networks: dict[Network, NetworkStage], stage_database: str, contract: str
) -> AsyncIterator[tuple[AsgiClient, dict[str, str]]]:
    """A service that knows the contract of testnet, and none of pubnet."""
    relayer = await stage_networks[TESTNET].ledger.account()
    environment = environment_for(
        stage_networks,
        stage_database,
        FAREBOX_WEB_AUTH_CONTRACT_TESTNET=contract,
        FAREBOX_RELAYER_SECRET_TESTNET=relayer.secret,
    )
    async with service(environment) as client:
        yield client, environment


@pytest.fixture
async def door(stage: Stage, doorway: tuple[AsgiClient, dict[str, str]]) -> Stage:
    """That service, with honest nodes and no challenge open."""
    client, environment = doorway
    return Stage(client, stage.networks, environment)


async def _asked(door: Stage, smart: Wallet) -> str:
    challenge = await request_challenge(door.client, smart.address)
    return str(challenge["authorizationEntriesXdr"])


async def _shown(door: Stage, document: str, network: Network = TESTNET) -> Answer:
    request = {"network": network.value, "authorizationEntriesXdr": document}
    return await door.client.post("/v1/auth/verify", request)


def _signed(document: str, smart: Wallet, key: Keypair | None = None) -> str:
    return sign_challenge(document, smart.address, key or smart.key, TESTNET)


def _code(answer: Answer) -> str:
    return str(answer.json()["error"]["code"])


def _counts(door: Stage) -> tuple[int, int]:
    counts = door.node().counts()
    return counts["simulateTransaction"], counts["sendTransaction"]


@case("AU-012")
@promise("challenge:single-use", "session:not-broadcast", "account:stable-user-id")
async def test_contract_account_gets_one_session_per_challenge(
    door: Stage, smart: Wallet, contract: str
) -> None:
    challenge = await request_challenge(door.client, smart.address)
    assert "transactionXdr" not in challenge
    read = read_challenge_authorization_entries(
        challenge["authorizationEntriesXdr"], challenge["signingKey"], DOMAIN, DOMAIN, contract
    )
    assert read.client_account_id == challenge["address"] == smart.address
    door.node().calls.clear()
    document = _signed(challenge["authorizationEntriesXdr"], smart)
    answers = await asyncio.gather(*(_shown(door, document) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [200, *[401] * 5]
    again = await _shown(door, document)
    assert (again.status, _code(again)) == (401, "challenge_not_open")
    (given,) = [answer.json() for answer in answers if answer.status == 200]
    assert given["user"] == {
        "id": user_id(TESTNET, smart.address),
        "network": TESTNET.value,
        "address": smart.address,
    }
    simulated, sent = _counts(door)
    assert 1 <= simulated <= 6
    assert sent == 0
    me = await door.client.request("GET", "/v1/auth/me", headers=bearer(given["token"]))
    assert me.json()["user"] == given["user"]


def _is_of_sign_in(call: node_proxy.Call) -> bool:
    """Whether it is none of the reads that each service makes by itself every few seconds.

    Those are of the network's settings and of the account that pays fees.
    """
    if call.method != "getLedgerEntries":
        return call.method == "simulateTransaction"
    keys = [xdr.LedgerKey.from_xdr(each) for each in call.params["keys"]]
    signer = Keypair.from_public_key(SERVER.public_key).xdr_account_id()
    return any(
        key.account.account_id == signer if key.account else key.config_setting is None
        for key in keys
    )


async def test_challenge_request_makes_no_rpc_call(door: Stage, smart: Wallet) -> None:
    await _asked(door, smart)  # the first one looks if everything is there
    door.node().calls.clear()
    documents = {await _asked(door, smart) for _ in range(5)}
    assert len(documents) == 5
    assert not [call for call in door.node().calls if _is_of_sign_in(call)]


@case("AU-012")
async def test_wrong_key_is_refused_and_challenge_stays_open(door: Stage, smart: Wallet) -> None:
    document = await _asked(door, smart)
    for wrong in (document, _signed(document, smart, Keypair.random())):
        answer = await _shown(door, wrong)
        assert (answer.status, _code(answer)) == (401, "signature_refused")
    assert (await _shown(door, _signed(document, smart))).status == 200


@case("AU-012")
async def test_challenge_verifications_are_limited(door: Stage, smart: Wallet) -> None:
    document = await _asked(door, smart)
    await door.query("UPDATE challenges SET tries = $1", MAX_ATTEMPTS - 1)
    door.node().calls.clear()
    codes = [_code(await _shown(door, document)) for _ in range(4)]
    assert codes == ["signature_refused", *["challenge_not_open"] * 3]
    assert _counts(door) == (1, 0)


@case("AU-012", "AU-018")
async def test_changed_challenge_makes_no_rpc_call(
    door: Stage, smart: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte has a bit of it turned; only the wallet's own signature is for its account."""
    monkeypatch.setattr(contract_challenge, "LIFE_LEDGERS", 1_500)  # 60 are twelve seconds here
    document = _signed(await _asked(door, smart), smart)
    door.node().calls.clear()
    refused = 0
    for _, changed in flips(document, every=7):
        answer = await _shown(door, changed)
        assert answer.status in (400, 401), answer.body
        refused += _code(answer) in ("invalid_challenge", "challenge_not_open")
    simulated, _ = _counts(door)
    assert refused > 100
    assert simulated <= 12, "the signature's own bytes, and how long it holds"
    assert (await _shown(door, document)).status == 200


@case("AU-018")
async def test_malformed_challenge_is_refused_with_its_code(door: Stage, smart: Wallet) -> None:
    document = await _asked(door, smart)
    transaction = (await request_challenge(door.client, Keypair.random().public_key))[
        "transactionXdr"
    ]
    bomb = base64.b64encode(b"\xff\xff\xff\xff" * 3_000).decode()
    for each in ("", "AAAA", transaction, bomb, document + document, document[:-8]):
        answer = await _shown(door, each)
        assert (answer.status, _code(answer)) == (400, "invalid_challenge"), each[:40]
    for each in (document, bomb):
        answer = await verify_challenge(door.client, each)
        assert (answer.status, _code(answer)) == (400, "invalid_challenge")
    long = await _shown(door, "A" * 70_000)
    assert 400 <= long.status < 500


@case("AU-012")
async def test_contract_account_cannot_use_challenge_of_another_account(
    door: Stage, testnet: NetworkStage, smart: Wallet
) -> None:
    other = await wallet(testnet, "smart_wallet")
    document = _signed(await _asked(door, smart), smart)
    request = {"network": TESTNET.value, "authorizationEntriesXdr": document}
    answer = await door.client.post("/v1/auth/verify", {**request, "address": other.address})
    assert (answer.status, _code(answer)) == (401, "challenge_not_open")
    key = Keypair.random()
    plain = await request_challenge(door.client, key.public_key)
    both = {**request, "transactionXdr": add_signatures(plain["transactionXdr"], TESTNET, key)}
    assert (await door.client.post("/v1/auth/verify", both)).status == 400


@case("AU-009")
async def test_web_auth_contract_cannot_sign_in(door: Stage, contract: str) -> None:
    request = {"network": TESTNET.value, "address": contract}
    answer = await door.client.post("/v1/auth/challenge", request)
    assert (answer.status, _code(answer)) == (403, "account_not_allowed")


async def test_contract_sign_in_is_unavailable_without_contract_setting(
    door: Stage, smart: Wallet
) -> None:
    request = {"network": Network.PUBNET.value, "address": smart.address}
    answer = await door.client.post("/v1/auth/challenge", request)
    assert (answer.status, _code(answer)) == (503, "contract_login_unavailable")
    document = _signed(await _asked(door, smart), smart)
    answer = await _shown(door, document, Network.PUBNET)
    assert (answer.status, _code(answer)) == (503, "contract_login_unavailable")


async def test_contract_sign_in_is_refused_when_node_is_unreliable(
    door: Stage, smart: Wallet
) -> None:
    document = _signed(await _asked(door, smart), smart)
    results: list[dict[str, object]] = [
        {},
        {"latestLedger": 0},
        {"latestLedger": 5},
        {"latestLedger": 1, "error": "old"},
    ]
    for result in results:
        door.node().on("simulateTransaction", node_proxy.fixed(result))
        answer = await _shown(door, document)
        assert (answer.status, _code(answer)) == (503, "service_unavailable"), result
    door.node().on("simulateTransaction", node_proxy.http(502))
    assert (await _shown(door, document)).status == 503
    door.node().reset()
    assert (await _shown(door, document)).status == 200


async def test_sep45_client_signs_in_at_the_endpoint(door: Stage, smart: Wallet) -> None:
    path = f"/v1/auth/testnet?account={smart.address}&home_domain={DOMAIN}"
    challenge = (await door.client.get(path)).json()
    assert challenge["network_passphrase"] == TESTNET.passphrase
    document = _signed(challenge["authorization_entries"], smart)
    answer = await door.client.post("/v1/auth/testnet", {"authorization_entries": document})
    assert answer.status == 200
    assert answer.json()["token"].startswith("fbx_sess_")
