"""Events that need an operator are logged at error level with the field `alarm`."""

from dataclasses import replace
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from farebox.facilitator.journal.journal import SuccessAttempts
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.stellar.rpc_nodes import SimulationTrust
from farebox.submission.fate import Dead, Unproven
from support.claims import claim, signed_envelope
from support.manual_clock import START, ManualClock
from support.status_resolvers import NoLandings, status_resolver

CLAIM = claim()
SENT = signed_envelope(tx_hash=bytes([7]) * 32)
FOUND = TransactionFound(
    "07" * 32, LedgerStatus.SUCCESS, 102, START, "txSUCCESS", None, Stroops(100), ()
)


async def alarms_of(fate: Any, trust: SimulationTrust | None = None) -> list[str]:
    statuses = status_resolver(NoLandings(), ManualClock(), trust=trust)
    structlog.reset_defaults()
    with capture_logs() as logged:
        await statuses.resolve(fate, CLAIM, SENT)
    raised = [each for each in logged if "alarm" in each]
    assert all(each["log_level"] == "error" for each in raised)
    return [f"{each['alarm']} {each.get('node', '')}".strip() for each in raised]


@pytest.mark.parametrize(
    ("fate", "alarms"),
    [
        (Unproven(120), ["settlement_unproven"]),
        (FOUND, ["success_without_transfer"]),
        (replace(FOUND, status=LedgerStatus.FAILED, result_code="txFAILED"), []),
    ],
)
async def test_resolver_raises_an_alarm_for_an_unexpected_status(
    fate: Any, alarms: list[str]
) -> None:
    assert await alarms_of(fate) == alarms


REFUSED = replace(
    FOUND,
    status=LedgerStatus.FAILED,
    result_code="txFAILED",
    operation_code="INVOKE_HOST_FUNCTION_TRAPPED",
)


@pytest.mark.parametrize(
    ("nodes", "alarms", "distrusted"),
    [
        (("primary",), ["simulation_contradicted primary"], "primary"),
        (("fallback",), ["simulation_contradicted fallback"], "fallback"),
        ((), ["simulation_contradicted unknown"], None),
        (("fallback", "primary"), [], None),
    ],
)
async def test_failed_landing_raises_an_alarm_for_the_one_node_that_approved_it(
    nodes: tuple[str, ...], alarms: list[str], distrusted: str | None
) -> None:
    """A call that two nodes approved changed before it landed: no single node is at fault."""
    trust = SimulationTrust(Network.TESTNET)
    trust.remember(SENT.tx_hash, nodes)
    assert await alarms_of(REFUSED, trust) == alarms
    assert trust.distrusted == distrusted
    assert trust.forget(SENT.tx_hash) == ()


async def test_node_stays_trusted_when_no_landing_contradicts_it() -> None:
    trust = SimulationTrust(Network.TESTNET)
    trust.remember(SENT.tx_hash, ("primary",))
    assert await alarms_of(Dead(120), trust) == []
    assert trust.distrusted is None
    assert trust.forget(SENT.tx_hash) == ()


def test_success_answered_twice_raises_an_alarm() -> None:
    attempts = SuccessAttempts()
    structlog.reset_defaults()
    with capture_logs() as logged:
        attempts.note_answered(CLAIM.identity)
        attempts.note_answered(replace(CLAIM.identity, nonce=6))
        assert logged == []
        attempts.note_answered(CLAIM.identity)
    assert [each["alarm"] for each in logged] == ["success_answered_twice"]
