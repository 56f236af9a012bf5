"""`GET /v1/accounts/{network}/{address}` against the devnet's ledger."""

import asyncio
from typing import Any, Final

import pytest
from stellar_sdk import Asset, AuthorizationFlag, Keypair, MuxedAccount, StrKey

from farebox.explorer.http import MAX_ASSETS
from farebox.kernel.networks import Network
from support import node_proxy
from support.accounts import Multisig
from support.asgi import Answer
from support.contracts import FUNDS, TokenBehaviour, Wallet, sha256_of, token
from support.payments import Json
from support.promises import case
from support.stage import NetworkStage, Stage, key_of
from support.wallet_payments import code_of
from support.wasm import endless_token

_TESTNET: Final = Network.TESTNET
MUXED: Final = MuxedAccount(Keypair.random().public_key, 7).account_muxed
_PAYER_UNITS: Final = 1_000_000_000_000


async def ask(
    stage: Stage, address: str | None, *assets: str, network: str = _TESTNET.value
) -> Answer:
    """Read an account."""
    query = "&".join(f"asset={each}" for each in assets)
    return await stage.client.get(f"/v1/accounts/{network}/{address}?{query}")


async def read(stage: Stage, address: str, *assets: str, network: Network = _TESTNET) -> Json:
    """Read an account that is there."""
    answer = await ask(stage, address, *assets, network=network.value)
    assert answer.status == 200, answer.body
    return answer.json()


def balance_of(account: Json, asset: str) -> Json:
    """Its balance of an asset, by name or by contract."""
    (found,) = (each for each in account["balances"] if asset in (each["asset"], each["contract"]))
    return dict(found)


def usdc(stage: NetworkStage) -> str:
    """The name of the scene's token."""
    return f"{stage.scene.code}:{stage.scene.issuer}"


@pytest.mark.parametrize("network", list(Network))
async def test_account_has_its_balances_reserve_signers_and_sequence(
    stage: Stage, network: Network
) -> None:
    party = await stage.another_payer(network)
    own = stage.networks[network]
    account = await read(stage, party.address, network=network)
    ledger = account.pop("latestLedger")
    assert 0 < ledger <= await own.ledger.latest()
    sequence = int(account.pop("sequence"))
    assert sequence >> 32 <= ledger
    assert account == {
        "network": network.value,
        "address": party.address,
        "kind": "account",
        "exists": True,
        "balances": [
            {
                "asset": "native",
                "contract": own.scene.native,
                "state": "held",
                "balance": str(await own.ledger.native_balance(party.address)),
                "buyingLiabilities": "0",
                "sellingLiabilities": "0",
            },
            {
                "asset": usdc(own),
                "contract": own.scene.asset,
                "state": "held",
                "balance": str(_PAYER_UNITS),
                "buyingLiabilities": "0",
                "sellingLiabilities": "0",
                "limit": str(2**63 - 1),
                "isAuthorized": True,
                "isAuthorizedToMaintainLiabilities": True,
                "isClawbackEnabled": False,
            },
        ],
        "minimumReserve": "15000000",
        "signers": [{"key": party.address, "type": "ed25519_public_key", "weight": 1}],
        "thresholds": {"low": 0, "medium": 0, "high": 0},
    }


async def test_signers_and_thresholds_of_a_multisig_account_are_shown(
    stage: Stage, multisig: Multisig
) -> None:
    account = await read(stage, multisig.address)
    weights = {each["key"]: each["weight"] for each in account["signers"]}
    keys = {each.public_key: 1 for each in multisig.signers}
    assert weights == {multisig.address: 0, **keys}
    assert account["thresholds"] == {"low": 2, "medium": 2, "high": 2}
    assert account["minimumReserve"] == str((2 + 3) * 5_000_000)


async def test_account_without_a_trustline_and_issuer_have_states_of_their_own(
    stage: Stage,
) -> None:
    own = stage.networks[_TESTNET]
    new = await own.ledger.account()
    assert balance_of(await read(stage, new.public_key), usdc(own)) == {
        "asset": usdc(own),
        "contract": own.scene.asset,
        "state": "no_trustline",
        "balance": "0",
    }
    issuer = balance_of(await read(stage, own.scene.issuer), usdc(own))
    assert (issuer["state"], issuer["balance"]) == ("issuer", None)


