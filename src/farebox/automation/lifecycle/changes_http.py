"""Activation and changes of plans under `/v1/automations/{id}`: declared routes and handlers."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.automation.lifecycle.activate import Activation
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.wire import ActivateRequest, ChangeRequest, read_activation
from farebox.automation.plan_body import ProposalDetailBody
from farebox.automation.plans.stored_plan import StoredProposal
from farebox.automation.proposing import examples
from farebox.automation.proposing.detail_body import detail_body
from farebox.automation.proposing.read_proposals import ProposalReader
from farebox.kernel.caller import Caller, Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import (
    Endpoint,
    Example,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
)
from farebox.web.guard import Access, caller_of
from farebox.web.request_body import read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

AUTOMATIONS: Final = "/v1/automations"
TAG: Final = "automation"
PLAN_ID: Final = record_id("The plan's id.", prefix="auto")
ACCESS: Final = Access(Grant.AUTOMATION)
_encode: Final = msgspec.json.Encoder().encode
_ACTIVATE: Final = msgspec.json.Decoder(ActivateRequest)
_CHANGE: Final = msgspec.json.Decoder(ChangeRequest)
_ACTIVATE_WORDS: Final = (
    "{} for mode open, {presignedEntriesXdr: [XDR in base64]}, {installTxHash}, "
    "{signedEntriesXdr: [XDR in base64]} or {mandateId}."
)
_CHANGE_WORDS: Final = "{reason?: up to 300 characters}."
_SHOWN: Final = ResponseDeclaration("The plan.", ProposalDetailBody)
_DETAIL: Final = examples.DETAIL | {"preflight": None}
_NEEDS_NETWORK: Final = (ErrorCode.NETWORK_UNAVAILABLE, ErrorCode.AUTOMATION_UNAVAILABLE)

ACTIVATE: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/{{id}}/activate",
    tag=TAG,
    summary="Activate a paid plan by what its owner has authorized; a dry run must pass.",
    request=ActivateRequest,
    is_request_required=False,
    responses={
        200: ResponseDeclaration("The plan is active.", ProposalDetailBody),
        202: ResponseDeclaration(
            "Its installation was sent and is not final; the plan becomes active by itself.",
            ProposalDetailBody,
        ),
    },
    parameters=(PLAN_ID,),
    access=ACCESS,
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_FOUND,
        ErrorCode.ILLEGAL_TRANSITION,
        ErrorCode.SESSION_MISMATCH,
        ErrorCode.SESSION_EXPIRES_TOO_SOON,
        ErrorCode.PREFLIGHT_FAILED,
        ErrorCode.FEE_CEILING,
        *_NEEDS_NETWORK,
    ),
    example=Example(request={}, response=_DETAIL),
)


def _change(
    name: str, summary: str, *errors: ErrorCode, status: str, reason: str | None
) -> RouteDeclaration:
    plan = examples.PROPOSAL | {"status": status, "statusReason": reason}
    return RouteDeclaration(
        method="POST",
        path=f"{AUTOMATIONS}/{{id}}/{name}",
        tag=TAG,
        summary=summary,
        request=ChangeRequest,
        is_request_required=False,
        responses={200: _SHOWN},
        parameters=(PLAN_ID,),
        access=ACCESS,
        errors=(
            ErrorCode.INVALID_REQUEST,
            ErrorCode.NOT_FOUND,
            ErrorCode.ILLEGAL_TRANSITION,
            *errors,
        ),
        example=Example(request={"reason": "a holiday"}, response=_DETAIL | {"proposal": plan}),
    )


PAUSE: Final = _change(
    "pause",
    "Pause an active plan; a transaction that was sent is still looked up.",
    status="paused",
    reason="owner",
)
RESUME: Final = _change(
    "resume",
    "Let a paused plan go on, once the reason of the pause is gone.",
    ErrorCode.SESSION_MISMATCH,
    ErrorCode.SESSION_EXPIRES_TOO_SOON,
    ErrorCode.PREFLIGHT_FAILED,
    ErrorCode.FEE_CEILING,
    *_NEEDS_NETWORK,
    status="active",
    reason=None,
)
CANCEL: Final = _change(
    "cancel",
    "End a plan: unused paid runs become credit, and session.revoke is what ends its session.",
    status="cancelled",
    reason="owner",
)


class ActivatePlan:
    """Activate a plan: 200, or 202 while its installation is pending."""

    def __init__(self, activation: Activation, reader: ProposalReader) -> None:
        self._activation, self._reader = activation, reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = read_activation(await read_json(receive, _ACTIVATE, _ACTIVATE_WORDS))
        activated = await self._activation.activate(
            caller_of(scope), context_of(scope).request_id, scope["path_params"]["id"], request
        )
        status = 202 if activated.is_pending else 200
        await _send_plan(send, status, self._reader, activated.proposal)


class ChangePlan:
    """Make one change of a plan and answer with the plan."""

    def __init__(
        self,
        change: Callable[[Caller, str, str, str | None], Awaitable[StoredProposal]],
        reader: ProposalReader,
    ) -> None:
        self._change, self._reader = change, reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note = (await read_json(receive, _CHANGE, _CHANGE_WORDS)).reason
        caller, proposal_id = caller_of(scope), scope["path_params"]["id"]
        changed = await self._change(caller, context_of(scope).request_id, proposal_id, note)
        await _send_plan(send, 200, self._reader, changed)


async def _send_plan(
    send: Send, status: int, reader: ProposalReader, proposal: StoredProposal
) -> None:
    """Send a plan after its change, with its session where the network can be read."""
    terms = proposal.plan.terms
    detail = await reader.find(terms.owner, terms.id)
    await send_json(send, status, _encode(detail_body(detail, reader.clock.now())))


def change_endpoints(
    activation: Activation, changes: PlanChanges, reader: ProposalReader
) -> list[Endpoint]:
    """Return the routes that activate and change plans."""
    return [
        Endpoint(ACTIVATE, ActivatePlan(activation, reader)),
        Endpoint(PAUSE, ChangePlan(changes.pause, reader)),
        Endpoint(RESUME, ChangePlan(changes.resume, reader)),
        Endpoint(CANCEL, ChangePlan(changes.cancel, reader)),
    ]
