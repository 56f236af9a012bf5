"""Which node's simulation counts after the ledger refused what one node approved."""

from collections.abc import Mapping

import pytest

from farebox.kernel.networks import Network
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.rpc_nodes import AGREEMENTS, SimulationTrust
from support.sdk_ledger_keys import resource_data

RESOURCES = resource_data(read_only=[], read_write=[]).to_xdr()
APPROVED = {"latestLedger": 100, "transactionData": RESOURCES, "events": []}
REFUSED = {"latestLedger": 100, "error": "HostError: Error(Contract, #10)"}
GARBLED = {"latestLedger": 100, "error": 5}
PRIMARY, FALLBACK = "primary", "fallback"


def simulated(node: str, result: Mapping[str, object]) -> RawSimulation:
    return RawSimulation(result, (node,))


@pytest.fixture
def trust() -> SimulationTrust:
    """Trust that distrusts the primary."""
    trusting = SimulationTrust(Network.TESTNET)
    trusting.distrust(PRIMARY)
    return trusting


@pytest.mark.parametrize("result", [APPROVED, REFUSED])
def test_agreeing_simulations_resolve_to_the_trusted_nodes_result(
    trust: SimulationTrust, result: dict[str, object]
) -> None:
    answers = [simulated(PRIMARY, {**result}), simulated(FALLBACK, {**result})]
    counted = trust.resolve(answers)
    assert counted.result is answers[1].result
    assert counted.nodes == (FALLBACK, PRIMARY)


def test_refusal_of_the_trusted_node_overrides_an_approval(trust: SimulationTrust) -> None:
    counted = trust.resolve([simulated(PRIMARY, APPROVED), simulated(FALLBACK, REFUSED)])
    assert (counted.result, counted.nodes) == (REFUSED, (FALLBACK,))


def test_refusal_of_the_distrusted_node_alone_is_no_verdict(trust: SimulationTrust) -> None:
    with pytest.raises(RpcUnavailable):
        trust.resolve([simulated(PRIMARY, REFUSED), simulated(FALLBACK, APPROVED)])


@pytest.mark.parametrize("others", [[], [simulated(FALLBACK, GARBLED)]])
def test_only_result_counts_when_the_other_node_has_none(
    trust: SimulationTrust, others: list[RawSimulation]
) -> None:
    counted = trust.resolve([*others, simulated(PRIMARY, APPROVED)])
    assert (counted.result, counted.nodes) == (APPROVED, (PRIMARY,))
    for _ in range(AGREEMENTS):
        trust.resolve([*others, simulated(PRIMARY, APPROVED)])
    assert trust.distrusted == PRIMARY, "one result is no agreement"


def test_trust_returns_after_enough_agreements_in_a_row(trust: SimulationTrust) -> None:
    both = [simulated(PRIMARY, APPROVED), simulated(FALLBACK, APPROVED)]
    for _ in range(AGREEMENTS - 1):
        trust.resolve(both)
    trust.resolve([simulated(PRIMARY, APPROVED), simulated(FALLBACK, REFUSED)])
    for _ in range(AGREEMENTS - 1):
        trust.resolve(both)
    assert trust.distrusted == PRIMARY
    trust.resolve(both)
    assert trust.distrusted is None


def test_approving_nodes_are_returned_once_and_kept_for_ten_thousand_envelopes() -> None:
    trust = SimulationTrust(Network.TESTNET)
    hashes = [number.to_bytes(32) for number in range(10_001)]
    for tx_hash in hashes:
        trust.remember(tx_hash, (PRIMARY,))
    assert trust.forget(hashes[0]) == ()
    assert trust.forget(hashes[1]) == (PRIMARY,)
    assert trust.forget(hashes[1]) == ()
