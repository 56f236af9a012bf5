"""The JSON shapes of the life of plans: activation, changes, runs and events."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.automation.lifecycle.activate import (
    ActivationRequest,
    NothingToInstall,
    SignedRuns,
)
from farebox.automation.lifecycle.installations import (
    InstallTransaction,
    OpenedMandate,
    SignedInstallation,
)
from farebox.automation.lifecycle.read_history import RunDetail
from farebox.automation.lifecycle.run_history_store import PlanEvent, ShownAttempt, ShownRun
from farebox.automation.plan_body import EffectBody
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.pages import Moment, PaginationBody
from farebox.stellar.auth_entries import AuthEntry, read_entry
from farebox.stellar.xdr_reader import Malformed, decode_base64

_MOST_ENTRIES: Final = 64
_MAX_ENTRY_TEXT: Final = 65_536  # characters of base64
_NOTE: Final = 300
NoteText = Annotated[str, Meta(max_length=_NOTE, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]
EntryText = Annotated[str, Meta(max_length=_MAX_ENTRY_TEXT)]
EntryTexts = Annotated[list[EntryText], Meta(min_length=1, max_length=_MOST_ENTRIES)]


class ActivateRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What the owner has authorized: one member at most; none for a plan of mode `open`."""

    install_tx_hash: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}$(?!\n)")] | UnsetType = UNSET
    signed_entries_xdr: EntryTexts | UnsetType = UNSET
    presigned_entries_xdr: EntryTexts | UnsetType = UNSET
    mandate_id: Annotated[str, Meta(pattern=r"^C[A-Z2-7]{55}$(?!\n)")] | UnsetType = UNSET


class ChangeRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Why the owner changes the plan; it is kept among the plan's events."""

    reason: NoteText | None = None


class RunBody(msgspec.Struct, frozen=True, rename="camel"):
    """A run, or one leg of it; `executedBy` says whose transaction it is."""

    id: str
    run_index: int
    leg_index: int
    scheduled_for: Moment
    deadline_at: Moment
    state: str
    reason: str | None
    error_class: str | None
    error_code: str | None
    attempts: int
    transaction: str | None
    ledger: int | None
    fee_stroops: str
    effects: list[EffectBody]
    executed_by: str | None
    finished_at: Moment | None


class RunListBody(msgspec.Struct, frozen=True, rename="camel"):
    """A page of runs, newest first."""

    items: list[RunBody]
    pagination: PaginationBody


class RunPlace(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The position in a cursor of runs."""

    run_index: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    leg_index: Annotated[int, Meta(ge=0, le=2**15 - 1)]


class AttemptBody(msgspec.Struct, frozen=True, rename="camel"):
    """An envelope that was made for a run; `feeLimitStroops` is the most that it may cost."""

    number: int
    transaction: str
    outcome: str
    error_code: str | None
    fee_limit_stroops: str
    fee_stroops: str | None
    max_time: Moment
    sent_at: Moment | None


class RunDetailBody(RunBody, frozen=True, rename="camel"):
    """A run, or one leg of it, with its attempts."""

    attempt_list: list[AttemptBody]


class RunLegsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The legs of one run; one of a run that is one transaction."""

    legs: list[RunDetailBody]


class EventBody(msgspec.Struct, frozen=True, rename="camel"):
    """An event of a plan."""

    number: int
    kind: str
    data: dict[str, Any]
    at: Moment


class EventListBody(msgspec.Struct, frozen=True, rename="camel"):
    """Events of a plan, oldest first; pass `next` as `after` to read on."""

    items: list[EventBody]
    next: int


_EFFECTS: Final = msgspec.json.Decoder(list[EffectBody])
_DATA: Final = msgspec.json.Decoder(dict[str, Any])


def read_activation(request: ActivateRequest) -> ActivationRequest:
    """What the request says was authorized.

    Raises:
        Refusal: `invalid_request`, for more than one member, or for a text that is no entry.
    """
    given: list[ActivationRequest] = []
    if request.install_tx_hash is not UNSET:
        given.append(InstallTransaction(bytes.fromhex(request.install_tx_hash)))
    if request.signed_entries_xdr is not UNSET:
        given.append(
            SignedInstallation(_read_entries(request.signed_entries_xdr, "signedEntriesXdr"))
        )
    if request.presigned_entries_xdr is not UNSET:
        given.append(
            SignedRuns(_read_entries(request.presigned_entries_xdr, "presignedEntriesXdr"))
        )
    if request.mandate_id is not UNSET:
        given.append(OpenedMandate(request.mandate_id))
    if len(given) > 1:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Send one member, or {} for mode open.")
    return given[0] if given else NothingToInstall()


def _read_entries(texts: Sequence[str], member: str) -> tuple[AuthEntry, ...]:
    return tuple(_read_entry(text, f"{member}[{place}]") for place, text in enumerate(texts))


def _read_entry(text: str, member: str) -> AuthEntry:
    try:
        return read_entry(decode_base64(text, max_bytes=_MAX_ENTRY_TEXT))
    except Malformed:
        why = "It is no SorobanAuthorizationEntry in base64."
        raise AutomationRefused(ErrorCode.INVALID_REQUEST, why, field=member) from None


def run_body(shown: ShownRun) -> RunBody:
    """A run as its owner reads it."""
    return RunBody(**_members(shown))


def run_detail_body(detail: RunDetail) -> RunDetailBody:
    """A run with its attempts as its owner reads it."""
    attempts = [_attempt_body(each) for each in detail.attempts]
    return RunDetailBody(**_members(detail.shown), attempt_list=attempts)


def event_body(event: PlanEvent) -> EventBody:
    """An event as its owner reads it."""
    return EventBody(event.number, event.kind, _DATA.decode(event.data), event.at)


def _members(shown: ShownRun) -> dict[str, Any]:
    run = shown.run
    return {
        "id": run.id,
        "run_index": run.run_index,
        "leg_index": run.leg_index,
        "scheduled_for": run.scheduled_for,
        "deadline_at": run.deadline_at,
        "state": run.state.value,
        "reason": run.reason,
        "error_class": None if run.error_class is None else run.error_class.value,
        "error_code": run.error_code,
        "attempts": run.attempts,
        "transaction": None if run.tx_hash is None else run.tx_hash.hex(),
        "ledger": run.ledger,
        "fee_stroops": str(run.fee_charged),
        "effects": [] if run.effects is None else _EFFECTS.decode(run.effects),
        "executed_by": None if run.executed_by is None else run.executed_by.value,
        "finished_at": shown.finished_at,
    }


def _attempt_body(attempt: ShownAttempt) -> AttemptBody:
    fee = attempt.fee_charged
    return AttemptBody(
        number=attempt.number,
        transaction=attempt.tx_hash.hex(),
        outcome=attempt.outcome.value,
        error_code=attempt.error_code,
        fee_limit_stroops=str(attempt.fee_limit),
        fee_stroops=None if fee is None else str(fee),
        max_time=attempt.max_time,
        sent_at=attempt.sent_at,
    )
