"""`farebox check-settings`."""

from pathlib import Path

import pytest
from stellar_sdk import Keypair

from support.command import run_farebox
from support.console import write_console

RELAYER = Keypair.random().secret


RPC_KEY = "planted-rpc-key-5c1d"


SETTINGS = {
    # nothing listens there: the network is away, and the service lives on
    "FAREBOX_RPC_URL_TESTNET": f"http://127.0.0.1:9/{RPC_KEY}",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
    "FAREBOX_PORT": "0",
    "FAREBOX_SEARCH_SEMANTIC": "off",  # the language model takes a second to load
}


def test_check_settings_prints_verdict_and_no_secret() -> None:
    good = run_farebox("check-settings", settings=SETTINGS | {"FAREBOX_SEARCH_SEMANTIC": "auto"})
    assert good.code == 0
    assert good.out.splitlines()[0] == "The settings are valid."
    assert "stellar:testnet" in good.out
    assert RPC_KEY not in good.out + good.err
    assert RELAYER not in good.out + good.err
    assert "search by words and meaning" in good.out
    assert "callers' connections: 4096 at most" in good.out
    assert "sellers' secrets: none, without a master key" in good.out
    off = run_farebox("check-settings", settings=SETTINGS)
    assert "search by words alone: FAREBOX_SEARCH_SEMANTIC is off" in off.out
    bad = run_farebox("check-settings", settings=SETTINGS | {"FAREBOX_FEE_BPS": "10"})
    assert bad.code == 2
    assert "FAREBOX_FEE_BPS" in bad.err
    nobodys = {"FAREBOX_FACILITATOR_AUTH_TESTNET": "required"}
    for command in ("check-settings", "serve"):
        half = run_farebox(command, settings=SETTINGS | nobodys)
        assert half.code == 2
        assert (
            "  FAREBOX_FACILITATOR_AUTH_TESTNET: open, because no key exists without them"
            in half.err
        )


def test_check_settings_says_whether_there_is_a_console(tmp_path: Path) -> None:
    without = SETTINGS | {"FAREBOX_CONSOLE_DIR": str(tmp_path / "none")}
    ran = run_farebox("check-settings", settings=without)
    assert f"console: none, because {tmp_path}/none has no index.html" in ran.out
    built = SETTINGS | {"FAREBOX_CONSOLE_DIR": str(write_console(tmp_path / "built"))}
    ran = run_farebox("check-settings", settings=built)
    assert "console: 4 files, 3 kB, served at /" in ran.out
    public = built | {"FAREBOX_HOST": "0.0.0.0", "FAREBOX_OPERATOR_KEYS": f"sha256:{'0' * 64}"}
    refused = run_farebox("check-settings", settings=public)
    assert refused.code == 2
    assert "FAREBOX_CONSOLE_DIR: set only with FAREBOX_HOST on a loopback address" in refused.err


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "20 at most"),
        (
            {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"},
            "20 at most; the database does not answer, so its limit is unknown",
        ),
        (
            {
                "FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
                "FAREBOX_DATABASE_POOLER": "transaction",
            },
            "20 at most; PgBouncer shares as many as its default_pool_size among all processes",
        ),
    ],
)
def test_check_settings_prints_connection_count_of_a_process(
    more: dict[str, str], line: str
) -> None:
    ran = run_farebox("check-settings", settings=SETTINGS | more)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"  database connections: {line}")
