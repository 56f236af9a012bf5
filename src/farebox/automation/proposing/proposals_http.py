"""`/v1/automations`: the declared routes of proposing, and their handlers."""

import re
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, cast

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.automation.limits import AutomationLimits
from farebox.automation.plan_body import (
    PlanSessionBody,
    PreflightBody,
    ProposalDetailBody,
    proposal_body,
)
from farebox.automation.plans.wire import PlanKind
from farebox.automation.proposing import examples
from farebox.automation.proposing.detail_body import detail_body
from farebox.automation.proposing.limits_body import limits_in_force
from farebox.automation.proposing.list_filter import STATUSES, read_filter
from farebox.automation.proposing.preflight_report import preflight_body
from farebox.automation.proposing.preview_body import preview_body
from farebox.automation.proposing.propose import Proposing
from farebox.automation.proposing.proposing_network import ProposingNetworks
from farebox.automation.proposing.read_proposals import ProposalReader
from farebox.automation.proposing.wire import (
    LimitsBody,
    PreviewBody,
    ProposalListBody,
    ProposalPlace,
    ProposeRequest,
    say_fault,
)
from farebox.kernel.caller import Grant, check_network
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.json_text import UNDECODABLE, decode_json
from farebox.kernel.networks import Network
from farebox.kernel.pages import PaginationBody
from farebox.stellar.simulation_slots import SimulationPurpose, simulating_for
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ParameterLocation,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    one_of,
    record_id,
    text,
)
from farebox.web.guard import Access, caller_of, quota_client, share_name
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.query_string import read_values
from farebox.web.request_body import UnreadableBody, member_of, read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

AUTOMATIONS: Final = "/v1/automations"
ACCESS: Final = Access(Grant.AUTOMATION)
ID: Final = record_id("The plan's id.", prefix="auto")
_JUDGED: Final = Rate(RateClass.MANAGEMENT, cost=5)  # it simulates on a node
_encode: Final = msgspec.json.Encoder().encode
_REQUEST: Final = msgspec.json.Decoder(ProposeRequest)
_WORDS: Final = (
    "{network, kind, title, schedule, spec, runLimit, …}; /v1/openapi.json lists every member."
)
_KEY_NAME: Final = "Idempotency-Key"
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}\Z", re.ASCII)
_AWAY: Final = (ErrorCode.NETWORK_UNAVAILABLE, ErrorCode.AUTOMATION_UNAVAILABLE)
_RULES: Final = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_NETWORK,
    ErrorCode.ACCOUNT_NOT_PROVEN,
    ErrorCode.UNSUPPORTED_ACCOUNT,
    ErrorCode.SPEC_MISMATCH,
    ErrorCode.FUNCTION_NOT_FOUND,
    ErrorCode.TARGET_UPGRADED,
    ErrorCode.INVALID_SCHEDULE,
    ErrorCode.SCHEDULE_NEVER_FIRES,
    ErrorCode.INTERVAL_TOO_SHORT,
    ErrorCode.LIMIT_EXCEEDED,
    *_AWAY,
)

CREATE: Final = RouteDeclaration(
    method="POST",
    path=AUTOMATIONS,
    tag="automation",
    summary="Propose a plan; it runs once it is paid and activated.",
    request=ProposeRequest,
    responses={201: ResponseDeclaration("The plan.", ProposalDetailBody)},
    parameters=(
        Parameter(
            _KEY_NAME,
            "The same key with the same request returns the plan that it made.",
            text(max_length=255),
            ParameterLocation.HEADER,
        ),
    ),
    access=ACCESS,
    rate=_JUDGED,
    errors=(
        *_RULES,
        ErrorCode.DUPLICATE_INTENT,
        ErrorCode.IDEMPOTENCY_KEY_REUSED,
        ErrorCode.QUOTA_REACHED,
    ),
    example=Example(request=examples.REQUEST, response=examples.DETAIL, status=201),
)
PREVIEW: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/preview",
    tag="automation",
    summary="What a proposal would be; nothing is written.",
    request=ProposeRequest,
    responses={200: ResponseDeclaration("The preview.", PreviewBody)},
    access=ACCESS,
    rate=_JUDGED,
    errors=_RULES,
    example=Example(request=examples.REQUEST, response=examples.PREVIEW),
)
LIST: Final = RouteDeclaration(
    method="GET",
    path=AUTOMATIONS,
    tag="automation",
    summary="Your plans, newest first.",
    responses={200: ResponseDeclaration("A page of plans.", ProposalListBody)},
    parameters=(
        *PAGE_PARAMETERS,
        Parameter("status", "Only plans in this state.", one_of(*STATUSES)),
        Parameter("kind", "Only plans of this kind.", one_of(*PlanKind)),
        Parameter("network", "Only plans on this network: your wallet's own.", one_of(*Network)),
    ),
    access=ACCESS,
    errors=(*PAGE_ERRORS, ErrorCode.INVALID_FILTER, ErrorCode.ACCOUNT_NOT_PROVEN),
    example=Example(
        response={"items": [examples.PROPOSAL], "pagination": {"limit": 20, "nextCursor": None}}
    ),
)
LIMITS: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/limits",
    tag="automation",
    summary="The limits of plans, and what is offered on each network.",
    responses={200: ResponseDeclaration("The limits in force.", LimitsBody)},
    access=ACCESS,
    example=Example(response=examples.LIMITS),
)
SHOW: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}",
    tag="automation",
    summary="One of your plans, with its price and its session.",
    responses={200: ResponseDeclaration("The plan.", ProposalDetailBody)},
    parameters=(ID,),
    access=ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response=examples.DETAIL | {"preflight": None}),
)
SESSION: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTOMATIONS}/{{id}}/session",
    tag="automation",
    summary="What the wallet signs for a plan, as of the newest ledger.",
    responses={200: ResponseDeclaration("The session.", PlanSessionBody)},
    parameters=(ID,),
    access=ACCESS,
    errors=(
        ErrorCode.NOT_FOUND,
        ErrorCode.UNSUPPORTED_ACCOUNT,
        ErrorCode.UNSUPPORTED_NETWORK,
        ErrorCode.LIMIT_EXCEEDED,
        *_AWAY,
    ),
    example=Example(response=examples.SESSION),
)
PREFLIGHT: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTOMATIONS}/{{id}}/preflight",
    tag="automation",
    summary="Whether a plan's first run would succeed as of the newest ledger.",
    responses={200: ResponseDeclaration("The checks.", PreflightBody)},
    parameters=(ID,),
    access=ACCESS,
    rate=_JUDGED,
    errors=(ErrorCode.NOT_FOUND, ErrorCode.UNSUPPORTED_NETWORK, *_AWAY),
    example=Example(response=examples.PREFLIGHT),
)


