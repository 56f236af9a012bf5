"""`farebox migrate`."""

from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.command import run_farebox

RELAYER = Keypair.random().secret


RPC_KEY = "planted-rpc-key-5c1d"


SETTINGS = {
    # nothing listens there: the network is away, and the service lives on
    "FAREBOX_RPC_URL_TESTNET": f"http://127.0.0.1:9/{RPC_KEY}",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
    "FAREBOX_PORT": "0",
    "FAREBOX_SEARCH_SEMANTIC": "off",  # the language model takes a second to load
}


def test_migrate_works_without_network_and_prints_result(
    empty_database_url: Secret[str],
) -> None:
    settings = {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    first = run_farebox("migrate", settings=settings)
    second = run_farebox("migrate", settings=settings)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("applied 0001_")
    assert (second.code, second.out) == (0, "the schema is up to date\n")


async def test_migrate_leaves_database_of_newer_version_unchanged(
    empty_database_url: Secret[str],
) -> None:
    settings = SETTINGS | {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    assert run_farebox("migrate", settings=settings).code == 0
    async with Database(empty_database_url) as database, database.connection() as db:
        await db.execute("INSERT INTO schema_migrations VALUES (9999, 'later', 'x')")
    ran = run_farebox("serve", settings=settings)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1] == (
        "farebox: The schema was not changed: the database is of a newer Farebox "
        "(it has step 9999): upgrade the program."
    )
