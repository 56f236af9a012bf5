"""Activation and changes of plans under `/v1/automations/{id}`: declared routes and handlers."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.automation.lifecycle.activate import Activation
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.describe_plan import PlanDescriber
from farebox.automation.lifecycle.wire import ActivateRequest, ChangeRequest, read_activation
from farebox.automation.plan_body import ProposalDetailBody
from farebox.automation.plans.stored_plan import StoredProposal
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
TAG: Final = "automations"
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
_PLAN: Final[dict[str, Any]] = {
    "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
    "network": "stellar:testnet",
    "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "accountKind": "g",
    "kind": "contract_call",
    "title": "Run the keeper",
    "authorityMode": "open",
    "status": "active",
    "statusReason": None,
    "isCancelling": False,
    "schedule": {"type": "interval", "everySeconds": 3600, "startAt": "2026-11-26T08:00:00Z"},
    "spec": {
        "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
        "autolayer": True,
    },
    "missedRuns": "skip",
    "maxLatenessSeconds": 1800,
    "maxFeeStroops": "5000000",
    "runLimit": 24,
    "authorizationLimit": 24,
    "runsCredited": 24,
    "runsConsumed": 0,
    "runsSucceeded": 0,
    "authorizationsUsed": 0,
    "failuresInRow": 0,
    "policyId": "8a7d0c1f" * 8,
    "policyName": "pol_rj6qyh4kpughzct5bqpy",
    "delegate": "GA6HCMBLTZS5VYYBCATRBRZ3BZJMAFUDKYYF6AH6MVCMGWMRDNSWJPIH",
    "targetWasmHash": "5d1f9c2e" * 8,
    "startsAt": "2026-11-26T08:00:00Z",
    "expiresAt": "2026-12-26T08:00:00Z",
    "overdueAt": "2026-12-26T08:00:00Z",
    "nextRuns": [
        {
            "at": "2026-11-26T08:00:00Z",
            "local": "2026-11-26T08:00:00Z",
            "timezone": "UTC",
            "notes": [],
        }
    ],
    "createdAt": "2026-11-25T09:30:00Z",
    "updatedAt": "2026-11-25T09:32:00Z",
}
_DETAIL: Final = {"proposal": _PLAN, "quote": None, "session": None, "preflight": None}
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
    plan = _PLAN | {"status": status, "statusReason": reason}
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
    "Pause an active plan; a run that is under way is left to end.",
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

    def __init__(self, activation: Activation, describer: PlanDescriber) -> None:
        self._activation, self._describer = activation, describer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = read_activation(await read_json(receive, _ACTIVATE, _ACTIVATE_WORDS))
        activated = await self._activation.activate(
            caller_of(scope), context_of(scope).request_id, scope["path_params"]["id"], request
        )
        body = await self._describer.describe(activated.proposal)
        await send_json(send, 202 if activated.is_pending else 200, _encode(body))


class ChangePlan:
    """Make one change of a plan and answer with the plan."""

    def __init__(
        self,
        change: Callable[[Caller, str, str, str | None], Awaitable[StoredProposal]],
        describer: PlanDescriber,
    ) -> None:
        self._change, self._describer = change, describer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note = (await read_json(receive, _CHANGE, _CHANGE_WORDS)).reason
        caller, proposal_id = caller_of(scope), scope["path_params"]["id"]
        changed = await self._change(caller, context_of(scope).request_id, proposal_id, note)
        await send_json(send, 200, _encode(await self._describer.describe(changed)))


def change_endpoints(
    activation: Activation, changes: PlanChanges, describer: PlanDescriber
) -> list[Endpoint]:
    """Return the routes that activate and change plans."""
    return [
        Endpoint(ACTIVATE, ActivatePlan(activation, describer)),
        Endpoint(PAUSE, ChangePlan(changes.pause, describer)),
        Endpoint(RESUME, ChangePlan(changes.resume, describer)),
        Endpoint(CANCEL, ChangePlan(changes.cancel, describer)),
    ]
