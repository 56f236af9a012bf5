"""The search for planted secrets finds what is planted: without that its silence says nothing."""

import base64
import json
import secrets
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.planted import (
    SecretFound,
    found_in,
    found_in_database,
    planted,
    sweep,
    sweep_at,
    sweep_server,
)
from support.searched_output import judge_report

SPELLINGS: list[Callable[[str], str]] = [
    str,
    lambda value: f"before{value}behind",
    lambda value: value.encode().hex(),
    lambda value: base64.b64encode(value.encode()).decode(),
    lambda value: base64.b64encode(f"a{value}".encode()).decode(),
    lambda value: base64.b64encode(f"ab{value}c".encode()).decode(),
    lambda value: base64.urlsafe_b64encode(f"{value}more".encode()).decode(),
    lambda value: json.dumps({"value": value}),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_planted_value_is_found_in_any_spelling(spelling: Callable[[str], str]) -> None:
    value = planted(f'{secrets.token_urlsafe(20)}"ü?{secrets.token_urlsafe(9)}')
    text = spelling(value)
    assert len(found_in(text)) == 1
    assert found_in(secrets.token_urlsafe(200)) == []
    assert value not in str(found_in(text))


def test_a_token_and_a_seed_are_found_by_their_shape_though_nobody_planted_them() -> None:
    token = f"fbx_live_{secrets.token_hex(16)}"
    for text in (f"key {token}.", Keypair.random().secret, f"({Keypair.random().secret})"):
        assert len(found_in(text)) == 1
    for text in (token[:13], Keypair.random().public_key, f"x{Keypair.random().secret}"):
        assert found_in(text) == []


@pytest.mark.parametrize(
    ("column", "stored"),
    [
        ("text", "$1"),
        ("bytea", "convert_to($1, 'UTF8')"),
        ("jsonb", "jsonb_build_object('a', jsonb_build_array($1::text))"),
        ("text[]", "ARRAY['x', $1]"),
        ("text", "encode(convert_to('ab' || $1, 'UTF8'), 'base64')"),
    ],
)
async def test_a_value_in_any_column_of_any_table_is_found(
    database: Database, postgres_url: Secret[str], column: str, stored: str
) -> None:
    url = postgres_url.reveal()
    value = planted(secrets.token_urlsafe(24))
    async with database.connection() as db:
        assert await found_in_database(db) == []
        await db.execute(f"CREATE TABLE careless (n integer, kept {column})")
        try:
            await db.execute(f"INSERT INTO careless SELECT 1, {stored}", value)
            assert await found_in_database(db) == ["public.careless"]
            for search in (sweep(db), sweep_at(url), sweep_server(url)):
                with pytest.raises(SecretFound, match=r"public\.careless"):
                    await search
        finally:
            await db.execute("DROP TABLE careless")


def test_what_a_test_printed_fails_it() -> None:
    value = planted(secrets.token_urlsafe(24))
    quiet = SimpleNamespace(outcome="passed", longrepr=None, sections=[("out", "nothing")])
    judge_report(quiet)
    assert quiet.outcome == "passed"
    loud = SimpleNamespace(outcome="passed", longrepr=None, sections=[("err", f"log: {value}")])
    judge_report(loud)
    assert loud.outcome == "failed"
    assert value not in str(loud.longrepr)
