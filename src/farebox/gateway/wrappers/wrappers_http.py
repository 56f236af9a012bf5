"""`/v1/wrappers`: the declared routes of a seller's wrappers and their handlers."""

from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.wrappers.check_wire import CheckBody, check_body
from farebox.gateway.wrappers.check_wrapper import WrapperCheck
from farebox.gateway.wrappers.manage_wrappers import Wrappers
from farebox.gateway.wrappers.wire import (
    CreateWrapperRequest,
    SlugBody,
    WrapperBody,
    WrapperFields,
    WrapperListBody,
    WrapperPlace,
    wrapper_body,
    wrapper_list_body,
)
from farebox.kernel.caller import Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.web.endpoint import (
    Endpoint,
    Example,
    Parameter,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
    text,
)
from farebox.web.guard import Access, caller_of, quota_client
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.query_string import read_pairs
from farebox.web.request_body import read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json, send_no_content

WRAPPERS: Final = "/v1/wrappers"
_MAX_NAME: Final = 200
_encode: Final = msgspec.json.Encoder().encode
_CREATE: Final = msgspec.json.Decoder(CreateWrapperRequest)
_CHANGE: Final = msgspec.json.Decoder(WrapperFields)
_WORDS: Final = (
    "{name, upstreamUrl, network, asset, amount, payTo, …}, or accepts: [{network, asset, amount, "
    "payTo}] in place of the four; docs/gateway.md lists every member."
)
_ACCESS: Final = Access(Grant.WRAPPERS)
_ID: Final = record_id("The wrapper's id.", prefix="wrp")
_SHOWN: Final = ResponseDeclaration("The wrapper.", WrapperBody)
_CHECKED: Final = (ErrorCode.INVALID_WRAPPER, ErrorCode.SERVICE_UNAVAILABLE)
_TERMS: Final = {
    "network": "stellar:testnet",
    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    "amount": "10000",
    "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
}
_REQUEST: Final = {
    "name": "City weather",
    "upstreamUrl": "https://api.weather.example/v1",
    "tags": ["weather"],
    **_TERMS,
}
_EXAMPLE: Final = {
    "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
    "slug": "city-weather",
    "endpoint": "https://farebox.example/gateway/city-weather",
    "scheme": "exact",
    "enabled": False,
    "name": "City weather",
    "description": "",
    "tags": ["weather"],
    "mimeType": "application/json",
    "upstreamUrl": "https://api.weather.example/v1",
    "authType": "none",
    "authHeader": None,
    "secretId": None,
    "accepts": [_TERMS],
    "method": None,
    "routes": [],
    "otherPaths": "base",
    "requestsPerMinute": 60,
    "monthlyRequestQuota": 100_000,
    "maxConcurrentRequests": 50,
    "maxRequestBytes": 1_048_576,
    "maxResponseBytes": 5_242_880,
    "timeoutSeconds": 30,
    "keepAnswerBytes": 65_536,
    "isRepeatable": False,
    "createdAt": "2026-11-23T09:30:00Z",
    "updatedAt": "2026-11-23T09:30:00Z",
}

