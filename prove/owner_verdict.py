"""Holds the paymaster's fees on the ledger against what its owners paid and what may be lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from stellar_sdk import FeeBumpTransactionEnvelope, TransactionBuilder

from farebox.automation.paymaster.budget_store import AutomationBudgets, SpendScope
from farebox.automation.plans.proposal_state import TERMINAL_STATES
from farebox.kernel.amounts import Stroops
from prove.ask_node import read_transactions
from prove.outcome import Finding, findings_of
from prove.owner_stage import OwnerStage
from prove.payment_check import read_ledger
from prove.run_envelopes import fee_of, read_run_envelope
from prove.world import NETWORK

_CLOSE: Final = "close"  # of a guard and of a mandate
_SETTLED_RUNS: Final = 10  # an owner with fewer shares the loss limit of all new ones


class OwnerViolation(StrEnum):
    """A wrong treatment of owners or of the paymaster."""

    UNPAID = "fees_unpaid_stroops"
    NEVER_RUN = "paid_never_run"
    LATE = "honest_runs_late"
    CHARGED = "runs_charged_wrong"
    UNENDED = "runs_unended"


OwnerFinding = Finding[OwnerViolation]


@dataclass(frozen=True, slots=True)
class PaidFee:
    """What one transaction of the paymaster's has cost."""

    tx_hash: str
    function: str
    is_success: bool
    stroops: int

    @property
    def may_be_lost(self) -> bool:
        """Whether nobody has to have paid for it: it failed, or closes what was installed."""
        return not self.is_success or self.function == _CLOSE


async def read_fees(stage: OwnerStage) -> list[PaidFee]:
    """Every transaction on the ledger for which the paymaster or a channel of it has paid."""
    environment = stage.environment
    rows = await environment.query("SELECT address FROM automation_channels")
    payers = {stage.world.scenery.paymaster.public_key, *(row["address"] for row in rows)}
    found: list[PaidFee] = []
    async for each in read_transactions(environment):
        if _fee_source(each["envelopeXdr"]) in payers:
            made = read_run_envelope(each["envelopeXdr"])
            function = "" if made is None else made.function
            is_success = each["status"] == "SUCCESS"
            found.append(PaidFee(each["txHash"], function, is_success, fee_of(each)))
    return found


def _fee_source(envelope: str) -> str:
    parsed = TransactionBuilder.from_xdr(envelope, NETWORK.passphrase)
    if isinstance(parsed, FeeBumpTransactionEnvelope):
        return str(parsed.transaction.fee_source.account_id)
    return str(parsed.transaction.source.account_id)


@dataclass(frozen=True, slots=True)
class OwnerAccounts:
    """The money of a case, in base units of which one is a stroop.

    `paid` is what reached the revenue account on the ledger, `left` what owners still have of it:
    credit, and what their plans hold. `may_lose` is what the settings budget as losses.
    """

    fees: Sequence[PaidFee]
    paid: int
    left: int
    may_lose: int

    @property
    def spent(self) -> int:
        """The fees, in stroops."""
        return sum(each.stroops for each in self.fees)

    @property
    def lost(self) -> int:
        """Those of them that may be losses."""
        return sum(each.stroops for each in self.fees if each.may_be_lost)

    @property
    def unpaid(self) -> int:
        """The fees beyond what is paid and gone, and beyond the losses that are budgeted."""
        return max(0, self.spent - (self.paid - self.left) - min(self.lost, self.may_lose))

    def __str__(self) -> str:
        return (
            f"{len(self.fees)} transactions cost {self.spent} stroops, {self.lost} of them may be"
            f" losses up to {self.may_lose}; {self.paid} was paid, {self.left} is left"
        )


async def read_accounts(stage: OwnerStage) -> OwnerAccounts:
    """Read both sides: the ledger, and what owners have left."""
    revenue = stage.scene.payees[0].address
    payments = await read_ledger(stage.environment)
    (row,) = await stage.environment.query(
        """
        SELECT (SELECT coalesce(sum(greatest(0, amount)), 0)::bigint FROM (
                    SELECT sum(amount) AS amount FROM run_credits GROUP BY owner) AS own) AS credit,
               (SELECT coalesce(sum(credit_held + setup_held), 0)::bigint
                FROM automation_proposals) AS held,
               (SELECT count(*) FROM (
                    SELECT owner FROM automation_proposals GROUP BY owner
                    HAVING sum(runs_succeeded) >= $1) AS settled) AS settled
        """,
        _SETTLED_RUNS,
    )
    settings = stage.settings
    budgets = AutomationBudgets(Stroops(settings.budget_total), Stroops(settings.budget_owner))
    return OwnerAccounts(
        fees=await read_fees(stage),
        paid=sum(each.amount for each in payments if each.is_success and each.pay_to == revenue),
        left=row["credit"] + row["held"],
        may_lose=stage.days
        * (budgets.limit(SpendScope.NEW_OWNERS) + row["settled"] * budgets.limit(SpendScope.LOSS)),
    )


def judge_accounts(accounts: OwnerAccounts) -> list[OwnerFinding]:
    """Find fees that nobody paid."""
    if not accounts.unpaid:
        return []
    why = f"{accounts.unpaid} stroops are neither paid nor budgeted: {accounts}"
    return [OwnerFinding(OwnerViolation.UNPAID, why, accounts.unpaid)]


async def judge_runs(stage: OwnerStage) -> list[OwnerFinding]:
    """Find runs that nobody ends although their plan has ended, and charges that do not fit.

    A run of several legs uses one run's credit once a leg of it has landed.
    """
    unended = await stage.environment.query(
        """
        SELECT r.id, r.state, r.error_code, p.status FROM automation_runs r
        JOIN automation_proposals p ON p.id = r.proposal_id
        WHERE p.status = ANY ($1) AND r.finished_at IS NULL
        """,
        [each.value for each in TERMINAL_STATES],
    )
    charged = await stage.environment.query(
        """
        SELECT p.id, p.runs_consumed AS consumed,
               count(DISTINCT r.run_index) FILTER (WHERE r.state = 'succeeded') AS made
        FROM automation_proposals p JOIN automation_runs r ON r.proposal_id = p.id
        GROUP BY p.id HAVING max(r.leg_index) > 0
        """
    )
    found = findings_of(
        {OwnerViolation.UNENDED: [f"a run is not ended: {dict(each)}" for each in unended]}
    )
    for each in charged:
        off = abs(each["consumed"] - each["made"])
        if off:
            why = f"{each['id']} made {each['made']} runs and was charged {each['consumed']}"
            found.append(OwnerFinding(OwnerViolation.CHARGED, why, off))
    return found
