"""`paid_call`: one request to a listed resource, with the payment that the caller's wallet signed.

The service holds no key and pays for nothing: it carries the signature to the resource. Checks run
in a fixed order, and the payment leaves the process only after all of them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

import msgspec

from farebox.catalog.discovery.canonical_url import HTTPS
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.catalog.discovery.reader import DiscoveryReader, ReadFailed
from farebox.catalog.listing import Listing
from farebox.kernel.slots import NoSlot, Requester, SlotLimits, Slots
from farebox.mcp import listing_store
from farebox.mcp.call_arguments import CallArguments, CallMethod
from farebox.mcp.call_failure import BUSY, NO_CHALLENGE, paid_call_failed, too_late
from farebox.mcp.call_response import (
    CallOutcome,
    CallResponse,
    ToolResult,
    is_settled,
    read_challenge,
    read_receipt,
    render_response,
)
from farebox.mcp.call_target import build_url, discovery_text, listing_key
from farebox.mcp.listing_warnings import find_differences
from farebox.mcp.prepared_call import SHARE, PreparedCall, Sender, at_end
from farebox.mcp.receipt_check import ReceiptCheck
from farebox.mcp.remote_call import CallClient, call_remote
from farebox.mcp.rpc_error import RpcError, RpcReason, named_by_seller
from farebox.storage.pool import Database

CALL_S: Final = 30.0  # specification, Limits
_SLOT_S: Final = 5.0  # the longest wait of a caller with many calls at once
_SHARES: Final = 8  # a caller has one of so many parts of the calls of a kind
_NEW_SHARES: Final = 24  # and a new one of so many
_LOCAL: Final = "http://"
_CHALLENGED: Final = 402


class OwnGateway(Protocol):
    """Calls a wrapper of this service, as `InProcessGateway` does."""

    async def call(
        self, call: PreparedCall, sender: Sender, leaving: asyncio.Event
    ) -> CallResponse:
        """Call the wrapper until nobody waits any more; the call is counted as the sender's."""
        ...


@dataclass(frozen=True, slots=True)
class CallRoutes:
    """The ways to a resource: our gateway, the internet, and this machine where that is allowed."""

    gateway: OwnGateway
    is_own: Callable[[str], bool]  # tells the gateway's URLs from others
    outbound: CallClient
    local: CallClient | None = None  # None: no local URL is called


class CallKind(IntEnum):
    """The two parts of the calls that may be in progress: neither takes what the other has."""

    PAID = 0  # with a payment
    UNPAID = 1


