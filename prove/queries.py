"""`make prove PROOF=queries`: no query and no cursor gets anything but a page or a refusal.

COUNT=50000 queries, made from SEED, against a running service with the labelled listings in it;
QUICK=1 asks 5,000. Every answer is held to its shape, every listing to the filters it came by, and
no cursor is taken that was not given for the query it comes with.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import orjson

from e2e.ending import end_with_figures
from e2e.machine import OurProcess, ServedNetwork, our_process, say, scratch_folder, subfolder
from eval.ground import list_all
from eval.labelled import Labelled, read_labelled
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from prove.odd_answers import Seen, code_of, faults
from prove.odd_queries import GivenCursor, OddQuery, Stock, odd_query

_COUNT: Final = 50_000
_QUICK: Final = 5_000
_CALLERS: Final = 6
_ANSWER_S: Final = 20.0
_KEPT_FAULTS: Final = 20
_KEPT_CURSORS: Final = 200


class Caller:
    """One connection, kept open, that sends a query string byte by byte as it stands."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, target: str) -> Seen:
        """The answer, whole.

        Raises:
            TimeoutError: it did not come.
        """
        began = time.monotonic()
        async with asyncio.timeout(_ANSWER_S):
            status, body = await self._exchange(target)
        return Seen(status, body, time.monotonic() - began)

    async def _exchange(self, target: str) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(f"GET {target} HTTP/1.1\r\nhost: {self._host}\r\n\r\n".encode())
        status = int((await reader.readline()).split()[1])
        length, is_last = 0, False
        while line := (await reader.readline()).strip().lower():
            name, _, value = line.partition(b":")
            if name == b"content-length":
                length = int(value)
            is_last |= name == b"connection" and value.strip() == b"close"
        body = await reader.readexactly(length)
        if is_last:
            self.leave()
        return status, body

    def leave(self) -> None:
        """The connection is closed; the next question opens another."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


class Tally:
    """What came of the queries so far."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.codes: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.faults: list[str] = []
        self.took_s: list[float] = []
        self.shown = 0
        self.forged = 0

    def add(self, asked: OddQuery, seen: Seen) -> None:
        """One more."""
        self.statuses[seen.status] += 1
        self.paths[asked.path] += 1
        self.took_s.append(seen.took_s)
        self.forged += asked.is_forged
        if seen.status == 400:
            self.codes[code_of(seen)] += 1
        for line in faults(asked, seen):
            self.fault(asked, line)

    def fault(self, asked: OddQuery, line: str) -> None:
        """Something was wrong; the first few are kept with what was asked."""
        if len(self.faults) < _KEPT_FAULTS:
            say(f"{line}: {asked.target[:300]}")
            self.faults.append(f"{line}: {asked.target[:300]}")

    def figures(self) -> dict[str, object]:
        """As they go into the last line."""
        took = sorted(self.took_s) or [0.0]
        answered = sum(self.statuses.values())
        return {
            "asked": answered,
            "answers_5xx": sum(n for status, n in self.statuses.items() if status >= 500),
            "faults": self.faults,
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "codes": dict(self.codes.most_common()),
            "paths": dict(sorted(self.paths.items())),
            "forged_cursors": self.forged,
            "listings_shown": self.shown,
            "p50_ms": round(1000 * took[len(took) // 2], 1),
            "p99_ms": round(1000 * took[int(len(took) * 0.99)], 1),
            "slowest_ms": round(1000 * took[-1], 1),
        }


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures, and whether every answer was a page or a refusal."""
    count = int(os.environ.get("COUNT") or (_QUICK if is_quick else _COUNT))
    seed = int(os.environ.get("SEED", "1"))
    began = time.monotonic()
    labelled = read_labelled()
    with scratch_folder("fbx-queries-") as folder:
        async with running(folder, labelled) as service:
            tally = await ask_all(service.url, stock_of(labelled), count=count, seed=seed)
    figures = tally.figures() | {"seed": seed, "seconds": round(time.monotonic() - began, 1)}
    holds = not tally.faults and figures["answers_5xx"] == 0 and figures["asked"] == count
    return holds and bool(tally.shown) and bool(tally.forged), figures


@asynccontextmanager
async def running(folder: Path, labelled: Labelled) -> AsyncIterator[OurProcess]:
    """The service with every labelled listing in its catalog."""
    options = DevnetOptions(passphrase=Network.TESTNET.passphrase, close_ms=1000)
    with EmbeddedPostgres(subfolder(folder, "postgres"), is_throwaway=True) as server:
        await migrate(server.url, packaged_migrations())
        async with Database(server.url) as database:
            await list_all(database, labelled.listings)
        async with await start_devnet(options, progress=say) as devnet:
            scene = await devnet.scene(payers=1, payees=0)
            served = ServedNetwork(Network.TESTNET, devnet, scene.payers[0].secret)
            settings = {"FAREBOX_DATABASE_URL": server.url.reveal()}
            async with our_process([served], folder=folder, settings=settings) as service:
                yield service


def stock_of(labelled: Labelled) -> Stock:
    """Words and recipients of the listings, and the queries somebody thought of."""
    said = " ".join(f"{each.service_name} {each.description}" for each in labelled.listings)
    return Stock(
        words=sorted(set(said.split())),
        sentences=[query.text for query in labelled.queries],
        recipients=("GDQP2KPQGKIHYJGXNUIYOMHARUARCA7DJT5FO2FFOOKY3B2WSQHG4W37", "0xabc", "G"),
    )


async def ask_all(url: str, stock: Stock, *, count: int, seed: int) -> Tally:
    """Ask so many queries, several at a time; a cursor that is given is asked with later."""
    tally, cursors = Tally(), list[GivenCursor]()
    random = Random(seed)
    stock = Stock(stock.words, stock.sentences, await _recipients(url), cursors)
    asked = 0

    async def call() -> None:
        nonlocal asked
        caller = Caller(url)
        while asked < count:
            asked += 1
            if asked % 5_000 == 0:
                say(f"{asked} of {count} asked")
            query = odd_query(random, stock)
            try:
                seen = await caller.ask(query.target)
            except (TimeoutError, OSError, EOFError) as fault:
                caller.leave()
                tally.fault(query, f"no answer ({type(fault).__name__})")
                continue
            tally.add(query, seen)
            _keep_cursor(random, cursors, query, seen)
            tally.shown += seen.body.count(b'"resource":') if seen.status == 200 else 0
        caller.leave()

    async with asyncio.TaskGroup() as group:
        for _ in range(_CALLERS):
            group.create_task(call())
    return tally


async def _recipients(url: str) -> Sequence[str]:
    """Whom the catalog's first hundred listings name."""
    caller = Caller(url)
    seen = await caller.ask("/discovery/resources?limit=100")
    caller.leave()
    items = orjson.loads(seen.body)["items"]
    return sorted({item["accepts"][0]["payTo"] for item in items})


def _keep_cursor(random: Random, cursors: list[GivenCursor], asked: OddQuery, seen: Seen) -> None:
    if seen.status != 200 or not asked.path.endswith("search"):
        return
    cursor = orjson.loads(seen.body)["pagination"]["cursor"]
    if cursor is None:
        return
    query = "&".join(p for p in asked.query.split("&") if not p.startswith("cursor"))
    given = GivenCursor(cursor, query)
    if len(cursors) < _KEPT_CURSORS:
        cursors.append(given)
    else:
        cursors[random.randrange(len(cursors))] = given


if __name__ == "__main__":
    raise SystemExit(end_with_figures(prove))
