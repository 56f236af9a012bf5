"""Secrets that the tests plant, and the search for them in databases, logs and output.

Each value given to `plant_secret` is searched for in every column of every table of the test
databases, before their rows are deleted and once more at the end of the run, and in everything
that the tests have written: plain, in hexadecimal, in base64 and as JSON escapes it.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Final

from farebox.storage.pool import Connection
from testing.database import connected

SHORTEST: Final = 12  # characters; anything shorter turns up by chance
_CHUNK: Final = 100_000  # characters looked at together
_SHAPE: Final = re.compile(  # of a session or key, and of a seed
    r"(?<![0-9A-Za-z_])(?:fbx_(?:live|sess)_[0-9A-Za-z]{24,}|S[A-Z2-7]{55})(?![0-9A-Za-z])",
    re.ASCII,
)
_TABLES: Final = """
    SELECT format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg_toast%' AND n.nspname NOT LIKE 'pg_temp%'
"""
_registered: Final[set[str]] = set()
_begins: Final[dict[str, list[str]]] = {}  # every form of theirs by how it begins


class PlantedSecretFound(AssertionError):
    """A planted secret was written where none may be."""


def plant_secret(value: str) -> str:
    """Register a value that must not be written anywhere; return it."""
    assert len(value) >= SHORTEST, "too short: it could occur by chance"
    if value not in _registered:
        _registered.add(value)
        for form in encodings_of(value):
            _begins.setdefault(form[:SHORTEST], []).append(form)
    return value


def count_planted() -> int:
    """Return the number of values planted in this process."""
    return len(_registered)


def encodings_of(value: str) -> tuple[str, ...]:
    """Return every encoding of a value that is searched for."""
    raw = value.encode()
    shifted = [_base64_core(raw, shift) for shift in range(3)]
    spelled = [value, raw.hex(), *shifted, *(text.translate(_URL_SAFE) for text in shifted)]
    return tuple(dict.fromkeys([*spelled, json.dumps(value)[1:-1]]))


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _base64_core(raw: bytes, shift: int) -> str:
    """Return the base64 characters that do not depend on the text around the value.

    `shift` is the number of bytes before it, modulo 3.
    """
    padded = b"\0" * shift + raw
    begin = -(-shift * 8 // 6)  # characters that the bytes before it reach into
    whole = len(padded) * 8 // 6  # those behind depend on what follows
    return base64.b64encode(padded).decode()[begin:whole]


def find_planted(text: str, *, shapes: bool = True) -> list[str]:
    """Find planted values, and strings shaped like tokens and seeds, in a text.

    Each is returned by its first characters only: a failure must not show the secret.
    """
    here: set[str] = set()
    for start in range(0, len(text), _CHUNK):
        end = min(start + _CHUNK, len(text) - SHORTEST + 1)
        here |= {text[at : at + SHORTEST] for at in range(start, end)} & _begins.keys()
    leaks = sorted({f[:8] for begin in here for f in _begins[begin] if f in text})
    return leaks + [each.group()[:8] for each in _SHAPE.finditer(text) if shapes]


async def find_tables_with_planted(db: Connection) -> list[str]:
    """Return the tables that hold a planted value in any column of any type."""
    tables = [row["name"] for row in await db.fetch(_TABLES)]
    rows = await db.fetch(_rows_as_text(tables)) if tables else []
    return [row["name"] for row in rows if row["text"] and find_planted(row["text"])]


def _rows_as_text(tables: Sequence[str]) -> str:
    """Build one statement: a row as text shows every column, bytea in hexadecimal."""
    return " UNION ALL ".join(
        f"SELECT '{table}' AS name, (SELECT string_agg(r::text, ' ') FROM {table} AS r) AS text"
        for table in tables
    )


async def check_database(db: Connection) -> None:
    """Check that no table of the database holds a planted value.

    Raises:
        PlantedSecretFound: one does.
    """
    tables = await find_tables_with_planted(db)
    if tables:
        raise PlantedSecretFound(f"a planted secret stands in {', '.join(tables)}")


async def check_database_at(url: str) -> None:
    """As `check_database`, over a connection of its own."""
    async with connected(url) as db:
        await check_database(db)


async def check_server(url: str) -> None:
    """Check that no database of the server holds a planted value; `url` names one of them.

    Raises:
        PlantedSecretFound: one does.
    """
    async with connected(url) as db:
        names = await db.fetch("SELECT datname FROM pg_database WHERE datallowconn")
        current = await db.fetchval("SELECT current_database()")
    for row in names:
        await check_database_at(url.replace(f"/{current}?", f"/{row['datname']}?"))
