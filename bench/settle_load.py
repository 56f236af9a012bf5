"""A load generator for /settle: each caller sends its next payment after the last answer.

It runs as a process of its own (`main`), reads one plan as JSON on standard input and prints one
`Report` as JSON. Times are of the monotonic clock, which all processes of a machine share.
"""

import asyncio
import base64
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from bench.plan_input import run_plan_of_input

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length:"
_PAUSE_S: Final = 0.5
_AGAIN: Final = frozenset({"settlement_pending", "service_unavailable", "network_unavailable"})


class Plan(msgspec.Struct, frozen=True):
    """The bodies, servers, concurrency and duration of a load.

    With `patience_s` a caller whose connection broke, or whose answer asks for a retry, repeats the
    same body at the next server for that long; without it the first answer counts.
    """

    servers: list[tuple[str, int]]  # caller i starts at server i, in turn
    bodies: list[str]  # base64
    in_flight: int
    start_at: float
    stop_at: float  # no new payment begins after this
    answer_s: float = 150.0
    patience_s: float = 0.0


class Answer(msgspec.Struct, frozen=True):
    """The answer to one payment; status 0 when there was none."""

    index: int  # into the plan's bodies
    sent_at: float
    answered_at: float
    status: int
    success: bool
    reason: str = ""
    transaction: str = ""
    attempts: int = 1
    successes: int = 0  # answers of success, over all attempts

    @property
    def is_final(self) -> bool:
        """Whether it is an answer that does not ask for a retry."""
        return self.status != 0 and self.reason not in _AGAIN


class Report(msgspec.Struct, frozen=True):
    """Every answer in order of arrival."""

    answers: list[Answer]


class _ResponseBody(msgspec.Struct):
    success: bool = False
    errorReason: str = ""  # noqa: N815 - as on the wire
    transaction: str = ""


class _ConnectionBroken(Exception):
    """The connection ended before an answer was whole."""


class _Connection:
    """A kept-alive connection to one server, opened when it is needed."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes, *, within_s: float) -> tuple[int, bytes]:
        """Send one request; return status and body of the answer.

        Raises:
            _ConnectionBroken: there was no answer.
        """
        try:
            async with asyncio.timeout(within_s):
                return await self._ask(body)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.close()
            raise _ConnectionBroken from error

    async def _ask(self, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = f"POST /settle HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(_HEAD_END)).lower()
        length = answer.partition(_LENGTH)[2].partition(b"\r\n")[0]
        return int(answer.split(b" ", 2)[1]), await reader.readexactly(int(length))

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def run_plan(plan: Plan) -> Report:
    """Run the plan."""
    return await _Callers(plan).run()


class _Callers:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._bodies = [base64.b64decode(body) for body in plan.bodies]
        self._next: Iterator[int] = iter(range(len(self._bodies)))
        self._answers: list[Answer] = []

    async def run(self) -> Report:
        await asyncio.sleep(max(0.0, self._plan.start_at - time.monotonic()))
        async with asyncio.TaskGroup() as callers:
            for number in range(self._plan.in_flight):
                callers.create_task(self._call(number))
        return Report(self._answers)

    async def _call(self, number: int) -> None:
        connections = [_Connection(host, port) for host, port in self._plan.servers]
        while time.monotonic() < self._plan.stop_at:
            index = next(self._next, None)
            if index is None:
                break
            self._answers.append(await self._settle(index, connections, number))
        for connection in connections:
            connection.close()

    async def _settle(self, index: int, connections: list[_Connection], number: int) -> Answer:
        began = time.monotonic()
        attempts = successes = 0
        while True:
            connection = connections[(number + attempts) % len(connections)]
            attempts += 1
            status, response = 0, _ResponseBody(errorReason="no_answer")
            with suppress(_ConnectionBroken):
                status, raw = await connection.ask(
                    self._bodies[index], within_s=self._plan.answer_s
                )
                response = _parse_body(raw)
            successes += response.success
            now = time.monotonic()
            answer = Answer(
                index=index,
                sent_at=began,
                answered_at=now,
                status=status,
                success=response.success,
                reason=response.errorReason,
                transaction=response.transaction,
                attempts=attempts,
                successes=successes,
            )
            if answer.is_final or now - began > self._plan.patience_s:
                return answer
            await asyncio.sleep(_PAUSE_S)


def _parse_body(raw: bytes) -> _ResponseBody:
    try:
        fields: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
        return msgspec.convert({k: v for k, v in fields.items() if v is not None}, _ResponseBody)
    except msgspec.MsgspecError:
        return _ResponseBody(errorReason=raw[:80].decode(errors="replace"))


def main() -> int:
    """Run the plan on standard input."""
    return run_plan_of_input(Plan, run_plan)