async def test_named_asset_is_found_by_code_and_by_contract(stage: Stage) -> None:
    own = stage.networks[_TESTNET]
    issuer, holder = await own.ledger.account(), await own.ledger.account()
    asset = Asset("LONGERCODE12", issuer.public_key)
    contract = await own.ledger.deploy_asset(asset, issuer)
    flags = AuthorizationFlag.AUTHORIZATION_REQUIRED | AuthorizationFlag.AUTHORIZATION_REVOCABLE
    await own.ledger.submit(issuer, lambda b: b.append_set_options_op(set_flags=flags))
    await own.ledger.submit(holder, lambda b: b.append_change_trust_op(asset, limit="12.5"))
    name = f"{asset.code}:{issuer.public_key}"
    by_name = balance_of(await read(stage, holder.public_key, name), name)
    by_contract = balance_of(await read(stage, holder.public_key, contract), contract)
    assert by_name == by_contract
    assert by_name == {
        "asset": name,
        "contract": contract,
        "state": "held",
        "balance": "0",
        "buyingLiabilities": "0",
        "sellingLiabilities": "0",
        "limit": "125000000",
        "isAuthorized": False,
        "isAuthorizedToMaintainLiabilities": False,
        "isClawbackEnabled": False,
    }


@case("WA-021")
async def test_asset_that_is_named_twice_is_shown_once(stage: Stage) -> None:
    own = stage.networks[_TESTNET]
    payer = own.scene.payers[0].address
    account = await read(stage, payer, "native", usdc(own), own.scene.asset, own.scene.native)
    assert len(account["balances"]) == 2


async def test_contract_has_its_code_and_balances(stage: Stage, smart: Wallet) -> None:
    own = stage.networks[_TESTNET]
    account = await read(stage, smart.address)
    assert (account["kind"], account["exists"]) == ("contract", True)
    assert account["contract"] == {"kind": "wasm", "wasmHash": sha256_of("smart_wallet")}
    assert not {"sequence", "signers", "thresholds", "minimumReserve"} & set(account)
    assert balance_of(account, own.scene.asset) == {
        "asset": usdc(own),
        "contract": own.scene.asset,
        "state": "held",
        "balance": str(await own.ledger.balance(own.scene.asset, smart.address)),
        "isAuthorized": True,
        "isClawbackEnabled": False,
    }


async def test_asset_contract_is_an_account_with_its_asset(stage: Stage) -> None:
    own = stage.networks[_TESTNET]
    account = await read(stage, own.scene.asset)
    assert account["contract"] == {
        "kind": "asset_contract",
        "code": own.scene.code,
        "issuer": own.scene.issuer,
    }


async def test_contract_address_that_holds_tokens_without_a_contract_is_shown(
    stage: Stage,
) -> None:
    own = stage.networks[_TESTNET]
    nowhere = StrKey.encode_contract(Keypair.random().raw_public_key())
    assert code_of(await ask(stage, nowhere)) == "account_not_found"
    await own.ledger.give(key_of(own.scene.payers[2]), own.scene.asset, nowhere, FUNDS)
    account = await read(stage, nowhere)
    assert (account["exists"], "contract" in account) == (False, False)
    assert balance_of(account, own.scene.asset)["balance"] == str(FUNDS)


async def test_balance_of_a_token_of_its_own_code_is_simulated(stage: Stage, smart: Wallet) -> None:
    own = stage.networks[_TESTNET]
    made = await token(own)
    holder = own.scene.payers[0].address
    for each, amount in ((holder, 5), (smart.address, 2**126)):
        await made.give(each, amount)
        held = balance_of(await read(stage, each, made.address), made.address)
        assert held == {
            "asset": made.address,
            "contract": made.address,
            "state": "held",
            "balance": str(amount),
        }


@case("WA-022")
async def test_contract_that_gives_no_balance_is_no_token(stage: Stage, smart: Wallet) -> None:
    own = stage.networks[_TESTNET]
    endless = await own.ledger.deploy(await own.ledger.account(), endless_token())
    nowhere = StrKey.encode_contract(Keypair.random().raw_public_key())
    account = await read(stage, own.scene.payers[0].address, smart.address, endless, nowhere)
    states = [(each["state"], each["balance"]) for each in account["balances"][2:]]
    assert states == [("not_a_token", None), ("not_a_token", None), ("no_contract", None)]


