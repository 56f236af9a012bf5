"""`farebox serve` as a process: its start, its end and its refusals."""

import asyncio
import json
import os
import shutil
import signal
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.command import DEADLINE_S, first_line, fork_farebox, run_farebox, start_farebox
from support.promises import case
from testing.waiting import until_blocking

RELAYER = Keypair.random().secret


RPC_KEY = "planted-rpc-key-5c1d"


SETTINGS = {
    # nothing listens there: the network is away, and the service lives on
    "FAREBOX_RPC_URL_TESTNET": f"http://127.0.0.1:9/{RPC_KEY}",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
    "FAREBOX_PORT": "0",
    "FAREBOX_SEARCH_SEMANTIC": "off",  # the language model takes a second to load
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
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, errors.read_text()
        yield process, _announced(line)


@contextmanager
def _forked(settings: dict[str, str], tmp_path: Path) -> Iterator[tuple[BaseProcess, str]]:
    """The same, without the seconds that its imports take."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    out, err = folder / "out", folder / "err"
    process = fork_farebox("serve", settings=settings, out=out, err=err)
    try:
        line = until_blocking(lambda: first_line(process, out, err), DEADLINE_S)
        yield process, _announced(line)
    finally:
        process.kill()
        process.join()


def _announced(line: str) -> str:
    event = json.loads(line)
    assert set(event) == {"event", "url", "networks"}
    assert event["event"] == "listening"
    return str(event["url"])


def _get(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def _stop(process: BaseProcess, number: int) -> int | None:
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(20)
    return process.exitcode


@case("AU-043")
def test_serve_creates_database_and_stops_on_signal(data_dir: Path, tmp_path: Path) -> None:
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
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not list((data_dir / "postgres" / "cluster").glob("postmaster.pid"))
    written = log.read_text() + (tmp_path / "stderr").read_text()
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events[0] == "schema.migrated"
    assert events[-1] == "service.stopped"
    assert events.count("request") == 3
    for planted in (RELAYER, RPC_KEY):
        assert planted not in written


def test_serve_leaves_no_database_server_when_killed_and_restarts(
    data_dir: Path, tmp_path: Path
) -> None:
    settings = SETTINGS | {"FAREBOX_DATA_DIR": str(data_dir)}
    pid_file = data_dir / "postgres" / "cluster" / "postmaster.pid"
    with _forked(settings, tmp_path) as (process, _):
        server_id = int(pid_file.read_text().splitlines()[0])
        process.kill()
    until_blocking(lambda: not Path(f"/proc/{server_id}").exists())
    log = tmp_path / "farebox.log"
    with _forked(settings | {"FAREBOX_LOG_FILE": str(log)}, tmp_path) as (process, url):
        assert _get(f"{url}/health/live") == (200, {"status": "ok"})
        assert _stop(process, signal.SIGINT) == 0
    assert not pid_file.exists()
    assert json.loads(log.read_text().splitlines()[-1])["event"] == "service.stopped"


def test_serve_migrates_configured_database_and_answers_request_in_progress_before_it_stops(
    empty_database_url: Secret[str], tmp_path: Path
) -> None:
    settings = SETTINGS | {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    with _forked(settings, tmp_path) as (process, url):
        _, body = _get(f"{url}/health/ready")
        assert body["parts"]["database"] == {"status": "ok"}
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(
                b"POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{"
            )
            _get(f"{url}/health/live")  # by now the one before has begun
            process.terminate()
            until_blocking(lambda: _is_refused(port))
            connection.sendall(b"}")
            assert b"HTTP/1.1 200" in connection.recv(65536)
        process.join(20)
        assert process.exitcode == 0


def test_serve_prints_one_sentence_and_creates_no_database_when_port_is_in_use(
    data_dir: Path,
) -> None:
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


def test_serve_exits_before_listening_when_settings_are_invalid() -> None:
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


def test_serve_prints_one_sentence_without_address_when_database_is_unavailable() -> None:
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
def test_serve_names_setting_of_path_that_cannot_be_written(name: str, value: str) -> None:
    ran = run_farebox("serve", settings=SETTINGS | {name: value})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("farebox: ")
    assert name in ran.err
    assert "Traceback" not in ran.err


async def test_serve_exits_when_pools_exceed_database_connection_limit(
    empty_database_url: Secret[str],
) -> None:
    settings = SETTINGS | {"FAREBOX_DATABASE_URL": empty_database_url.reveal()}
    async with Database(empty_database_url) as database, database.connection() as db:
        name = await db.fetchval("SELECT current_database()")
        await db.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 19")
        for command in ("serve", "check-settings"):
            refused = await asyncio.to_thread(run_farebox, command, settings=settings)
            assert (refused.code, refused.out) == (2, "")
            assert refused.err.splitlines()[-1] == (
                "farebox: The database has 19 connections for this role and the process may take "
                "20: lower FAREBOX_DATABASE_CONNECTIONS_MONEY, _READS or _BACKGROUND, or raise "
                "the server's max_connections."
            )
        fewer = settings | {"FAREBOX_DATABASE_CONNECTIONS_READS": "4"}
        fits = await asyncio.to_thread(run_farebox, "check-settings", settings=fewer)
        assert fits.code == 0
        line = "  database connections: 19 at most; room for this process only"
        assert line in fits.out.splitlines()


def test_command_prints_help() -> None:
    assert run_farebox("--version", settings={}).out.startswith("farebox")
    shown = run_farebox("serve", "--help", settings={})
    assert shown.code == 0
    assert "--port" in shown.out
    unknown = run_farebox("no-such-command", settings={})
    assert unknown.code == 2
    assert "No such command" in unknown.err


def _is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    return False