CREATE: Final = RouteDeclaration(
    method="POST",
    path=WRAPPERS,
    tag="wrappers",
    summary="Put an API behind x402; the wrapper starts disabled.",
    request=CreateWrapperRequest,
    responses={201: _SHOWN},
    access=_ACCESS,
    errors=(
        ErrorCode.INVALID_REQUEST,
        *_CHECKED,
        ErrorCode.SLUG_TAKEN,
        ErrorCode.TOO_MANY_WRAPPERS,
        ErrorCode.QUOTA_REACHED,
    ),
    example=Example(request=_REQUEST, response=_EXAMPLE, status=201),
)
LIST: Final = RouteDeclaration(
    method="GET",
    path=WRAPPERS,
    tag="wrappers",
    summary="Your wrappers, newest first.",
    responses={200: ResponseDeclaration("A page of wrappers.", WrapperListBody)},
    parameters=PAGE_PARAMETERS,
    access=_ACCESS,
    errors=PAGE_ERRORS,
    example=Example(
        response={"items": [_EXAMPLE], "pagination": {"limit": 20, "nextCursor": None}}
    ),
)
SLUG: Final = RouteDeclaration(
    method="GET",
    path=f"{WRAPPERS}/slug",
    tag="wrappers",
    summary="The slug that a wrapper of this name would get.",
    responses={200: ResponseDeclaration("The slug.", SlugBody)},
    parameters=(Parameter("name", "The name.", text(max_length=_MAX_NAME), is_required=True),),
    access=_ACCESS,
    errors=(ErrorCode.INVALID_QUERY_STRING, ErrorCode.INVALID_NAME, ErrorCode.SLUG_TAKEN),
    example=Example(response={"slug": "city-weather", "available": True, "modified": False}),
)
SHOW: Final = RouteDeclaration(
    method="GET",
    path=f"{WRAPPERS}/{{id}}",
    tag="wrappers",
    summary="One of your wrappers.",
    responses={200: _SHOWN},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response=_EXAMPLE),
)
CHANGE: Final = RouteDeclaration(
    method="PATCH",
    path=f"{WRAPPERS}/{{id}}",
    tag="wrappers",
    summary="Change the members that are named; another upstream host removes the secret.",
    request=WrapperFields,
    responses={200: _SHOWN},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(
        ErrorCode.INVALID_REQUEST,
        *_CHECKED,
        ErrorCode.NOT_FOUND,
        ErrorCode.TOO_MANY_LISTINGS,
    ),
    example=Example(request={"amount": "10000"}, response=_EXAMPLE),
)
ENABLE: Final = RouteDeclaration(
    method="POST",
    path=f"{WRAPPERS}/{{id}}/enable",
    tag="wrappers",
    summary="Serve a wrapper at the gateway, and list it.",
    responses={200: _SHOWN},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(*_CHECKED, ErrorCode.NOT_FOUND, ErrorCode.TOO_MANY_LISTINGS),
    example=Example(response=_EXAMPLE | {"enabled": True}),
)
CHECK: Final = RouteDeclaration(
    method="POST",
    path=f"{WRAPPERS}/{{id}}/check",
    tag="wrappers",
    summary="Try a wrapper without a payment: its upstream, its recipients, and its offer.",
    responses={200: ResponseDeclaration("The result.", CheckBody)},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(
        response={
            "ready": True,
            "settingsProblem": None,
            "credentialProblem": None,
            "upstream": {"status": 200, "latencyMs": 81, "problem": None},
            "offer": {"x402Version": 2, "error": "Payment required", "accepts": []},
        }
    ),
)
DISABLE: Final = RouteDeclaration(
    method="POST",
    path=f"{WRAPPERS}/{{id}}/disable",
    tag="wrappers",
    summary="Serve a wrapper no more, and take its listings down.",
    responses={200: _SHOWN},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response=_EXAMPLE),
)
DELETE: Final = RouteDeclaration(
    method="DELETE",
    path=f"{WRAPPERS}/{{id}}",
    tag="wrappers",
    summary="Delete a wrapper; its slug stays yours for 90 days if it was ever enabled.",
    responses={204: ResponseDeclaration("It is gone.")},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(status=204),
)


class _Handler:
    """A handler of the wrappers' routes."""

    def __init__(self, wrappers: Wrappers, gateway: GatewayUrl) -> None:
        self._wrappers, self._gateway = wrappers, gateway