@case("WA-023")
async def test_contract_that_poses_as_an_asset_contract_has_its_own_address_for_a_name(
    stage: Stage,
) -> None:
    own = stage.networks[_TESTNET]
    made = await token(own)
    await made.behave(TokenBehaviour(posing_as=usdc(own)))
    account = await read(stage, own.scene.payers[0].address, made.address)
    assert [each["asset"] for each in account["balances"]] == ["native", usdc(own), made.address]


async def test_account_that_is_not_on_the_ledger_is_a_404(stage: Stage) -> None:
    answer = await ask(stage, Keypair.random().public_key)
    assert (answer.status, code_of(answer)) == (404, "account_not_found")


NO_ADDRESSES = {
    "short": ("GABC", "invalid_address"),
    "long": ("x" * 3_000, "invalid_address"),
    "nul": ("%00", "invalid_address"),
    "lower case": (Keypair.random().public_key.lower(), "invalid_address"),
    "secret": (Keypair.random().secret, "invalid_address"),
    "muxed": (MUXED, "muxed_account_unsupported"),
}


@case("WA-020")
async def test_address_of_no_account_is_refused(stage: Stage) -> None:
    for name, (address, code) in NO_ADDRESSES.items():
        answer = await ask(stage, address)
        assert (answer.status, code_of(answer)) == (400, code), name


@case("WA-020")
async def test_unknown_network_is_refused(stage: Stage) -> None:
    for network in ("testnet", "stellar:futurenet", "eip155:1", "x" * 500):
        answer = await ask(stage, Keypair.random().public_key, network=network)
        assert (answer.status, code_of(answer)) == (400, "unsupported_network"), network


async def test_network_that_is_not_served_is_refused(testnet_only: Stage) -> None:
    answer = await ask(testnet_only, Keypair.random().public_key, network=Network.PUBNET.value)
    assert (answer.status, code_of(answer)) == (400, "unsupported_network")


@case("WA-020")
async def test_text_that_names_no_asset_is_refused(stage: Stage) -> None:
    payer = stage.networks[_TESTNET].scene.payers[0].address
    for asset in ("", "XLM", "USDC", "USDC:GABC", "G" * 56, "%F0%9F%92%B0"):
        answer = await ask(stage, payer, asset)
        assert (answer.status, code_of(answer)) == (400, "invalid_asset"), asset


@case("WA-021")
async def test_more_assets_than_the_maximum_are_refused(stage: Stage) -> None:
    payer = stage.networks[_TESTNET].scene.payers[0].address
    names = [f"A{n}:{payer}" for n in range(MAX_ASSETS + 1)]
    answer = await ask(stage, payer, *names)
    assert (answer.status, code_of(answer)) == (400, "too_many_parameters")
    assert len((await read(stage, payer, *names[1:]))["balances"]) == 2 + MAX_ASSETS


@case("WA-025")
async def test_unavailable_node_is_a_503(stage: Stage) -> None:
    stage.node().on("getLedgerEntries", node_proxy.http(500))
    answer = await ask(stage, stage.networks[_TESTNET].scene.payers[0].address)
    assert (answer.status, code_of(answer)) == (503, "service_unavailable")


@case("WA-025")
async def test_entry_that_cannot_be_read_is_a_503(stage: Stage) -> None:
    def cut(fields: dict[str, Any]) -> None:
        for each in fields["entries"]:
            each["xdr"] = "AAAA"

    stage.node().on("getLedgerEntries", node_proxy.result(cut))
    answer = await ask(stage, stage.networks[_TESTNET].scene.payers[0].address)
    assert (answer.status, code_of(answer)) == (503, "service_unavailable")


@case("WA-026")
async def test_many_reads_at_once_are_answered_or_refused_and_payments_go_on(
    stage: Stage,
) -> None:
    own = stage.networks[_TESTNET]
    made = await token(own)
    payer = own.scene.payers[0].address
    draft = await stage.draft()
    reading = [asyncio.create_task(ask(stage, payer, made.address)) for _ in range(60)]
    await stage.assert_settles(draft.request())
    statuses = {answer.status for answer in await asyncio.gather(*reading)}
    assert statuses <= {200, 503}
    assert 200 in statuses


async def test_pages_of_other_origins_may_read_an_account(stage: Stage) -> None:
    answer = await ask(stage, "GABC")
    assert answer.headers["access-control-allow-origin"] == "*"
    preflight = await stage.client.request("OPTIONS", f"/v1/accounts/{_TESTNET.value}/G")
    assert preflight.status == 204
