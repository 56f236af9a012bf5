"""Commands that only read neither create nor migrate a database."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from farebox.cli.main import command
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.vault import NEW


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAREBOX_MASTER_KEYS", "FAREBOX_CONFIG", "FAREBOX_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("reading", "writing"),
    [
        (["vault", "status"], ["vault", "rekey"]),
        (
            ["sponsor", "status", "--network", "testnet"],
            ["sponsor", "start", "--network", "testnet"],
        ),
    ],
)
async def test_a_read_only_command_does_not_migrate_the_database(
    empty_database_url: Secret[str], reading: list[str], writing: list[str]
) -> None:
    settings = {"FAREBOX_DATABASE_URL": empty_database_url.reveal(), "FAREBOX_MASTER_KEYS": NEW}
    runner = CliRunner(env=settings)

    async def tables() -> int:
        async with (
            Database(empty_database_url, connections=1) as database,
            database.connection() as db,
        ):
            found: int = await db.fetchval(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            )
        return found

    ran = await asyncio.to_thread(runner.invoke, command, reading)
    assert ran.exit_code == 2
    assert "run farebox migrate" in ran.stderr
    assert await tables() == 0
    ran = await asyncio.to_thread(runner.invoke, command, writing)
    assert ran.exit_code == 0, ran.output
    assert await tables() > 0
    ran = await asyncio.to_thread(runner.invoke, command, reading)
    assert ran.exit_code == 0, ran.output


async def test_a_read_only_command_does_not_create_a_database(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    runner = CliRunner(env={"FAREBOX_DATA_DIR": str(folder)})
    ran = await asyncio.to_thread(runner.invoke, command, ["vault", "status"])
    assert ran.exit_code == 2
    assert "There is no database in" in ran.stderr
    assert not folder.exists()
