"""A closed loop of HTTP requests over keep-alive connections, light enough not to be the limit.

One thread, non-blocking sockets and ready-made request bytes: about 15 µs of work a request.
It runs as its own process (`main`), reads one plan as JSON on standard input and
prints one result as JSON, so that it can be held on another core than the server it measures.
"""

import base64
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_STALLED_S: Final = 30.0


class Plan(msgspec.Struct, frozen=True):
    """What to send: bodies in turn (base64), how many at once, for how long, and what to expect."""

    host: str
    port: int
    path: str
    bodies: list[str]
    in_flight: int
    duration_s: float
    expect: list[str]  # body i is answered by something that contains expect[i % len(expect)]
    headers: dict[str, str] = {}


class Result(msgspec.Struct, frozen=True):
    """What came back; times in milliseconds, `busy` the share of one core the generator used."""

    answers: int
    unexpected: int
    elapsed_s: float
    per_second: float
    p50_ms: float
    p99_ms: float
    busy: float
    first_unexpected: str = ""


@dataclass(slots=True)
class _Lane:
    """One connection with at most one request on it."""

    sock: socket.socket
    index: int = 0
    sent_at: float = 0.0
    buffer: bytearray = field(default_factory=bytearray)
    wanted: int = 0


def request_bytes(plan: Plan) -> list[bytes]:
    """Every request of the plan as the bytes that go on the wire."""
    head = f"POST {plan.path} HTTP/1.1\r\nHost: {plan.host}:{plan.port}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in plan.headers.items())
    head += "Content-Type: application/json\r\nContent-Length: "
    bodies = [base64.b64decode(body) for body in plan.bodies]
    return [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]


def run(plan: Plan) -> Result:
    """Keep `in_flight` requests going for `duration_s` seconds and say how they were answered.

    Raises:
        RuntimeError: the server closed a connection or nothing came back for thirty seconds.
    """
    return _Generator(plan).run()


class _Generator:
    def __init__(self, plan: Plan) -> None:
        self._requests = request_bytes(plan)
        self._expected = [text.encode() for text in plan.expect]
        self._lanes = [_open(plan) for _ in range(plan.in_flight)]
        self._selector = selectors.DefaultSelector()
        for lane in self._lanes:
            self._selector.register(lane.sock, selectors.EVENT_READ, lane)
        self._duration_s = plan.duration_s
        self._turn = 0
        self._latencies: list[float] = []
        self._unexpected = 0
        self._first_unexpected = ""

    def run(self) -> Result:
        cpu, began = time.process_time(), time.perf_counter()
        until = began + self._duration_s
        for lane in self._lanes:
            self._send(lane)
        busy_lanes = len(self._lanes)
        while busy_lanes:
            for lane in self._answered():
                if time.perf_counter() < until:
                    self._send(lane)
                else:
                    busy_lanes -= 1
        elapsed = time.perf_counter() - began
        busy = (time.process_time() - cpu) / elapsed
        for lane in self._lanes:
            lane.sock.close()
        return self._result(elapsed, busy)

    def _send(self, lane: _Lane) -> None:
        lane.index = self._turn % len(self._requests)
        lane.wanted = 0
        lane.buffer.clear()
        self._turn += 1
        lane.sent_at = time.perf_counter()
        lane.sock.sendall(self._requests[lane.index])

    def _answered(self) -> Iterator[_Lane]:
        """Wait for something to arrive; yield the connections whose answer is complete."""
        ready = self._selector.select(_STALLED_S)
        if not ready:
            raise RuntimeError("the server stopped answering")
        for key, _ in ready:
            lane: _Lane = key.data
            if _receive(lane):
                self._latencies.append(time.perf_counter() - lane.sent_at)
                self._judge(lane)
                yield lane

    def _judge(self, lane: _Lane) -> None:
        if self._expected[lane.index % len(self._expected)] not in lane.buffer:
            self._unexpected += 1
            self._first_unexpected = self._first_unexpected or lane.buffer.decode(errors="replace")

    def _result(self, elapsed: float, busy: float) -> Result:
        ordered = sorted(self._latencies)
        return Result(
            answers=len(ordered),
            unexpected=self._unexpected,
            elapsed_s=elapsed,
            per_second=len(ordered) / elapsed,
            p50_ms=ordered[len(ordered) // 2] * 1000,
            p99_ms=ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000,
            busy=busy,
            first_unexpected=self._first_unexpected,
        )


def _open(plan: Plan) -> _Lane:
    sock = socket.create_connection((plan.host, plan.port), timeout=10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Lane(sock)


def _receive(lane: _Lane) -> bool:
    """Take what arrived; True once the answer is complete."""
    chunk = lane.sock.recv(65536)
    if not chunk:
        raise RuntimeError("the server closed a connection")
    lane.buffer += chunk
    if not lane.wanted:
        end = lane.buffer.find(_HEAD_END)
        if end < 0:
            return False
        length = _LENGTH.search(lane.buffer, 0, end)
        if length is None:
            raise RuntimeError("an answer without Content-Length")
        lane.wanted = end + len(_HEAD_END) + int(length[1])
    return len(lane.buffer) >= lane.wanted


def main() -> int:
    """Run the plan on standard input."""
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(run(plan)) + b"\n")
    return 0
