"""What an operator must look at is a log event at error level with the field `alarm`."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import structlog
from structlog.testing import capture_logs

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.foreign import Authorization, ForeignLanding
from farebox.facilitator.journal.success_attempts import SuccessAttempts
from farebox.facilitator.settlement import Claim
from farebox.kernel.addresses import account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.fate import SentEnvelope, Unproven
from support.manual_clock import START, ManualClock

IDENTITY = PaymentIdentity(Network.TESTNET, account_address(bytes([1]) * 32), 5)
CLAIM = Claim(
    identity=IDENTITY,
    claim_id=uuid4(),
    request_digest=bytes(32),
    asset=contract_address(bytes(32)),
    amount=BaseUnits(1),
    pay_to=account_address(bytes([2]) * 32),
    expires_at_ledger=200,
    claimed_at=START,
    max_timeout_s=60,
)
SENT = SentEnvelope(
    tx_hash=bytes([7]) * 32,
    inner_hash=None,
    envelope=Secret(b"signed"),
    source=account_address(bytes([3]) * 32),
    source_sequence=7,
    max_time=START + timedelta(seconds=45),
    fee_limit=Stroops(30_000),
    sent_after_ledger=100,
)
FOUND = TransactionFound(
    "07" * 32, LedgerStatus.SUCCESS, 102, START, "txSUCCESS", None, Stroops(100), ()
)


class Nobody:
    """Finds no other use of the authorization."""

    async def of_used_nonce(
        self, authorization: Authorization, *, as_of_ledger: int
    ) -> ForeignLanding | None:
        return None

    async def between(
        self, authorization: Authorization, *, first_ledger: int, last_ledger: int
    ) -> ForeignLanding | None:
        return None


async def alarms_of(fate: Any) -> list[str]:
    conclusions = Conclusions(Nobody(), ManualClock())  # type: ignore[arg-type] # a part of it
    structlog.reset_defaults()
    with capture_logs() as logged:
        await conclusions.ending(fate, CLAIM, SENT)
    assert all(each["log_level"] == "error" for each in logged)
    return [each["alarm"] for each in logged if "alarm" in each]


@pytest.mark.parametrize(
    ("fate", "alarms"),
    [
        (Unproven(120), ["settlement_unproven"]),
        (FOUND, ["success_without_transfer"]),
        (replace(FOUND, status=LedgerStatus.FAILED, result_code="txFAILED"), []),
    ],
)
async def test_an_ending_nobody_expects_raises_its_alarm(fate: Any, alarms: list[str]) -> None:
    assert await alarms_of(fate) == alarms


def test_a_success_answered_twice_raises_an_alarm() -> None:
    attempts = SuccessAttempts()
    structlog.reset_defaults()
    with capture_logs() as logged:
        attempts.note_answered(IDENTITY)
        attempts.note_answered(replace(IDENTITY, nonce=6))
        assert logged == []
        attempts.note_answered(IDENTITY)
    assert [each["alarm"] for each in logged] == ["success_answered_twice"]
