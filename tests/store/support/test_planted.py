"""The search for planted secrets finds them: the control of every test that finds none."""

import base64
import json
import secrets
from collections.abc import Callable

import pytest
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.output_check import judge_report
from support.planted_secrets import (
    PlantedSecretFound,
    check_database,
    check_database_at,
    check_server,
    find_planted,
    find_tables_with_planted,
    plant_secret,
)

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


def test_a_planted_value_is_found_in_any_spelling() -> None:
    for spelling in SPELLINGS:
        value = plant_secret(f'{secrets.token_urlsafe(20)}"ü?{secrets.token_urlsafe(9)}')
        text = spelling(value)
        assert len(find_planted(text)) == 1, text
        assert find_planted(secrets.token_urlsafe(200)) == []
        assert value not in str(find_planted(text))


def test_tokens_and_seeds_are_found_by_their_shape_without_planting() -> None:
    token = f"fbx_live_{secrets.token_hex(16)}"
    for text in (f"key {token}.", Keypair.random().secret, f"({Keypair.random().secret})"):
        assert len(find_planted(text)) == 1
    for text in (token[:13], Keypair.random().public_key, f"x{Keypair.random().secret}"):
        assert find_planted(text) == []


COLUMNS = [
    ("text", "$1"),
    ("bytea", "convert_to($1, 'UTF8')"),
    ("jsonb", "jsonb_build_object('a', jsonb_build_array($1::text))"),
    ("text[]", "ARRAY['x', $1]"),
    ("text", "encode(convert_to('ab' || $1, 'UTF8'), 'base64')"),
]


async def test_a_value_in_any_column_of_any_table_is_found(
    database: Database, postgres_url: Secret[str]
) -> None:
    url = postgres_url.reveal()
    value = plant_secret(secrets.token_urlsafe(24))
    async with database.connection() as db:
        assert await find_tables_with_planted(db) == []
        try:
            for column, stored in COLUMNS:
                await db.execute("DROP TABLE IF EXISTS careless")
                await db.execute(f"CREATE TABLE careless (n integer, kept {column})")
                await db.execute(f"INSERT INTO careless SELECT 1, {stored}", value)
                assert await find_tables_with_planted(db) == ["public.careless"], stored
            for search in (check_database(db), check_database_at(url), check_server(url)):
                with pytest.raises(PlantedSecretFound, match=r"public\.careless"):
                    await search
        finally:
            await db.execute("DROP TABLE IF EXISTS careless")


def _report(stream: str, text: str) -> pytest.TestReport:
    return pytest.TestReport(
        "test_id", ("file", 1, "test"), {}, "passed", None, "call", sections=[(stream, text)]
    )


def test_a_test_that_prints_a_planted_value_fails() -> None:
    value = plant_secret(secrets.token_urlsafe(24))
    clean = _report("out", "nothing")
    judge_report(clean)
    assert clean.outcome == "passed"
    leaking = _report("err", f"log: {value}")
    judge_report(leaking)
    assert leaking.outcome == "failed"
    assert value not in str(leaking.longrepr)
