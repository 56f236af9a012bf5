"""What came back: a status, headers, and a body that is counted while it is read."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp

from farebox.outbound.faults import AnswerUnknown, Unclear


class OutboundAnswer:
    """An answer under its call's deadline; the body can be read once."""

    def __init__(
        self, response: aiohttp.ClientResponse, deadline: float, *, limit_bytes: int
    ) -> None:
        self._response, self._deadline, self._limit_bytes = response, deadline, limit_bytes

    @property
    def status(self) -> int:
        """200 to 999, as it came; a redirect is an answer like any other."""
        return self._response.status

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Every header in its order, each byte as one character."""
        raw = self._response.raw_headers
        return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)

    def header(self, name: str) -> str | None:
        """The value of the one header of that name; None when there is none or more than one."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return found[0] if len(found) == 1 else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, never more than the limit.

        Raises:
            AnswerUnknown: it is too large, too slow, or broke off.
        """
        told = 0 if self._response.method == "HEAD" else self._response.content_length
        if (told or 0) > self._limit_bytes:
            raise AnswerUnknown(Unclear.TOO_LARGE)
        left = self._limit_bytes
        while chunk := await self._next():
            left -= len(chunk)
            if left < 0:
                raise AnswerUnknown(Unclear.TOO_LARGE)
            yield chunk

    async def read(self) -> bytes:
        """The whole body.

        Raises:
            AnswerUnknown: as `chunks`.
        """
        return b"".join([chunk async for chunk in self.chunks()])

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._response.content.readany()
        except TimeoutError:
            raise AnswerUnknown(Unclear.DEADLINE) from None
        except Exception:  # noqa: BLE001 - a stranger's bytes may trip the library anywhere
            raise AnswerUnknown(Unclear.DROPPED) from None