def _previewing(scope: Scope) -> AbstractContextManager[None]:
    """Count simulations in the caller's share of previews: nothing is paid yet."""
    return simulating_for(SimulationPurpose.PREVIEW, share_name(scope))


class CreateProposal:
    """Propose a plan: 201."""

    def __init__(self, proposing: Proposing, reader: ProposalReader) -> None:
        self._proposing, self._reader = proposing, reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, key = await _read_request(receive), _read_key(scope)
        with _previewing(scope):
            detail = await self._proposing.create(
                caller_of(scope),
                context_of(scope).request_id,
                request,
                key=key,
                client=quota_client(scope),
            )
        await send_json(send, 201, _encode(detail_body(detail, self._reader.clock.now())))


class PreviewProposal:
    """Judge what a proposal would be."""

    def __init__(self, proposing: Proposing) -> None:
        self._proposing = proposing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await _read_request(receive)
        with _previewing(scope):
            previewed = await self._proposing.preview(caller_of(scope), request)
        await send_json(send, 200, _encode(preview_body(previewed)))


class ShowLimits:
    """Show the limits in force."""

    def __init__(self, limits: AutomationLimits, networks: ProposingNetworks) -> None:
        self._limits, self._networks = limits, networks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, _encode(limits_in_force(self._limits, self._networks)))


class _ReaderHandler:
    """A handler of the routes that read plans."""

    def __init__(self, reader: ProposalReader) -> None:
        self._reader = reader


class ListProposals(_ReaderHandler):
    """List the caller's plans by page, newest first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, page = caller_of(scope), read_page(scope["query_string"], ProposalPlace)
        wanted = read_filter(partial(read_values, scope["query_string"]))
        check_network(caller, wanted.network)
        rows = await self._reader.page(
            caller.owner,
            wanted,
            after=page.after.place if page.after else None,
            limit=page.limit + 1,
        )
        shown, cursor = cut_page(
            rows, page.limit, lambda each: ProposalPlace.of((each.created_at, each.plan.terms.id))
        )
        now = self._reader.clock.now()
        items = [proposal_body(each, now) for each in shown]
        body = ProposalListBody(items, PaginationBody(page.limit, cursor))
        await send_json(send, 200, _encode(body))


class ShowProposal(_ReaderHandler):
    """Show one of the caller's plans."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _previewing(scope):
            detail = await self._reader.find(caller_of(scope).owner, scope["path_params"]["id"])
        await send_json(send, 200, _encode(detail_body(detail, self._reader.clock.now())))


class ShowSession(_ReaderHandler):
    """Show what the wallet signs for a plan."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, proposal_id = caller_of(scope).owner, scope["path_params"]["id"]
        with _previewing(scope):
            session = await self._reader.session(owner, proposal_id)
        await send_json(send, 200, _encode(session))


class JudgeProposal(_ReaderHandler):
    """Judge a plan's first run."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, proposal_id = caller_of(scope).owner, scope["path_params"]["id"]
        with _previewing(scope):
            report = await self._reader.preflight(owner, proposal_id)
        await send_json(send, 200, _encode(preflight_body(report)))


def proposal_endpoints(
    proposing: Proposing,
    reader: ProposalReader,
    networks: ProposingNetworks,
    limits: AutomationLimits,
) -> list[Endpoint]:
    """Return the routes of proposing."""
    return [
        Endpoint(CREATE, CreateProposal(proposing, reader)),
        Endpoint(PREVIEW, PreviewProposal(proposing)),
        Endpoint(LIST, ListProposals(reader)),
        Endpoint(LIMITS, ShowLimits(limits, networks)),
        Endpoint(SHOW, ShowProposal(reader)),
        Endpoint(SESSION, ShowSession(reader)),
        Endpoint(PREFLIGHT, JudgeProposal(reader)),
    ]


async def _read_request(receive: Receive) -> ProposeRequest:
    """Read a proposal.

    Raises:
        UnreadableBody: it has another shape.
    """
    body = await read_body(receive)
    try:
        return cast("ProposeRequest", decode_json(body, _REQUEST))
    except UNDECODABLE as error:
        raise UnreadableBody(_WORDS, member_of(error, body), say_fault(error)) from None


def _read_key(scope: Scope) -> str | None:
    """The one Idempotency-Key of a request; None without one.

    Raises:
        Refusal: it is no key, or there are two.
    """
    name = _KEY_NAME.lower().encode()
    values: list[bytes] = [value for each, value in scope["headers"] if each == name]
    if not values:
        return None
    key = values[0].decode("latin-1")
    if len(values) > 1 or not _KEY.match(key):
        why = f"{_KEY_NAME} is one header of 1 to 255 visible ASCII characters."
        raise Refusal(ErrorCode.INVALID_REQUEST, why)
    return key
