import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.command import run_farebox, start_farebox
from support.promises import case

RELAYER = Keypair.random().secret
RPC_KEY = "planted-rpc-key-5c1d"
SETTINGS = {
    # nobody listens there: the network is away, and the service lives on
    "FAREBOX_RPC_URL_TESTNET": f"http://127.0.0.1:9/{RPC_KEY}",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
    "FAREBOX_PORT": "0",
}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Short and enterable by the database's user, which pytest's own folders are not."""
    folder = Path("/tmp") / f"fbx-serve-{os.urandom(4).hex()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(settings: dict[str, str], tmp_path: Path) -> Iterator[tuple[Any, str]]:
    errors = tmp_path / "stderr"
    with start_farebox("serve", settings=settings, errors=errors) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, errors.read_text()
            said = json.loads(line)
            assert set(said) == {"event", "url", "networks"}
            assert said["event"] == "listening"
            yield process, said["url"]
        finally:
            if process.poll() is None:
                process.kill()


def _get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def _stop(process: "subprocess.Popen[str]", number: int) -> int:
    process.send_signal(number)
    return process.wait(20)


@case("AU-043")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_from_nothing_and_ends_in_order_when_told_to(
    number: int, data_dir: Path, tmp_path: Path
) -> None:
    log = tmp_path / "farebox.log"
    settings = SETTINGS | {"FAREBOX_DATA_DIR": str(data_dir), "FAREBOX_LOG_FILE": str(log)}
    with _serving(settings, tmp_path) as (process, url):
        assert _get(f"{url}/health/live") == (200, {"status": "ok"})
        status, body = _get(f"{url}/health/ready")
        assert status == 503
        assert body["parts"]["database"] == {"status": "ok"}
        assert body["parts"]["stellar:testnet"]["status"] == "unavailable"
        assert body["parts"]["stellar:testnet"]["reasons"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{url}/docs", timeout=10)
        with refused.value as answer:
            assert (answer.code, answer.headers["server"]) == (404, None), "no page, no product"
        assert _stop(process, number) == 0
    assert not list((data_dir / "postgres" / "cluster").glob("postmaster.pid"))
    written = log.read_text() + (tmp_path / "stderr").read_text()
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events[0] == "schema.migrated"
    assert events[-1] == "service.stopped"
    assert events.count("request") == 3
    for planted in (RELAYER, RPC_KEY):
        assert planted not in written


def test_a_killed_service_leaves_no_database_behind_and_starts_again(
    data_dir: Path, tmp_path: Path
) -> None:
    settings = SETTINGS | {"FAREBOX_DATA_DIR": str(data_dir)}
    with _serving(settings, tmp_path) as (process, _):
        pid_file = data_dir / "postgres" / "cluster" / "postmaster.pid"
        server_id = int(pid_file.read_text().splitlines()[0])
        process.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{server_id}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{server_id}").exists()
    with _serving(settings, tmp_path) as (process, url):
        assert _get(f"{url}/health/live") == (200, {"status": "ok"})
        assert _stop(process, signal.SIGTERM) == 0


def test_a_named_database_is_migrated_and_used(
    empty_database_url: Secret[str], tmp_path: Path
) -> None:
    settings = SETTINGS | {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    with _serving(settings, tmp_path) as (process, url):
        _, body = _get(f"{url}/health/ready")
        assert body["parts"]["database"] == {"status": "ok"}
        assert _stop(process, signal.SIGTERM) == 0


def test_a_request_under_way_is_answered_before_the_service_ends(
    empty_database_url: Secret[str], tmp_path: Path
) -> None:
    settings = SETTINGS | {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    with _serving(settings, tmp_path) as (process, url):
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            _get(f"{url}/health/live")  # by now the one before has begun
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            connection.sendall(b"}")
            assert b"HTTP/1.1 200" in connection.recv(65536)
        assert process.wait(20) == 0


def test_a_port_that_is_taken_is_one_sentence_and_no_database_is_made(data_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        settings = SETTINGS | {"FAREBOX_PORT": port, "FAREBOX_DATA_DIR": str(data_dir)}
        ran = run_farebox("serve", settings=settings)
    assert (ran.code, ran.out) == (2, "")
    sentence = "is taken: stop what uses it, or set FAREBOX_PORT to another."
    assert ran.err == f"farebox: Port {port} on 127.0.0.1 {sentence}\n"
    assert not data_dir.exists()


def test_faults_of_the_settings_end_it_before_it_listens() -> None:
    settings = SETTINGS | {"FAREBOX_HOST": "0.0.0.0", "FAREBOX_PAYMASTER_SECRET_TESTNET": RELAYER}
    ran = run_farebox("serve", settings=settings)
    assert (ran.code, ran.out) == (2, "")
    lines = ran.err.splitlines()
    assert lines[0] == "farebox: 2 settings must be changed:"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "FAREBOX_HOST",
        "FAREBOX_PAYMASTER_SECRET_TESTNET",
    ]
    assert RELAYER not in ran.err


def test_a_database_that_is_away_is_one_sentence_without_its_address() -> None:
    url = "postgresql://user:planted-password@127.0.0.1:9/x"
    ran = run_farebox("serve", settings=SETTINGS | {"FAREBOX_DATABASE_URL": url})
    last = ran.err.splitlines()[-1]
    assert (ran.code, ran.out) == (1, "")
    assert last.startswith("farebox: The database did not answer")
    assert last.endswith("start it, or correct FAREBOX_DATABASE_URL.")
    assert "planted" not in ran.err


@pytest.mark.parametrize(
    ("name", "value"),
    [("FAREBOX_LOG_FILE", "/proc/no/farebox.log"), ("FAREBOX_DATA_DIR", "/proc/no")],
)
def test_a_place_that_cannot_be_written_is_one_sentence_that_names_its_setting(
    name: str, value: str
) -> None:
    ran = run_farebox("serve", settings=SETTINGS | {name: value})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("farebox: ")
    assert name in ran.err
    assert "Traceback" not in ran.err


def test_migrate_works_without_a_network_and_says_what_it_did(
    empty_database_url: Secret[str],
) -> None:
    settings = {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    first = run_farebox("migrate", settings=settings)
    second = run_farebox("migrate", settings=settings)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("applied 0001_")
    assert (second.code, second.out) == (0, "the schema is up to date\n")


async def test_a_database_of_a_newer_version_is_left_as_it_is(
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


def test_check_settings_gives_its_verdict_and_shows_no_value() -> None:
    good = run_farebox("check-settings", settings=SETTINGS)
    assert good.code == 0
    assert good.out.splitlines()[0] == "The settings can be served."
    assert "stellar:testnet" in good.out
    assert RPC_KEY not in good.out + good.err
    assert RELAYER not in good.out + good.err
    assert "search by words and meaning" in good.out
    assert "sellers' secrets: none, without a master key" in good.out
    off = run_farebox("check-settings", settings=SETTINGS | {"FAREBOX_SEARCH_SEMANTIC": "off"})
    assert "search by words alone: FAREBOX_SEARCH_SEMANTIC is off" in off.out
    bad = run_farebox("check-settings", settings=SETTINGS | {"FAREBOX_FEE_BPS": "10"})
    assert bad.code == 2
    assert "FAREBOX_FEE_BPS" in bad.err
    nobodys = {"FAREBOX_FACILITATOR_AUTH_TESTNET": "required"}
    for command in ("check-settings", "serve"):
        half = run_farebox(command, settings=SETTINGS | nobodys)
        assert half.code == 2
        assert "  FAREBOX_FACILITATOR_AUTH_TESTNET: open, as nobody could have the key" in half.err


def test_the_command_explains_itself() -> None:
    assert run_farebox("--version", settings={}).out.startswith("farebox")
    shown = run_farebox("serve", "--help", settings={})
    assert shown.code == 0
    assert "--port" in shown.out
    unknown = run_farebox("no-such-command", settings={})
    assert unknown.code == 2
    assert "No such command" in unknown.err
