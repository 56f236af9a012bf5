"""`GET /v1/contracts/{network}/{contract}` against the devnet's ledger."""

import asyncio
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.kernel.networks import Network
from farebox.stellar.contract_code import find_custom_section
from farebox.stellar.contract_interface import MAX_SECTION_BYTES, SECTION
from support import node_proxy
from support.asgi import Answer
from support.contract_specs import function, plain, sdk_functions, section, vec
from support.contracts import sha256_of, wasm_of
from support.payments import Json
from support.promises import case
from support.stage import Stage
from support.wallet_payments import code_of
from support.wasm import described, silent_account

_TESTNET: Final = Network.TESTNET
I128: Final = plain(xdr.SCSpecType.SC_SPEC_TYPE_I128)


async def ask(stage: Stage, contract: str, network: str = _TESTNET.value) -> Answer:
    """Read a contract."""
    return await stage.client.get(f"/v1/contracts/{network}/{contract}")


async def read(stage: Stage, contract: str) -> Json:
    """Read a contract that is there."""
    answer = await ask(stage, contract)
    assert answer.status == 200, answer.body
    return answer.json()


async def deploy(stage: Stage, wasm: bytes, *arguments: xdr.SCVal) -> str:
    """Deploy code on testnet."""
    ledger = stage.ledger()
    return await ledger.deploy(await ledger.account(), wasm, *arguments)


@pytest.mark.parametrize("name", ["smart_wallet", "mannered_token", "web_auth"])
async def test_functions_of_a_contract_are_those_that_the_sdk_reads(
    stage: Stage, name: str
) -> None:
    wasm = wasm_of(name)
    key = [scval.to_bytes(bytes(32))] if name == "smart_wallet" else []
    contract = await deploy(stage, wasm, *key)
    body = await read(stage, contract)
    assert body.pop("latestLedger") > 0
    functions = [
        (each["name"], [(one["name"], one["type"]) for one in each["inputs"]], each["output"])
        for each in body.pop("functions")
    ]
    content = find_custom_section(wasm, SECTION)
    assert content is not None
    assert functions == sdk_functions(content) != []
    assert body == {
        "network": _TESTNET.value,
        "contract": contract,
        "kind": "wasm",
        "wasmHash": sha256_of(name),
        "isArchived": False,
        "interface": "read",
    }


@pytest.mark.parametrize("network", list(Network))
async def test_asset_contract_has_its_code_and_issuer(stage: Stage, network: Network) -> None:
    scene = stage.networks[network].scene
    body = (await ask(stage, scene.asset, network.value)).json()
    assert body | {"latestLedger": 0} == {
        "network": network.value,
        "contract": scene.asset,
        "kind": "asset_contract",
        "code": scene.code,
        "issuer": scene.issuer,
        "latestLedger": 0,
        "isArchived": False,
        "interface": "built_in",
        "functions": None,
    }
    native = (await ask(stage, scene.native, network.value)).json()
    assert (native["kind"], native["code"], "issuer" in native) == ("asset_contract", "XLM", False)


def nested(depth: int) -> xdr.SCSpecTypeDef:
    """Vectors in each other."""
    kind = I128
    for _ in range(depth):
        kind = vec(kind)
    return kind


HOSTILE: Final[dict[str, tuple[bytes | None, str]]] = {
    "absent": (None, "not_described"),
    "empty": (b"", "read"),
    "noise": (b"\xff" * 40, "unreadable"),
    "words": (section(function("pay", [("ignore all rules", I128)])), "unreadable"),
    "deep": (section(function("pay", [("a", nested(200))])), "unreadable"),
    "large": (b"\0" * (MAX_SECTION_BYTES + 4), "unreadable"),
    "counts": ((2**32 - 1).to_bytes(4, "big") * 1_000, "unreadable"),
}


@case("WA-024")
async def test_code_with_a_hostile_description_is_shown_without_functions(stage: Stage) -> None:
    codes = [
        silent_account() if content is None else described(silent_account(), content)
        for content, _ in HOSTILE.values()
    ]
    contracts = await asyncio.gather(*(deploy(stage, wasm) for wasm in codes))
    for contract, (name, (_, interface)) in zip(contracts, HOSTILE.items(), strict=True):
        body = await read(stage, contract)
        assert (body["kind"], body["interface"]) == ("wasm", interface), name
        assert body["functions"] == ([] if interface == "read" else None), name


@case("WA-020")
@pytest.mark.parametrize(
    "contract", ["CABC", "x" * 3_000, Keypair.random().public_key, Keypair.random().secret]
)
async def test_address_of_no_contract_is_refused(stage: Stage, contract: str) -> None:
    answer = await ask(stage, contract)
    assert (answer.status, code_of(answer)) == (400, "invalid_address")


async def test_unknown_network_is_refused(stage: Stage) -> None:
    answer = await ask(stage, stage.networks[_TESTNET].scene.asset, "testnet")
    assert (answer.status, code_of(answer)) == (400, "unsupported_network")


async def test_contract_that_is_not_on_the_ledger_is_a_404(stage: Stage) -> None:
    nowhere = StrKey.encode_contract(Keypair.random().raw_public_key())
    answer = await ask(stage, nowhere)
    assert (answer.status, code_of(answer)) == (404, "contract_not_found")


async def test_code_that_the_node_does_not_have_is_said(stage: Stage) -> None:
    contract = await deploy(stage, silent_account())

    async def without_code(call: node_proxy.Call, forward: node_proxy.Forward) -> node_proxy.Json:
        answer = await forward()
        asked = [xdr.LedgerKey.from_xdr(each).type for each in call.params["keys"]]
        if asked == [xdr.LedgerEntryType.CONTRACT_CODE]:
            answer["result"]["entries"] = []
        return answer

    stage.node().on("getLedgerEntries", without_code)
    assert (await read(stage, contract))["interface"] == "no_code"


@case("WA-025")
@pytest.mark.parametrize("damage", ["AAAA", "AAAABwAAAAA="])
async def test_entry_that_cannot_be_read_is_a_503(stage: Stage, damage: str) -> None:
    contract = stage.networks[_TESTNET].scene.asset

    def change(fields: node_proxy.Json) -> None:
        for each in fields["entries"]:
            each["xdr"] = damage

    stage.node().on("getLedgerEntries", node_proxy.result(change))
    answer = await ask(stage, contract)
    assert (answer.status, code_of(answer)) == (503, "service_unavailable")


async def test_unavailable_node_is_a_503(stage: Stage) -> None:
    stage.node().on("getLedgerEntries", node_proxy.refused("busy"))
    answer = await ask(stage, stage.networks[_TESTNET].scene.asset)
    assert (answer.status, code_of(answer)) == (503, "service_unavailable")
    assert int(answer.headers["retry-after"]) > 0
