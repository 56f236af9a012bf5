"""The JSON shapes of plans that several routes share, and a stored plan in its shape.

Amounts, nonces and stroops are decimal text; digests are hexadecimal, XDR is base64.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from farebox.automation.plans.policy_id import short_policy_id
from farebox.automation.plans.proposal_state import TERMINAL_STATES, shown_state
from farebox.automation.plans.quote import OfferedQuote
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan, StoredProposal
from farebox.automation.plans.wire import PlanKind
from farebox.automation.schedules.missed_runs import MissedRuns
from farebox.automation.schedules.schedule import ConditionSchedule, Schedule
from farebox.automation.schedules.upcoming import UpcomingRun, next_runs
from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment

SHOWN_RUNS: Final = 10
_POLL: Final = "The contract is asked at this time: a run follows when its check says yes."


class UpcomingRunBody(msgspec.Struct, frozen=True, rename="camel"):
    """A run that is due; `local` is the same moment with the offset of its time zone."""

    at: Moment
    local: Moment
    timezone: str
    notes: list[str]


class ProposalBody(msgspec.Struct, frozen=True, rename="camel"):
    """A plan as its owner reads it; `delegate` is the address of its key, which holds nothing."""

    id: str
    network: Network
    account: str | None
    account_kind: str
    kind: PlanKind
    title: str
    authority_mode: AuthorityMode
    status: str
    status_reason: str | None
    is_cancelling: bool
    schedule: Schedule
    spec: dict[str, Any]
    missed_runs: MissedRuns
    max_lateness_seconds: int
    max_fee_stroops: str
    run_limit: int
    authorization_limit: int
    runs_credited: int
    runs_consumed: int
    runs_succeeded: int
    authorizations_used: int
    failures_in_row: int
    policy_id: str
    policy_name: str
    delegate: str
    target_wasm_hash: str | None
    starts_at: Moment
    expires_at: Moment
    overdue_at: Moment | None
    next_runs: list[UpcomingRunBody]
    created_at: Moment
    updated_at: Moment


class QuoteBody(msgspec.Struct, frozen=True, rename="camel"):
    """The price of a plan's runs, and what of it is taken from what the owner has paid.

    `creditAmount` is that part, `total` the rest; `fromCredit` are the runs that it pays in whole.
    """

    revision: int
    runs: int
    per_run: str
    setup: str
    total: str
    asset: str
    network: Network
    pay_to: str | None
    valid_until: Moment
    is_free: bool
    payment_identifier: str
    from_credit: int = 0
    credit_amount: str = "0"


class RunPaymentBody(msgspec.Struct, frozen=True, rename="camel"):
    """A payment for runs: quoted, pending, confirmed or failed."""

    id: str
    runs: int
    amount: str
    asset: str
    pay_to: str | None
    state: str
    transaction: str | None
    payment_identifier: str
    is_top_up: bool
    created_at: Moment


class InvocationBody(msgspec.Struct, frozen=True, rename="camel"):
    """A call; each argument is an ScVal (XDR)."""

    contract: str
    function: str
    arguments: list[str]


class SignableEntryBody(msgspec.Struct, frozen=True, rename="camel"):
    """An authorization entry to sign: unsigned, and the preimage whose SHA-256 is signed."""

    run_index: int | None
    leg_index: int | None
    entry_xdr: str
    preimage_xdr: str
    nonce: str
    expiration_ledger: int


class DelegateBody(msgspec.Struct, frozen=True, rename="camel"):
    """The key that signs the runs; `verifier` is the contract that checks it for smart accounts."""

    type: str
    public_key: str
    address: str
    verifier: str | None


class CapBody(msgspec.Struct, frozen=True, rename="camel"):
    """The most of a token that leaves the account: in one run, and in all."""

    token: str
    per_run: str
    total: str


class SessionLimitsBody(msgspec.Struct, frozen=True, rename="camel"):
    """What bounds a session; `validUntilLedger` is set where the protocol wants a ledger."""

    run_limit: int
    authorization_limit: int
    min_interval_seconds: int
    not_before: Moment
    not_after: Moment
    valid_until_ledger: int | None
    caps: list[CapBody]


class InstallBody(msgspec.Struct, frozen=True, rename="camel"):
    """What the wallet signs to install a session, in one of the ways of `signWith`."""

    invocations: list[InvocationBody]
    unsigned_transaction_xdr: str | None
    entries: list[SignableEntryBody]
    sign_with: list[str]
    expiration_ledger: int
    is_fee_sponsored: bool


class RevokeBody(msgspec.Struct, frozen=True, rename="camel"):
    """What the wallet signs to end a session."""

    invocations: list[InvocationBody]
    unsigned_transaction_xdr: str | None


class SessionContractBody(msgspec.Struct, frozen=True, rename="camel"):
    """A contract of ours that a session relies on."""

    role: str
    id: str
    wasm_hash: str | None
    is_audited: bool


class PlanSessionBody(msgspec.Struct, frozen=True, rename="camel"):
    """What the wallet needs to authorize a plan, and to end it; it has no secret (3.15)."""

    mode: AuthorityMode
    state: str
    network: Network
    network_passphrase: str
    account: str | None
    account_generation: str
    policy_id: str
    policy_spec: dict[str, Any] | None
    policy_spec_xdr: str | None
    permissions: list[str]
    delegate: DelegateBody
    limits: SessionLimitsBody
    install: InstallBody | None
    revoke: RevokeBody | None
    contracts: list[SessionContractBody]
    warnings: list[str]


class PreflightCheckBody(msgspec.Struct, frozen=True, rename="camel"):
    """One check of a preflight."""

    code: str
    ok: bool
    detail: str


class EffectBody(msgspec.Struct, frozen=True, rename="camel"):
    """The net change of a token of the account; below 0 it pays."""

    token: str
    amount: str


class FirstRunBody(msgspec.Struct, frozen=True, rename="camel"):
    """The first run: when it is due, and its effects if it were now."""

    at: Moment | None
    effects: list[EffectBody]


class PreflightBody(msgspec.Struct, frozen=True, rename="camel"):
    """Whether the first run would succeed as of the newest ledger."""

    ok: bool
    checks: list[PreflightCheckBody]
    estimated_fee_stroops: str | None
    first_run: FirstRunBody | None


class ProposalDetailBody(msgspec.Struct, frozen=True, rename="camel"):
    """A plan with its price, what to sign for it, and what its first run would do."""

    proposal: ProposalBody
    quote: QuoteBody | None = None
    session: PlanSessionBody | None = None
    preflight: PreflightBody | None = None


def proposal_body(row: StoredProposal, now: datetime) -> ProposalBody:
    """Render a stored plan; the next runs are those after `now`."""
    plan, terms, counters = row.plan, row.plan.terms, row.plan.counters
    return ProposalBody(
        id=terms.id,
        network=terms.network,
        account=terms.account,
        account_kind=row.account_kind,
        kind=terms.kind,
        title=row.title,
        authority_mode=terms.mode,
        status=shown_state(plan.state, has_unresolved_run=row.is_executing),
        status_reason=plan.reason,
        is_cancelling=plan.is_cancelling,
        schedule=terms.schedule,
        spec=msgspec.json.decode(row.spec, type=dict[str, Any]),
        missed_runs=terms.rule.missed,
        max_lateness_seconds=int(terms.rule.lateness.total_seconds()),
        max_fee_stroops=str(terms.max_fee),
        run_limit=terms.run_limit,
        authorization_limit=terms.auth_limit,
        runs_credited=counters.runs_credited,
        runs_consumed=counters.runs_consumed,
        runs_succeeded=counters.runs_succeeded,
        authorizations_used=counters.auths_used,
        failures_in_row=counters.failures_in_row,
        policy_id=terms.policy_id.hex(),
        policy_name=short_policy_id(terms.policy_id),
        delegate=account_address(terms.delegate),
        target_wasm_hash=None if terms.target_wasm_hash is None else terms.target_wasm_hash.hex(),
        starts_at=terms.window.not_before,
        expires_at=terms.window.not_after,
        overdue_at=row.overdue_at,
        next_runs=next_run_bodies(plan, now),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def quote_body(offered: OfferedQuote) -> QuoteBody:
    """Render a quote."""
    quote = offered.quote
    return QuoteBody(
        revision=quote.revision,
        runs=quote.runs,
        per_run=str(quote.per_run),
        setup=str(quote.setup),
        total=str(quote.total),
        asset=quote.asset,
        network=offered.network,
        pay_to=offered.pay_to,
        valid_until=quote.valid_until,
        is_free=offered.is_free,
        payment_identifier=offered.payment_identifier,
        from_credit=quote.from_credit,
        credit_amount=str(quote.credit),
    )


def next_run_bodies(plan: StoredPlan, now: datetime) -> list[UpcomingRunBody]:
    """The next runs of a plan after `now`, ten at most; none of one that has ended.

    Of a condition they are the times at which the contract is asked.
    """
    if plan.state in TERMINAL_STATES:
        return []
    terms = plan.terms
    is_polled = isinstance(terms.schedule, ConditionSchedule)
    left = SHOWN_RUNS if is_polled else terms.run_limit - plan.counters.runs_consumed
    runs = next_runs(terms.schedule, terms.window, max(0, min(left, SHOWN_RUNS)), after=now)
    return upcoming_bodies(runs, is_polled=is_polled)


def upcoming_bodies(runs: Sequence[UpcomingRun], *, is_polled: bool) -> list[UpcomingRunBody]:
    """Render due times; `is_polled` says so of each."""
    poll = [_POLL] if is_polled else []
    return [UpcomingRunBody(each.at, each.local, each.zone, [*each.notes, *poll]) for each in runs]
