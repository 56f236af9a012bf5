"""What must never be found again: secrets the tests plant, and the search for them afterwards.

Whatever `planted` is told is looked for in every column of every table of the test databases,
before their rows are deleted and once more at the end of the run, and in everything that the
tests have written: plain, in hexadecimal, in base64 and as JSON escapes it.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Final

import asyncpg

from farebox.storage.pool import Connection

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


class SecretFound(AssertionError):
    """Something planted was written where it must not be."""


def planted(value: str) -> str:
    """The value, which from here on nobody may write down."""
    assert len(value) >= SHORTEST, "too short to be told from chance"
    if value not in _registered:
        _registered.add(value)
        for form in forms_of(value):
            _begins.setdefault(form[:SHORTEST], []).append(form)
    return value


def planted_values() -> int:
    """How many values were planted in this process."""
    return len(_registered)


def forms_of(value: str) -> tuple[str, ...]:
    """Every spelling of a value that is looked for."""
    raw = value.encode()
    shifted = [_base64_core(raw, shift) for shift in range(3)]
    spelled = [value, raw.hex(), *shifted, *(text.translate(_URL_SAFE) for text in shifted)]
    return tuple(dict.fromkeys([*spelled, json.dumps(value)[1:-1]]))


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _base64_core(raw: bytes, shift: int) -> str:
    """What is the same in base64 whatever stands around the value, `shift` bytes before it."""
    padded = b"\0" * shift + raw
    begin = -(-shift * 8 // 6)  # characters that the bytes before it reach into
    whole = len(padded) * 8 // 6  # those behind depend on what follows
    return base64.b64encode(padded).decode()[begin:whole]


def found_in(text: str, *, shapes: bool = True) -> list[str]:
    """What of the planted values, and of the shapes of tokens and seeds, stands in a text.

    Named by its beginning: whoever reads the failure shall not read the secret.
    """
    here: set[str] = set()
    for start in range(0, len(text), _CHUNK):
        end = min(start + _CHUNK, len(text) - SHORTEST + 1)
        here |= {text[at : at + SHORTEST] for at in range(start, end)} & _begins.keys()
    leaks = sorted({f[:8] for begin in here for f in _begins[begin] if f in text})
    return leaks + [each.group()[:8] for each in _SHAPE.finditer(text) if shapes]


async def found_in_database(db: Connection) -> list[str]:
    """The tables in which something planted stands, whatever the column and its type."""
    tables = [row["name"] for row in await db.fetch(_TABLES)]
    rows = await db.fetch(_rows_as_text(tables)) if tables else []
    return [row["name"] for row in rows if row["text"] and found_in(row["text"])]


def _rows_as_text(tables: Sequence[str]) -> str:
    """One statement: a row as text shows every column, bytea in hexadecimal."""
    return " UNION ALL ".join(
        f"SELECT '{table}' AS name, (SELECT string_agg(r::text, ' ') FROM {table} AS r) AS text"
        for table in tables
    )


async def sweep(db: Connection) -> None:
    """No table of the database holds anything planted.

    Raises:
        SecretFound: one does.
    """
    tables = await found_in_database(db)
    if tables:
        raise SecretFound(f"a planted secret stands in {', '.join(tables)}")


async def sweep_at(url: str) -> None:
    """The same, over a connection of its own."""
    db = await asyncpg.connect(url)
    try:
        await sweep(db)
    finally:
        await db.close()


async def sweep_server(url: str) -> None:
    """No database of the server holds anything planted; `url` names one of them.

    Raises:
        SecretFound: one does.
    """
    db = await asyncpg.connect(url)
    try:
        names = await db.fetch("SELECT datname FROM pg_database WHERE datallowconn")
        current = await db.fetchval("SELECT current_database()")
    finally:
        await db.close()
    for row in names:
        await sweep_at(url.replace(f"/{current}?", f"/{row['datname']}?"))
