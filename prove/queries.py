"""`make prove PROOF=queries`: every query and cursor gets a page or a refusal.

COUNT=50000 queries, made from SEED, against a running service with the labelled listings in it;
QUICK=1 sends 5,000. Every response must be well formed, every listing must meet the filters of its
query, and no cursor may be accepted that was not issued for its query.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import orjson

from eval.ground import list_all
from eval.labelled import Labelled, read_labelled
from farebox.kernel.networks import Network
from farebox.local.devnet import DevnetOptions, start_devnet
from farebox.local.postgres import EmbeddedPostgres
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from prove.outcome import times_in_ms
from prove.query_generator import GeneratedQuery, IssuedCursor, QueryVocabulary, generate_query
from prove.response_check import RawResponse, code_of, find_faults
from prove.run_cases import read_count, read_wanted
from testing.machine import OurProcess, ServedNetwork, our_process, say, scratch_folder, subfolder
from testing.report import run_and_report

_COUNT: Final = 50_000
_QUICK: Final = 5_000
_CALLERS: Final = 6
_ANSWER_S: Final = 20.0
_KEPT_FAULTS: Final = 20
_KEPT_CURSORS: Final = 200
_KEPT_ERRORS: Final = 3


class RawClient:
    """A kept-alive connection that sends query strings unchanged."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, target: str) -> RawResponse:
        """Send one request; return the response.

        Raises:
            TimeoutError: no response came.
        """
        began = time.monotonic()
        async with asyncio.timeout(_ANSWER_S):
            status, body = await self._exchange(target)
        return RawResponse(status, body, time.monotonic() - began)

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
            self.close()
        return status, body

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


class QueryStatistics:
    """Counts responses and collects faults."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.codes: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.faults: list[str] = []
        self.took_s: list[float] = []
        self.shown = 0
        self.forged = 0

    def add(self, query: GeneratedQuery, response: RawResponse) -> None:
        """Add a response."""
        self.statuses[response.status] += 1
        self.paths[query.path] += 1
        self.took_s.append(response.took_s)
        self.forged += query.is_forged
        if response.status == 400:
            self.codes[code_of(response)] += 1
        for line in find_faults(query, response):
            self.fault(query, line)

    def fault(self, query: GeneratedQuery, line: str) -> None:
        """Record a fault with its query; only the first ones are kept."""
        if len(self.faults) < _KEPT_FAULTS:
            say(f"{line}: {query.target[:300]}")
            self.faults.append(f"{line}: {query.target[:300]}")

    def figures(self) -> dict[str, object]:
        """Return the figures of the last line."""
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
            **times_in_ms(self.took_s),
        }


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether every response was a page or a refusal, and the figures."""
    count = read_count(is_quick, whole=_COUNT, quick=_QUICK)
    seed = read_wanted(is_quick).seed
    began = time.monotonic()
    labelled = read_labelled()
    with scratch_folder("fbx-queries-") as folder:
        async with open_service(folder, labelled) as service:
            statistics = await send_queries(
                service.url, vocabulary_of(labelled), count=count, seed=seed
            )
            if errors := find_errors(service.log):
                say(f"the errors in the service's log:\n{errors}")
    figures = statistics.figures() | {"seed": seed, "seconds": round(time.monotonic() - began, 1)}
    holds = not statistics.faults and figures["answers_5xx"] == 0 and figures["asked"] == count
    return holds and bool(statistics.shown) and bool(statistics.forged), figures


@asynccontextmanager
async def open_service(folder: Path, labelled: Labelled) -> AsyncIterator[OurProcess]:
    """Start the service with every labelled listing in its catalog."""
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


def find_errors(log: Path) -> str:
    """Return the first errors that a service has logged."""
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join([line for line in lines if '"level":"error"' in line][:_KEPT_ERRORS])


def vocabulary_of(labelled: Labelled) -> QueryVocabulary:
    """Collect words and recipients of the listings, and the labelled queries."""
    text = " ".join(f"{each.service_name} {each.description}" for each in labelled.listings)
    return QueryVocabulary(
        words=sorted(set(text.split())),
        sentences=[query.text for query in labelled.queries],
        recipients=("GDQP2KPQGKIHYJGXNUIYOMHARUARCA7DJT5FO2FFOOKY3B2WSQHG4W37", "0xabc", "G"),
    )


async def send_queries(
    url: str, vocabulary: QueryVocabulary, *, count: int, seed: int
) -> QueryStatistics:
    """Send `count` queries, several at a time, and reuse the cursors that are issued."""
    statistics, cursors = QueryStatistics(), list[IssuedCursor]()
    random = Random(seed)
    vocabulary = QueryVocabulary(
        vocabulary.words, vocabulary.sentences, await _recipients(url), cursors
    )
    sent = 0

    async def worker() -> None:
        nonlocal sent
        client = RawClient(url)
        while sent < count:
            sent += 1
            if sent % 5_000 == 0:
                say(f"{sent} of {count} sent")
            query = generate_query(random, vocabulary)
            try:
                response = await client.ask(query.target)
            except (TimeoutError, OSError, EOFError) as fault:
                client.close()
                statistics.fault(query, f"no answer ({type(fault).__name__})")
                continue
            statistics.add(query, response)
            _keep_cursor(random, cursors, query, response)
            statistics.shown += response.body.count(b'"resource":') if response.status == 200 else 0
        client.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(_CALLERS):
            group.create_task(worker())
    return statistics


async def _recipients(url: str) -> Sequence[str]:
    """Read the recipients of the catalog's first hundred listings."""
    client = RawClient(url)
    response = await client.ask("/discovery/resources?limit=100")
    client.close()
    items = orjson.loads(response.body)["items"]
    return sorted({item["accepts"][0]["payTo"] for item in items})


def _keep_cursor(
    random: Random, cursors: list[IssuedCursor], query: GeneratedQuery, response: RawResponse
) -> None:
    if response.status != 200 or not query.path.endswith("search"):
        return
    cursor = orjson.loads(response.body)["pagination"]["cursor"]
    if cursor is None:
        return
    parameters = query.query.split("&")
    without_cursor = "&".join(p for p in parameters if not p.startswith("cursor"))
    issued = IssuedCursor(cursor, without_cursor)
    if len(cursors) < _KEPT_CURSORS:
        cursors.append(issued)
    else:
        cursors[random.randrange(len(cursors))] = issued


if __name__ == "__main__":
    raise SystemExit(run_and_report(prove))
