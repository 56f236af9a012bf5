"""Whether one tenant can tell another's record from none: the judge of the tenant matrix."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from starlette.routing import Route

from farebox.app.openapi import needs_of
from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# of whoever asks, and gone with the minute: they say nothing of a record
_NOT_KEPT: Final = ("ingress_counts", "schema_migrations")
_REFUSED: Final = (400, 401, 403, 404, 405)
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"


@dataclass(frozen=True, slots=True)
class Door:
    """One path with an id in it, and what a request there looks like."""

    path: str
    kind: str  # of its ids, as in `key_…`
    methods: frozenset[str]  # that it takes
    bodies: Sequence[object] = (None,)  # the first one is what its owner would send

    def at(self, record: str) -> str:
        """The path of a record, read as a server reads it: escapes are letters."""
        before, _, behind = self.path.partition("{id}")
        return unquote(before + record + behind)


def guarded(routes: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Method and path of every route that has a guard."""
    for route in routes:
        if isinstance(route, Route) and needs_of(route) is not None:
            yield from ((method, route.path) for method in (route.methods or set()) - {"HEAD"})


def forgotten(
    routes: Iterable[object], kinds: Collection[str], named: Collection[tuple[str, str]]
) -> list[str]:
    """Guarded routes of which the matrix knows nothing.

    `kinds` are the paths with an id of which there are example records, `named` the others.
    """
    return [
        f"{method} {path}"
        for method, path in guarded(routes)
        if (path not in kinds if "{" in path else (method, path) not in named)
    ]


def malformed(genuine: str) -> list[str]:
    """Ids that no record has, as they are sent; some of them near to one that there is."""
    kind, _, rest = genuine.partition("_")
    return [
        *("", "%20", ".", "..", "0", "-1", "null", "*", "%25", "'", '"', "{id}", "%F0%9F%92%A9"),
        *(rest, kind, f"{kind}_", f"{kind}__{rest}", f"{kind}-{rest}", f"other_{rest}"),
        *(genuine.upper(), genuine.swapcase(), f"{kind.upper()}_{rest}"),
        *(genuine[:-1], genuine + "0", genuine * 2, f"{kind}_{rest * 300}", "A" * 4000),
        *(genuine + each for each in ("%00", "%0A", "%20", "%2F", "%C3%A9", ";a=b", ",", "'--")),
        *(each + genuine for each in ("%00", "%20", "%2F", "..%2F", "x%2F..%2F", "%252F")),
        *(f"{kind}_{'%D0%B0' * 22}", f"{kind}_{'%EF%BC%91' * 22}", f"{kind}_{'%' * 22}"),
        *("..%2F..%2Fapi-keys", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%C3%28", "%252e%252e%252f"),
    ]


def told(answer: Answer) -> tuple[int, object, dict[str, str]]:
    """All that an answer says, but for what names the request it answers."""
    request_id = answer.headers.get("x-request-id")
    body: Any = answer.body
    if answer.body[:1] == b"{":
        body = answer.json()
        if isinstance(body.get("error"), dict):
            request_id = body["error"].pop("requestId", request_id)
    left_out = {"date", "content-length"}
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in left_out and value != request_id
    }
    return answer.status, body, headers


async def sent(
    client: AsgiClient, method: str, path: str, headers: Mapping[str, str], body: object
) -> Answer:
    """One request; `None` is no body, anything else goes as JSON."""
    content = b"" if body is None else msgspec.json.encode(body)
    return await client.request(method, path, body=content, headers=headers)


Rows = Callable[[], Awaitable[frozenset[str]]]


async def flaws_of(
    client: AsgiClient,
    door: Door,
    headers: Mapping[str, str],
    foreign: Sequence[str],
    *,
    marks: Collection[str],
    rows: Rows,
) -> list[str]:
    """Where a foreign or malformed id is answered otherwise than an unknown one, or does something.

    `marks` are words of the foreign records, none of which is in any answer; `rows` are the rows
    of those who own them.
    """
    before = await rows()
    flaws: list[str] = []
    for method in METHODS:
        for body in door.bodies if method in door.methods else door.bodies[:1]:
            unknown = await sent(client, method, door.at(new_id(door.kind)), headers, body)
            if unknown.status not in _REFUSED:
                flaws.append(f"{method} {door.path}: unknown is {unknown.status}")
            for record in foreign:
                answer = await sent(client, method, door.at(record), headers, body)
                if told(answer) != told(unknown) or marked(answer, marks):
                    flaws.append(f"{method} {door.path} {record}: {told(answer)}")
    for method in sorted(door.methods):
        flaws += await _malformed(client, door, method, headers, foreign[0], marks)
    changed = before ^ await rows()
    return flaws + [f"{door.path} changed {row}" for row in changed]


async def _malformed(
    client: AsgiClient,
    door: Door,
    method: str,
    headers: Mapping[str, str],
    genuine: str,
    marks: Collection[str],
) -> list[str]:
    """Those ids that are not answered as unknown ones are.

    One that is empty or has a slash is another path, where there is nothing, or nothing for this
    method.
    """
    flaws, body = [], door.bodies[0]
    unknown = await sent(client, method, door.at(new_id(door.kind)), headers, body)
    for record in malformed(genuine):
        answer = await sent(client, method, door.at(record), headers, body)
        is_another_path = not record or "/" in unquote(record)
        is_same = told(answer) == told(unknown)
        if is_another_path:
            is_same = answer.status in (404, 405)
        if not is_same or marked(answer, marks):
            flaws.append(f"{method} {door.path} {record[:60]!r}: {told(answer)}")
    return flaws


def marked(answer: Answer, marks: Collection[str]) -> list[str]:
    """The marks that stand in an answer."""
    said = f"{dict(answer.headers)} {answer.body.decode()}"
    return [mark for mark in marks if mark in said]


async def rows_about(database: Database, owners: Sequence[str]) -> frozenset[str]:
    """Every row, of whatever table, in which the id of one of the owners stands.

    When a key was used last is left out: it is its own use that counts there.
    """
    async with database.connection() as db:
        tables = [row["tablename"] for row in await db.fetch(_TABLES)]
        union = " UNION ALL ".join(
            f"SELECT '{table} ' || (to_jsonb(r) - 'last_used_at')::text AS said FROM {table} r"
            for table in tables
            if table not in _NOT_KEPT
        )
        about = "EXISTS (SELECT FROM unnest($1::text[]) owner WHERE strpos(said, owner) > 0)"
        rows = await db.fetch(f"SELECT said FROM ({union}) AS every WHERE {about}", list(owners))
    return frozenset(row["said"] for row in rows)