def limits_of_calls(max_calls: int) -> Mapping[IntEnum, SlotLimits]:
    """The limits of each kind out of `max_calls`: half of them, which callers divide.

    A call may hang as long as its resource likes, so a caller has few; new callers, whom a network
    of addresses makes for nothing, hold half of each kind together and leave the rest to others.
    """
    half = max_calls // 2
    each = SlotLimits(
        half,
        per_client=max(1, half // _SHARES),
        wait_s=_SLOT_S,
        next_wait_s=_SLOT_S,
        per_new_client=max(1, half // _NEW_SHARES),
        is_divided=True,
    )
    return dict.fromkeys(CallKind, each)


class PaidCalls:
    """The use case of the tool; at most `max_calls` calls are in progress.

    A call is in progress until its caller has the response: a large one that is read slowly is in
    memory.
    """

    def __init__(
        self,
        database: Database,
        reader: DiscoveryReader,
        routes: CallRoutes,
        receipts: ReceiptCheck,
        *,
        max_calls: int,
    ) -> None:
        self._database, self._reader, self._routes = database, reader, routes
        self._receipts = receipts
        self._slots = Slots(max_calls, limits_of_calls(max_calls))
        self._tasks = set[asyncio.Task[CallResponse]]()

    async def close(self) -> None:
        """End the calls that are still in progress."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def call(self, arguments: CallArguments, sender: Sender) -> ToolResult:
        """Make the call and return what the agent gets; `sender` is the request to `/mcp`.

        Raises:
            RpcError: the call is refused, or failed; `data` says the payment's outcome.
            Refusal, Outage: nothing was paid.
        """
        self._check_scheme(arguments.url)
        listings = await self._find(arguments.url)
        call = await self._prepare(listings[0], arguments)
        response = await self._complete(call, sender)
        return await self._render(call, response, listings)

    async def _render(
        self, call: PreparedCall, response: CallResponse, listings: Sequence[Listing]
    ) -> ToolResult:
        receipt, fault = read_receipt(response), None
        if call.signature is not None and is_settled(receipt) and not response.is_own_gateway:
            fault = await self._receipts.find_fault(call.signature, receipt)
        challenge = read_challenge(response) if response.status == _CHALLENGED else None
        result = render_response(
            response,
            has_payment=call.signature is not None,
            fault=fault,
            warnings=() if challenge is None else find_differences(challenge, listings),
        )
        if result is None:
            raise paid_call_failed(NO_CHALLENGE, has_payment=False)
        return result

    async def _complete(self, call: PreparedCall, sender: Sender) -> CallResponse:
        """Wait for the response; an unpaid call ends with its caller, a paid one is completed."""
        has_payment = call.signature is not None
        requester = Requester(CallKind.PAID if has_payment else CallKind.UNPAID, sender[SHARE])
        try:
            await self._slots.take(requester)
        except NoSlot:
            busy = paid_call_failed(BUSY, has_payment=has_payment, outcome=CallOutcome.NOT_SENT)
            raise busy from None
        leaving = asyncio.Event()
        task = asyncio.create_task(self._send(call, sender, leaving))
        # once the caller has the response, or has left and the payment's call has ended
        at_end(sender, task.add_done_callback, lambda _: self._slots.release(requester))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        try:
            return await asyncio.wait_for(asyncio.shield(task), CALL_S)
        except TimeoutError:
            raise too_late(has_payment=has_payment) from None
        finally:
            leaving.set()  # nobody waits any more
            if not has_payment:
                task.cancel()

    def _forget(self, task: asyncio.Task[CallResponse]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may wait for it any more

    def _check_scheme(self, url: str) -> None:
        is_local = self._routes.local is not None and url.startswith(_LOCAL)
        if not url.startswith(f"{HTTPS}://") and not is_local:
            raise RpcError(RpcReason.HTTPS_REQUIRED)

    async def _prepare(self, listing: Listing, arguments: CallArguments) -> PreparedCall:
        listed = listing.resource.method
        method = arguments.method or (CallMethod(listed) if listed in list(CallMethod) else None)
        if method is None:
            raise _invalid("The resource states no method that is called here: say GET or POST.")
        if arguments.has_body and method is CallMethod.GET:
            raise _invalid("The resource takes GET, which has no body: put parameters in query.")
        url = build_url(listing.resource, arguments)
        if method == listed:
            await self._check_parameters(listing, arguments)
        body = None
        if method is CallMethod.POST:
            body = msgspec.json.encode(arguments.body) if arguments.has_body else b""
        return PreparedCall(url, method, body, arguments.signature)

    async def _find(self, url: str) -> Sequence[Listing]:
        """Find the listings whose canonical URL is `url`, to the letter: one a network."""
        if "\0" in url:  # PostgreSQL takes no text with it
            raise RpcError(RpcReason.RESOURCE_NOT_CATALOGED)
        async with self._database.connection() as db:
            found = await listing_store.find_listings(db, listing_key(url))
            exact = [each for each in found if each.resource.url == url]
            if not exact and await listing_store.has_tool(db, url):
                raise RpcError(RpcReason.RESOURCE_IS_MCP_TOOL, data={"server": url})
        if not exact:
            raise RpcError(RpcReason.RESOURCE_NOT_CATALOGED)
        return exact

    async def _check_parameters(self, listing: Listing, arguments: CallArguments) -> None:
        """Judge parameters and body by the listing's own schema, in a process of their own."""
        text = discovery_text(listing.resource, arguments)
        if text is None:
            return
        try:
            judged = await self._reader.read(text, pay_to=listing.pay_to)
        except ReadFailed:
            raise _invalid("The listing's schema cannot judge these parameters.") from None
        if isinstance(judged, Dropped):
            words = "The parameters do not fit the listing's schema: see data.detail."
            raise RpcError(RpcReason.INVALID_ARGUMENTS, words, named_by_seller(judged.sentence))

    async def _send(
        self, call: PreparedCall, sender: Sender, leaving: asyncio.Event
    ) -> CallResponse:
        if self._routes.is_own(call.url):
            return await self._routes.gateway.call(call, sender, leaving)
        local = self._routes.local if call.url.startswith(_LOCAL) else None
        client, owner = local or self._routes.outbound, sender[SHARE]
        return await call_remote(client, call, owner=owner, deadline_s=CALL_S)


def _invalid(message: str) -> RpcError:
    return RpcError(RpcReason.INVALID_ARGUMENTS, message)
