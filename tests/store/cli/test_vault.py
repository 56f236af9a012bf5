"""`farebox vault` on a real database."""

import asyncio
import json
import re

import pytest
from click.testing import CliRunner, Result

from farebox.cli.main import command
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.planted_secrets import find_planted
from support.vault import NEW, OLD, another_key, new_owner, random_value, vault_replica

NOT_OLD, NOT_NEW = another_key(1), another_key(2)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAREBOX_MASTER_KEYS", "FAREBOX_CONFIG", "FAREBOX_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


async def vault(*arguments: str, url: Secret[str], keys: str | None = None) -> Result:
    settings = {"FAREBOX_DATABASE_URL": url.reveal(), "FAREBOX_MASTER_KEYS": keys}
    runner = CliRunner(env=settings)
    ran = await asyncio.to_thread(runner.invoke, command, ["vault", *arguments])
    assert find_planted(ran.output) == []
    return ran


async def keep_secrets(database: Database, count: int, *entries: str) -> None:
    for _ in range(count):
        await vault_replica(database, *entries).keep(new_owner(), random_value())


async def test_vault_rekey_moves_all_secrets_to_the_new_master_key(
    database: Database, postgres_url: Secret[str]
) -> None:
    await keep_secrets(database, 5, OLD)
    before = await vault("status", url=postgres_url, keys=f"{NEW},{OLD}")
    assert before.exit_code == 0, before.output
    assert [line.split() for line in before.stdout.splitlines()] == [
        ["version", "2", "seals", "0", "secrets"],
        ["version", "1", "opens", "5", "secrets"],
    ]
    done = await vault("rekey", "--batch", "2", "--json", url=postgres_url, keys=f"{NEW},{OLD}")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"version": 2, "resealed": 5, "left": 0, "unreadable": []}
    assert done.stderr.splitlines() == [f"vault: {n} of 5 re-sealed" for n in (2, 4, 5)]
    after = await vault("status", "--json", url=postgres_url, keys=NEW)
    assert after.exit_code == 0
    assert json.loads(after.stdout) == {
        "sealing": 2,
        "versions": [{"version": 2, "key": "seals", "secrets": 5}],
    }
    again = await vault("rekey", url=postgres_url, keys=NEW)
    assert (again.exit_code, again.stdout) == (0, "0 secrets were re-sealed with version 2\n")


async def test_vault_exits_with_three_when_a_needed_key_is_missing(
    database: Database, postgres_url: Secret[str]
) -> None:
    await keep_secrets(database, 2, OLD)
    await keep_secrets(database, 1, NEW)
    for keys in (NEW, None):
        ran = await vault("status", url=postgres_url, keys=keys)
        assert ran.exit_code == 3
        assert "missing" in ran.stdout
        assert "FAREBOX_MASTER_KEYS has no key of version 1" in ran.stderr
    ran = await vault("rekey", "--json", url=postgres_url, keys=NEW)
    assert ran.exit_code == 3
    report = json.loads(ran.stdout)
    assert (report["resealed"], report["left"], len(report["unreadable"])) == (0, 2, 2)
    assert all(secret_id in ran.stderr for secret_id in report["unreadable"])


async def _stored(database: Database) -> list[tuple[object, ...]]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT id, key_version, nonce, sealed FROM vault_secrets ORDER BY 1")
    return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("set_keys", "version", "states"),
    [
        ((NOT_OLD,), 1, {2: "missing", 1: "wrong"}),
        ((NEW, NOT_OLD), 1, {2: "seals", 1: "wrong"}),
        ((NOT_NEW, OLD), 2, {2: "wrong", 1: "opens"}),
    ],
)
async def test_vault_rekey_changes_nothing_when_a_version_has_the_wrong_key(
    database: Database,
    postgres_url: Secret[str],
    set_keys: tuple[str, ...],
    version: int,
    states: dict[int, str],
) -> None:
    await keep_secrets(database, 2, OLD)
    await keep_secrets(database, 1, NEW)
    before = await _stored(database)
    ran = await vault("rekey", "--json", url=postgres_url, keys=",".join(set_keys))
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert (
        f"The master key of version {version} in FAREBOX_MASTER_KEYS is not the key" in ran.stderr
    )
    assert await _stored(database) == before
    ran = await vault("status", "--json", url=postgres_url, keys=",".join(set_keys))
    assert ran.exit_code == 3
    shown = json.loads(ran.stdout)["versions"]
    assert {each["version"]: each["key"] for each in shown} == states
    assert f"version {version} in FAREBOX_MASTER_KEYS is not the key" in ran.stderr
    assert ("FAREBOX_MASTER_KEYS has no key" in ran.stderr) is ("missing" in states.values())


async def test_vault_rekey_continues_past_a_damaged_secret(
    database: Database, postgres_url: Secret[str]
) -> None:
    await keep_secrets(database, 3, OLD)
    async with database.connection() as db:
        damaged = await db.fetchval("SELECT min(id) FROM vault_secrets")
        await db.execute("UPDATE vault_secrets SET sealed = '\\x00' WHERE id = $1", damaged)
    assert (await vault("status", url=postgres_url, keys=f"{NEW},{OLD}")).exit_code == 0
    ran = await vault("rekey", "--json", url=postgres_url, keys=f"{NEW},{OLD}")
    assert ran.exit_code == 3
    report = json.loads(ran.stdout)
    assert (report["resealed"], report["unreadable"]) == (2, [damaged])


async def test_vault_exits_with_two_on_invalid_settings_and_one_on_an_outage(
    database: Database, postgres_url: Secret[str]
) -> None:
    ran = await vault("rekey", url=postgres_url)
    assert ran.exit_code == 2
    assert "farebox vault new-key" in ran.stderr
    ran = await vault("status", url=postgres_url, keys=OLD[:-4])
    assert ran.exit_code == 2
    away = Secret("postgresql:///none?host=/nowhere")
    assert (await vault("status", url=away, keys=OLD)).exit_code == 1


async def test_vault_new_key_prints_a_valid_setting(postgres_url: Secret[str]) -> None:
    first = await vault("new-key", url=postgres_url)
    setting = re.fullmatch(r"FAREBOX_MASTER_KEYS=(1:[A-Za-z0-9+/]{43}=)\n", first.stdout)
    assert setting
    second = await vault("new-key", url=postgres_url, keys=setting.group(1))
    assert re.fullmatch(r"2:[A-Za-z0-9+/]{43}=\n", second.stdout)
    assert setting.group(1) not in second.output
    both = f"{setting.group(1)},{second.stdout.strip()}"
    assert (await vault("new-key", url=postgres_url, keys=both)).stdout.startswith("3:")
