"""The tenant matrix: can one tenant tell another's record from one that does not exist?"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from farebox.web.endpoint import RouteDeclaration
from support.asgi import Answer, AsgiClient
from support.callers import send_request

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# they count requests and say nothing of a record
_NOT_KEPT: Final = ("ingress_counts", "schema_migrations")
_REFUSED: Final = (400, 401, 403, 404, 405)
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"


@dataclass(frozen=True, slots=True)
class TenantRoute:
    """A path with a record id in it, and example requests to it."""

    path: str
    kind: str  # of its ids, as in `key_…`
    methods: frozenset[str]  # that it takes
    bodies: Sequence[object] = (None,)  # the first one is what its owner would send

    def at(self, record: str) -> str:
        """Return the path of a record, with its escapes decoded as a server does.

        The number of something inside the record is 0.
        """
        before, _, behind = self.path.replace("{index}", "0").partition("{id}")
        return unquote(before + record + behind)


def guarded(routes: Iterable[RouteDeclaration]) -> Iterator[RouteDeclaration]:
    """Return the routes that need a credential."""
    return (route for route in routes if route.access is not None)


def record_prefix(route: RouteDeclaration) -> str:
    """The prefix of the record id in the path; empty without one."""
    return next((each.id_prefix for each in route.parameters if each.id_prefix), "")


def uncovered_routes(
    routes: Iterable[RouteDeclaration],
    prefixes: Collection[str],
    named: Collection[tuple[str, str]],
) -> list[str]:
    """Return the guarded routes that the matrix does not cover.

    `prefixes` are those of ids of which there are example records; `named` are the routes without
    an owner's record in their path.
    """
    return [
        f"{route.method} {route.path}"
        for route in guarded(routes)
        if (route.method, route.path) not in named and record_prefix(route) not in prefixes
    ]


def tenant_routes(
    routes: Iterable[RouteDeclaration], bodies: Mapping[str, Sequence[object]]
) -> list["TenantRoute"]:
    """Return every guarded path with a record id in it, with the example of its declaration.

    `bodies` are further bodies to send to some of the paths.
    """
    by_path: dict[str, list[RouteDeclaration]] = {}
    for route in guarded(routes):
        if record_prefix(route):
            by_path.setdefault(route.path, []).append(route)
    return [
        TenantRoute(
            path,
            record_prefix(declared[0]),
            frozenset(route.method for route in declared),
            (declared[0].example.request, *bodies.get(path, ({},))),
        )
        for path, declared in by_path.items()
    ]


def malformed(genuine: str) -> list[str]:
    """Return ids, as sent, that no record has; some are close to a genuine one."""
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


def comparable_response(answer: Answer) -> tuple[int, object, dict[str, str]]:
    """Return status, body and headers of a response without its request id."""
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


Changes = Callable[[], Awaitable[frozenset[str]]]


async def find_leaks(
    client: AsgiClient,
    door: TenantRoute,
    headers: Mapping[str, str],
    foreign: Sequence[str],
    *,
    marks: Collection[str],
    changes: Changes,
) -> list[str]:
    """Find foreign or malformed ids whose response differs from an unknown id's, and effects.

    `marks` are words of the foreign records, none of which is in any answer; `changes` returns
    the rows of those who own them that came or went since its last call.
    """
    flaws: list[str] = []
    for method in METHODS:
        for body in door.bodies if method in door.methods else door.bodies[:1]:
            unknown = await send_request(client, method, door.at(new_id(door.kind)), headers, body)
            if unknown.status not in _REFUSED:
                flaws.append(f"{method} {door.path}: unknown is {unknown.status}")
            wanted = comparable_response(unknown)
            for record in foreign:
                answer = await send_request(client, method, door.at(record), headers, body)
                if comparable_response(answer) != wanted or find_marks(answer, marks):
                    flaws.append(f"{method} {door.path} {record}: {comparable_response(answer)}")
    for method in sorted(door.methods):
        flaws += await _malformed(client, door, method, headers, foreign[0], marks)
    return flaws + [f"{door.path} changed {row}" for row in await changes()]


async def _malformed(
    client: AsgiClient,
    door: TenantRoute,
    method: str,
    headers: Mapping[str, str],
    genuine: str,
    marks: Collection[str],
) -> list[str]:
    """Find malformed ids whose response differs from that to an unknown id.

    One that is empty or has a slash is another path, where there is nothing, or nothing for this
    method.
    """
    flaws, body = [], door.bodies[0]
    unknown = await send_request(client, method, door.at(new_id(door.kind)), headers, body)
    wanted = comparable_response(unknown)
    for record in malformed(genuine):
        answer = await send_request(client, method, door.at(record), headers, body)
        is_another_path = not record or "/" in unquote(record)
        is_same = comparable_response(answer) == wanted
        if is_another_path:
            is_same = answer.status in (404, 405)
        if not is_same or find_marks(answer, marks):
            flaws.append(f"{method} {door.path} {record[:60]!r}: {comparable_response(answer)}")
    return flaws


def find_marks(answer: Answer, marks: Collection[str]) -> list[str]:
    """Return the marks that a response holds."""
    text = f"{dict(answer.headers)} {answer.body.decode()}"
    return [mark for mark in marks if mark in text]


async def rows_about(database: Database, owners: Sequence[str]) -> frozenset[str]:
    """Return every row of every table that holds the id of one of the owners.

    The time of a key's last use is left out: the tests themselves use the keys.
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


class RowWatch:
    """The changes of the rows that hold the id of one of the owners; `rows` are those of now."""

    def __init__(self, database: Database, owners: Sequence[str], rows: frozenset[str]) -> None:
        self._database, self._owners, self._rows = database, owners, rows

    async def changes(self) -> frozenset[str]:
        """Return the rows that came or went since the last call."""
        before, self._rows = self._rows, await rows_about(self._database, self._owners)
        return before ^ self._rows
