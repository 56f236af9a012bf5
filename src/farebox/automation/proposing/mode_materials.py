"""The session material of the modes `open` and `presigned`, and what a mode without one answers."""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from farebox.automation.authority.issued_entries import IssuedEntry, issue_entries
from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.plan_body import InstallBody, PlanSessionBody, SignableEntryBody
from farebox.automation.plans.proposal_state import TERMINAL_STATES, ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.proposing.session_materials import SessionMaterials
from farebox.automation.refusal import AutomationRefused, limit_exceeded
from farebox.automation.session_body import NONE, SessionFacts, session_body
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading

ISSUED: Final = "material_issued"
INSTALLED: Final = "installed"
EXPIRED: Final = "expired"
SIGN_ENTRY: Final = "signAuthEntry"
_UNSIGNED: Final = (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING, ProposalState.PAID)
_AHEAD: Final = (
    "A signed entry has no first moment: whoever holds all of them can use them all at once. Each"
    " ends with the window of its run."
)


def generation_of(account: Address | None) -> str:
    """The kind of an account as far as its address shows it."""
    return "g" if account is not None and is_account(account) else "unknown"


class ModeMaterials:
    """The material of every mode that is available on one network."""

    def __init__(self, by_mode: Mapping[AuthorityMode, SessionMaterials]) -> None:
        self._by_mode = by_mode

    @property
    def modes(self) -> tuple[AuthorityMode, ...]:
        """The modes that plans may have."""
        return tuple(mode for mode in AuthorityMode if mode in self._by_mode)

    def check(self, mode: AuthorityMode) -> None:
        """Check that plans of a mode can be proposed.

        Raises:
            AutomationRefused: `unsupported_account`.
        """
        if mode not in self._by_mode:
            why = f"Plans of the mode {mode} are not offered on this network."
            raise AutomationRefused(ErrorCode.UNSUPPORTED_ACCOUNT, why, field="authorityMode")

    async def material(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """See `SessionMaterials`."""
        mode = plan.terms.mode
        self.check(mode)
        return await self._by_mode[mode].material(plan, now)


class OpenMaterials:
    """An open plan needs no session: nothing is signed, and nothing has to be revoked."""

    async def material(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """See `SessionMaterials`."""
        facts = SessionFacts(NONE, generation_of(plan.terms.account))
        return session_body(plan, facts)


class PresignedMaterials:
    """The entries of a plan that is signed ahead: one for each leg of each run."""

    def __init__(
        self,
        nonce_key: Secret[bytes],
        life: LongestLife,
        *,
        ledger_now: Callable[[], LedgerReading],
    ) -> None:
        self._nonce_key, self._life, self._ledger_now = nonce_key, life, ledger_now

    async def material(self, plan: StoredPlan, now: datetime) -> PlanSessionBody:
        """See `SessionMaterials`."""
        generation = generation_of(plan.terms.account)
        if plan.state not in _UNSIGNED:
            state = EXPIRED if plan.state in TERMINAL_STATES else INSTALLED
            return session_body(plan, SessionFacts(state, generation))
        entries = await self._entries(plan.terms, now)
        install = InstallBody(
            invocations=[],
            unsigned_transaction_xdr=None,
            entries=[_entry_body(each) for each in entries],
            sign_with=[SIGN_ENTRY],
            expiration_ledger=max((each.slot.expires_at_ledger for each in entries), default=0),
            is_fee_sponsored=True,
        )
        facts = SessionFacts(ISSUED, generation, install, warnings=(_AHEAD,))
        return session_body(plan, facts)

    async def _entries(self, terms: PlanTerms, now: datetime) -> tuple[IssuedEntry, ...]:
        """What is signed ahead if the plan is activated now, in the order of the runs.

        Raises:
            AutomationRefused: a run is later than an authorization can live.
            Outage: the network cannot be read now.
        """
        if terms.account is None:
            raise ValueError("a plan that is signed ahead has an account")
        reading, longest = self._ledger_now(), await self._life.ledgers()
        planned = decode_calls(terms.calls).planned
        entries = issue_entries(terms, planned, terms.account, self._nonce_key, reading, at=now)
        last = reading.sequence + longest - 1
        if any(each.slot.expires_at_ledger > last for each in entries):
            why = "No authorization can live until the end of its last run: end the plan earlier."
            raise limit_exceeded("expiresAt", why)
        return entries


def _entry_body(issued: IssuedEntry) -> SignableEntryBody:
    slot, unsigned = issued.slot, issued.unsigned
    return SignableEntryBody(
        run_index=slot.run_index,
        leg_index=slot.leg_index,
        entry_xdr=base64.b64encode(unsigned.entry).decode(),
        preimage_xdr=base64.b64encode(unsigned.preimage).decode(),
        nonce=str(slot.nonce),
        expiration_ledger=slot.expires_at_ledger,
    )
