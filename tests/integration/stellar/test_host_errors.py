"""Refusals of the real Soroban host are classified by their text."""

from collections.abc import AsyncIterator, Callable

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, Scene
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.simulation import (
    SimulationErrorKind,
    SimulationRefused,
    classify_simulation_error,
    read_simulation,
)
from support.payments import Draft, encoded
from support.table_rows import in_row
from testing.contract_calls import address, invocation, invoke

STRANGER = Keypair.random()
NO_CONTRACT = StrKey.encode_contract(bytes([9]) * 32)
VERDICT, MISSING = SimulationErrorKind.VERDICT, SimulationErrorKind.MISSING_ENTRY
Make = Callable[[Draft, Scene], xdr.TransactionEnvelope]


def call(function: str, *arguments: xdr.SCVal) -> Make:
    def made(draft: Draft, scene: Scene) -> xdr.TransactionEnvelope:
        other = invoke(address(scene.asset), function, *arguments)
        return draft.envelope(draft.entry(invocation(other)), call=other)

    return made


def but(**changes: object) -> Make:
    return lambda draft, _: draft.but(**changes).envelope()


ERRORS: dict[str, tuple[Make, SimulationErrorKind]] = {
    "Contract, #10": (but(amount=10**17), VERDICT),  # the balance
    "Contract, #8": (but(amount=-1), VERDICT),  # a negative amount
    "Contract, #13": (but(pay_to=STRANGER.public_key), MISSING),  # the trustline
    "Contract, #14": (  # a new account, with less than it must hold
        lambda draft, scene: draft.but(asset=scene.native, pay_to=STRANGER.public_key).envelope(),
        MISSING,
    ),
    "Storage, MissingValue": (but(asset=NO_CONTRACT), MISSING),
    "Auth, InvalidAction": (lambda draft, _: draft.without_entries(), VERDICT),
    "Auth, InvalidInput": (but(expires_at_ledger=1), VERDICT),
    "Value, InvalidInput": (call("nothing"), VERDICT),
    "Value, UnexpectedType": (call("balance", scval.to_uint32(1)), VERDICT),
    "Context, UnexpectedSize": (call("balance"), VERDICT),
}


@pytest.fixture
async def rpc(devnet: Devnet) -> AsyncIterator[HttpSorobanRpc]:
    async with HttpSorobanRpc(Network.TESTNET, Secret(devnet.rpc_url)) as client:
        yield client


async def draft_of(rpc: HttpSorobanRpc, scene: Scene) -> Draft:
    payer = Keypair.from_secret(scene.payers[0].secret.reveal())
    latest = await rpc.latest_ledger()
    return Draft(
        network=Network.TESTNET,
        asset=scene.asset,
        payer=payer.public_key,
        signers=(payer,),
        pay_to=scene.payees[0].address,
        expires_at_ledger=latest.sequence + 100,
    )


async def test_host_errors_of_the_real_host_are_classified(
    devnet: Devnet, rpc: HttpSorobanRpc
) -> None:
    scene = await devnet.scene(payers=1, payees=1)
    draft = await draft_of(rpc, scene)
    for error, (make, kind) in ERRORS.items():
        with in_row(error):
            answer = await rpc.simulate(encoded(make(draft, scene)))
            text = answer.result["error"]
            assert isinstance(text, str)
            assert text.partition("\n")[0] == f"HostError: Error({error})"
            assert classify_simulation_error(text) is kind
            refused = read_simulation(answer.result)
            assert isinstance(refused, SimulationRefused)
            assert refused.entry_is_missing == (kind is MISSING)


async def test_missing_account_of_an_authorization_is_a_missing_entry(
    devnet: Devnet, rpc: HttpSorobanRpc
) -> None:
    scene = await devnet.scene(payers=1, payees=1)
    draft = await draft_of(rpc, scene)
    absent = draft.but(asset=scene.native, payer=STRANGER.public_key, signers=(STRANGER,))
    refused = read_simulation((await rpc.simulate(encoded(absent.envelope()))).result)
    assert isinstance(refused, SimulationRefused)
    assert refused.entry_is_missing
    forged = draft.but(signers=(STRANGER,))
    refused = read_simulation((await rpc.simulate(encoded(forged.envelope()))).result)
    assert isinstance(refused, SimulationRefused)
    assert not refused.entry_is_missing


async def test_refusal_by_the_node_before_the_host_is_an_outage(
    rpc: HttpSorobanRpc,
) -> None:
    with pytest.raises(RpcUnavailable):
        await rpc.simulate("AAAA")
