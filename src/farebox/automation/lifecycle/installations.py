"""The installation of a session or mandate, as activation asks for it (3.5 row 6, 3.15)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from farebox.automation.authority.ledger_bounds import still_lives
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.auth_entries import AuthEntry
from farebox.stellar.ledger_clock import LedgerReading


@dataclass(frozen=True, slots=True)
class InstallTransaction:
    """The owner has sent the installation: its hash (32 bytes)."""

    tx_hash: bytes


@dataclass(frozen=True, slots=True)
class SignedInstallation:
    """The owner has signed the entries; the paymaster sends them."""

    entries: tuple[AuthEntry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenedMandate:
    """The owner names the mandate that is open."""

    mandate_id: str


InstallRequest = InstallTransaction | SignedInstallation | OpenedMandate


@dataclass(frozen=True, slots=True)
class Installed:
    """What was read back from the ledger, and equals the plan's policy.

    `valid_until` and `valid_until_ledger` are the session's end; None where it has none.
    """

    ledger: int
    valid_until: datetime | None = None
    valid_until_ledger: int | None = None
    rule_ids: tuple[int, ...] = ()
    guard_id: str | None = None
    verifier_id: str | None = None
    mandate_id: str | None = None
    installer_tx: bytes | None = None


def check_end(
    terms: PlanTerms,
    reading: LedgerReading,
    now: datetime,
    *,
    ledger: int | None = None,
    at: datetime | None = None,
) -> None:
    """Check that a run is due, and that what ends with `ledger` or `at` lives past the first one.

    Raises:
        AutomationRefused: `session_expires_too_soon`.
    """
    slot = terms.next_slot(now)
    if slot is None:
        why = "No run is due any more."
        raise AutomationRefused(ErrorCode.SESSION_EXPIRES_TOO_SOON, why)
    is_long = at is None or at > slot.scheduled_for
    if ledger is not None:
        is_long = is_long and still_lives(reading, ledger, slot.scheduled_for)
    if not is_long:
        code = ErrorCode.SESSION_EXPIRES_TOO_SOON
        raise AutomationRefused(code, code.sentence)


@dataclass(frozen=True, slots=True)
class InstallPending:
    """The installation was sent and is not final; a loop asks again with its hash."""

    tx_hash: bytes


class Installations(Protocol):
    """Installs and reads back the sessions of one mode."""

    async def activate(
        self, plan: StoredPlan, request: InstallRequest
    ) -> Installed | InstallPending:
        """Send the installation where it was not, and read it back; the same request may be made
        again after any answer.

        Raises:
            AutomationRefused: `session_mismatch` or `session_expires_too_soon`, or another
                installation of the plan is being sent.
            AutomationUnavailable: the paymaster cannot send it now; nothing was sent.
            TooManyRequests: the paymaster sends no more for the plan or its owner today.
            NetworkUnavailable: no node answers.
            Outage: the database, the node or the vault is unavailable.
        """
        ...

    async def is_installed(self, plan: StoredPlan) -> bool:
        """Whether the session that was read back is still on the ledger, before a resume.

        Raises:
            NetworkUnavailable: no node answers.
        """
        ...
