"""The client for plain HTTP addresses of this machine, where an operator lists them for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from farebox.outbound.client import OutboundResponse, open_session
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    NotSentReason,
    UnknownOutcomeReason,
)
from farebox.outbound.request import OutboundRequest, check_request


class LocalClient:
    """Calls `http://` addresses as `OutboundClient` calls public ones, without its guards."""

    @asynccontextmanager
    async def call(self, request: OutboundRequest) -> AsyncIterator[OutboundResponse]:
        """Send `request` once and yield the response, its body unread.

        Raises:
            CallRefused: a header is not allowed; nothing was sent.
            CallNotSent: there is no connection.
            CallOutcomeUnknown: it may have been received.
        """
        check_request(request)
        deadline = asyncio.get_running_loop().time() + request.deadline_s
        connector = aiohttp.TCPConnector(limit=1, force_close=True)
        async with open_session(connector) as session:
            try:
                async with asyncio.timeout_at(deadline):
                    response = await session.request(
                        request.method,
                        URL(request.url, encoded=True),
                        headers=list(request.headers),
                        data=request.body,
                        allow_redirects=False,
                    )
            except aiohttp.ClientConnectorError:
                raise CallNotSent(NotSentReason.CONNECTION) from None
            except TimeoutError:
                raise CallOutcomeUnknown(UnknownOutcomeReason.DEADLINE) from None
            except aiohttp.ClientError:
                raise CallOutcomeUnknown(UnknownOutcomeReason.DROPPED) from None
            yield OutboundResponse(response, deadline, limit_bytes=request.max_answer_bytes)
            response.close()
