"""Hostile clients in a process of their own: many connections from many addresses.

The process reads its plan from standard input and writes a report of the connections to standard
output, once all are closed.
"""

import asyncio
import os
import random
import resource
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from prove.hostile_kinds import BYTES_OF, Hostility

_OPENED_WITHIN_S: Final = 2.0
_AGAIN_S: Final = (0.5, 3.0)  # until a connection that was closed is opened again
HOSTS: Final = range(1, 10)  # of the addresses, for both of the last octets
_LOOK_S: Final = 0.1
_NICENESS: Final = 10  # real hostile clients do not use the CPU of the service


class AttackPlan(msgspec.Struct, frozen=True):
    """The target, the kinds of clients and the duration of an attack."""

    port: int
    connections: int
    kinds: list[Hostility]
    seed: int
    seconds: float  # for which closed connections are opened again
    patience_s: float  # to wait afterwards until all are closed


class AttackReport(msgspec.Struct, frozen=True):
    """The results of an attack."""

    opened: int
    last_opened_at: float  # by time.monotonic()
    left: dict[str, int]  # connections that were never closed, by kind
    statuses: dict[str, int]  # first lines of answers


class _HostileConnection(asyncio.Protocol):
    def __init__(self, kind: Hostility, statuses: Counter[str]) -> None:
        self._kind, self._statuses = kind, statuses
        self.closed = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._kind is Hostility.DEAF and isinstance(transport, asyncio.ReadTransport):
            transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 "):
            self._statuses[data[9:12].decode("latin-1")] += 1

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.writable.set()
        self.closed.set()


class _Attack:
    def __init__(self, plan: AttackPlan) -> None:
        self._plan = plan
        self._until = time.monotonic() + plan.seconds
        self._open: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._opened = 0
        self._last_opened_at = time.monotonic()

    async def run(self) -> AttackReport:
        numbers = range(self._plan.connections)
        callers = [asyncio.create_task(self._caller(number)) for number in numbers]
        await asyncio.sleep(self._plan.seconds)
        await asyncio.wait(callers, timeout=self._plan.patience_s)
        for each in callers:
            each.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        left = {str(kind): count for kind, count in self._open.items() if count}
        return AttackReport(self._opened, self._last_opened_at, left, dict(self._statuses))

    async def _caller(self, number: int) -> None:
        rng = random.Random(f"{self._plan.seed} {number}")
        kind = self._plan.kinds[number % len(self._plan.kinds)]
        await asyncio.sleep(rng.uniform(0.0, min(_OPENED_WITHIN_S, self._plan.seconds / 2)))
        # each connects at least once, on the slowest machine too
        await self._connect_once(kind, rng)
        while time.monotonic() < self._until:
            await asyncio.sleep(rng.uniform(*_AGAIN_S))
            await self._connect_once(kind, rng)

    async def _connect_once(self, kind: Hostility, rng: random.Random) -> None:
        source = f"127.0.{rng.choice(HOSTS)}.{rng.choice(HOSTS)}"
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.create_connection(
                lambda: _HostileConnection(kind, self._statuses),
                "127.0.0.1",
                self._plan.port,
                local_addr=(source, 0),
            )
        except OSError:
            return
        self._opened += 1
        self._last_opened_at = time.monotonic()
        self._open[kind.name] += 1
        try:
            for data, pause_s in BYTES_OF[kind](rng):
                await protocol.writable.wait()
                if protocol.closed.is_set() or transport.is_closing():
                    break
                transport.write(data)
                await asyncio.sleep(pause_s)
            await self._wait_until_closed(transport, protocol)
            self._open[kind.name] -= 1
        finally:
            if not protocol.closed.is_set():
                transport.abort()

    async def _wait_until_closed(
        self, transport: asyncio.Transport, protocol: _HostileConnection
    ) -> None:
        """Return once the service has closed the connection.

        A client that does not read notices only by reading; so it reads at the end.
        """
        while not protocol.closed.is_set():
            if time.monotonic() > self._until + _OPENED_WITHIN_S:
                transport.resume_reading()
            await asyncio.sleep(_LOOK_S)


def count_open_connections(port: int) -> int:
    """Count the hostile connections that the process listening on `port` holds.

    Connections not yet accepted, and those that only the kernel holds, have no inode.
    """
    ours = {socket.inet_aton(f"127.0.{a}.{b}")[::-1].hex().upper() for a in HOSTS for b in HOSTS}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(
        int(row[1].partition(":")[2], 16) == port
        and row[2].partition(":")[0] in ours
        and row[9] != "0"
        for row in rows
    )


def main() -> None:
    """Run the plan on standard input."""
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=AttackPlan)
    os.nice(_NICENESS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    report = asyncio.run(_Attack(plan).run())
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")


if __name__ == "__main__":
    main()