class CreateWrapper(_Handler):
    """Create a wrapper: 201, disabled."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _CREATE, _WORDS)
        wrapper = await self._wrappers.create(
            caller_of(scope),
            context_of(scope).request_id,
            request,
            slug=None if request.slug is msgspec.UNSET else request.slug,
            client=quota_client(scope),
        )
        await send_json(send, 201, _encode(wrapper_body(wrapper, self._gateway)))


class ListWrappers(_Handler):
    """List the caller's wrappers by page, newest first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = read_page(scope["query_string"], WrapperPlace)
        after = page.after.place if page.after else None
        wrappers = await self._wrappers.page(
            caller_of(scope).owner, after=after, limit=page.limit + 1
        )
        shown, cursor = cut_page(wrappers, page.limit, lambda each: WrapperPlace.of(each.place))
        body = wrapper_list_body(shown, self._gateway, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


class SuggestSlug(_Handler):
    """Derive a free slug from a name."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = _read_name(scope["query_string"])
        slug, is_own = await self._wrappers.suggest_slug(caller_of(scope).owner, name)
        await send_json(send, 200, _encode(SlugBody(slug, available=True, modified=not is_own)))


class ShowWrapper(_Handler):
    """Show one of the caller's wrappers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner, wrapper_id = caller_of(scope).owner, scope["path_params"]["id"]
        wrapper = await self._wrappers.find(owner, wrapper_id)
        await send_json(send, 200, _encode(wrapper_body(wrapper, self._gateway)))


class ChangeWrapper(_Handler):
    """Change the settings of a wrapper."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = await read_json(receive, _CHANGE, _WORDS)
        caller, wrapper_id = caller_of(scope), scope["path_params"]["id"]
        request_id = context_of(scope).request_id
        wrapper = await self._wrappers.update(caller, request_id, wrapper_id, fields)
        await send_json(send, 200, _encode(wrapper_body(wrapper, self._gateway)))


class EnableWrapper(_Handler):
    """Enable a wrapper."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, wrapper_id = caller_of(scope), scope["path_params"]["id"]
        wrapper = await self._wrappers.enable(caller, context_of(scope).request_id, wrapper_id)
        await send_json(send, 200, _encode(wrapper_body(wrapper, self._gateway)))


class CheckWrapper:
    """Try a wrapper without a payment."""

    def __init__(self, wrappers: Wrappers, check: WrapperCheck) -> None:
        self._wrappers, self._check = wrappers, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, wrapper_id = caller_of(scope), scope["path_params"]["id"]
        wrapper = await self._wrappers.find_to_check(caller.owner, wrapper_id)
        await send_json(send, 200, _encode(check_body(await self._check.check(wrapper, caller))))


class DisableWrapper(_Handler):
    """Disable a wrapper."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, wrapper_id = caller_of(scope), scope["path_params"]["id"]
        wrapper = await self._wrappers.disable(caller, context_of(scope).request_id, wrapper_id)
        await send_json(send, 200, _encode(wrapper_body(wrapper, self._gateway)))


class DeleteWrapper(_Handler):
    """Delete a wrapper: 204."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, wrapper_id = caller_of(scope), scope["path_params"]["id"]
        await self._wrappers.delete(caller, context_of(scope).request_id, wrapper_id)
        await send_no_content(send)


def wrapper_endpoints(
    wrappers: Wrappers, check: WrapperCheck, gateway: GatewayUrl
) -> list[Endpoint]:
    """Return the routes of wrappers."""
    return [
        Endpoint(CREATE, CreateWrapper(wrappers, gateway)),
        Endpoint(LIST, ListWrappers(wrappers, gateway)),
        Endpoint(SLUG, SuggestSlug(wrappers, gateway)),
        Endpoint(SHOW, ShowWrapper(wrappers, gateway)),
        Endpoint(CHANGE, ChangeWrapper(wrappers, gateway)),
        Endpoint(ENABLE, EnableWrapper(wrappers, gateway)),
        Endpoint(CHECK, CheckWrapper(wrappers, check)),
        Endpoint(DISABLE, DisableWrapper(wrappers, gateway)),
        Endpoint(DELETE, DeleteWrapper(wrappers, gateway)),
    ]


def _read_name(query: bytes) -> str:
    """Read the one `name` of a query string.

    Raises:
        Refusal: the query string cannot be read, or has not one name of 1 to 200 characters.
    """
    try:
        pairs = read_pairs(query)
    except ValueError:
        raise Refusal(ErrorCode.INVALID_QUERY_STRING) from None
    names = [value for name, value in pairs if name == "name"]
    if len(names) != 1 or not 0 < len(names[0]) <= _MAX_NAME:
        raise Refusal(ErrorCode.INVALID_NAME, "Send one name of 1 to 200 characters.")
    return names[0]
