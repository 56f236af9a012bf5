"""What a preflight has found: checks as of the newest ledger, the fee, and the first run."""

from dataclasses import dataclass
from datetime import datetime

from farebox.automation.plan_body import EffectBody, FirstRunBody, PreflightBody, PreflightCheckBody
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """One check; `code` stays, `detail` is a sentence for people."""

    code: str
    is_ok: bool
    detail: str


def passed(code: str, detail: str) -> PlanCheck:
    """A check that nothing is wrong with."""
    return PlanCheck(code, is_ok=True, detail=detail)


def failed(code: str, detail: str) -> PlanCheck:
    """A check that stands in the way."""
    return PlanCheck(code, is_ok=False, detail=detail)


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """The checks of a plan; `fee` is the most that one transaction costs, None where unknown.

    `install` is the most that its installation costs, None where the paymaster installs nothing.
    `changes` are the account's net changes of the first transaction, if it were made now. A report
    that is not `is_whole` is made again once the plan has its row.
    """

    checks: tuple[PlanCheck, ...]
    fee: Stroops | None = None
    first_at: datetime | None = None
    changes: tuple[tuple[Address, int], ...] | None = None
    install: Stroops | None = None
    is_whole: bool = True

    @property
    def is_ok(self) -> bool:
        """Whether every check is."""
        return all(check.is_ok for check in self.checks)


def preflight_body(report: PreflightReport) -> PreflightBody:
    """Render a report."""
    effects = [EffectBody(token, str(amount)) for token, amount in report.changes or ()]
    is_known = report.first_at is not None or report.changes is not None
    return PreflightBody(
        ok=report.is_ok,
        checks=[PreflightCheckBody(each.code, each.is_ok, each.detail) for each in report.checks],
        estimated_fee_stroops=None if report.fee is None else str(report.fee),
        first_run=FirstRunBody(report.first_at, effects) if is_known else None,
    )
