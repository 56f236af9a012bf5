import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from farebox.local.postgres import EmbeddedPostgres
from farebox.local.postgres_binaries import postgres_binaries
from farebox.local.postgres_folder import (
    PostgresNotStarted,
    advice_for,
    advice_from_output,
    forget_dead_server,
)
from farebox.local.process_owner import ProcessOwner, server_owner

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands a server to nobody")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder the server's user can enter; pytest keeps its own to one user."""
    folder = Path("/tmp") / f"fbx-pgtest-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def _query(server: EmbeddedPostgres, *statements: str) -> object:
    connection = await asyncpg.connect(server.url.reveal())
    try:
        result: object = None
        for statement in statements:
            result = await connection.fetchval(statement)
        return result
    finally:
        await connection.close()


def _is_alive(process_id: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{process_id}/status").read_text()
    except OSError:
        return False


def test_data_is_kept_from_one_run_to_the_next(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        asyncio.run(_query(server, "CREATE TABLE t AS SELECT 7 AS n"))
        assert asyncio.run(_query(server, "SHOW fsync")) == "on"
        assert asyncio.run(_query(server, "SHOW listen_addresses")) == ""
    with EmbeddedPostgres(data_dir) as server:
        assert asyncio.run(_query(server, "SELECT n FROM t")) == 7


def test_a_data_folder_may_have_an_odd_name(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir / "a b&c=d%41", is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1


def test_only_its_owner_and_root_can_reach_the_socket(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        folder = Path(server.url.reveal().partition("host=")[2])
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert asyncio.run(_query(server, "SHOW fsync")) == "off"
    assert not folder.exists()


@is_root
def test_the_server_of_root_runs_as_nobody_without_further_groups(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        status = Path(f"/proc/{server.process_id}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    nobody = server_owner()
    assert set(fields["Uid"].split()) == {str(nobody.uid)}
    assert set(fields["Gid"].split()) == {str(nobody.gid)}
    assert fields["Groups"].split() == []


def test_a_second_server_on_the_same_folder_is_refused_with_advice(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True) as first:
        with pytest.raises(PostgresNotStarted, match=r"Another Farebox uses .* FAREBOX_DATA_DIR"):
            EmbeddedPostgres(data_dir).__enter__()
        assert asyncio.run(_query(first, "SELECT 1")) == 1


STARTER = """
import sys, time
from pathlib import Path
from farebox.local.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), is_throwaway=True).__enter__()
print(server.process_id, flush=True)
time.sleep(600)
"""


def test_a_killed_parent_takes_the_server_with_it_and_the_next_start_recovers(
    data_dir: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(data_dir)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:
        assert parent.stdout is not None
        server_id = int(parent.stdout.readline())
        assert _is_alive(server_id)
        parent.kill()
    deadline = time.monotonic() + 10
    while _is_alive(server_id) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_alive(server_id)
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1


def test_a_server_that_was_killed_itself_leaves_nothing_in_the_way(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.__enter__()
    assert server.process_id is not None
    os.kill(server.process_id, signal.SIGKILL)
    server.__exit__(None, None, None)
    # the id in the pid file was given to somebody else in the meantime: to this process
    pid_file = data_dir / "postgres" / "cluster" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with EmbeddedPostgres(data_dir) as again:
        assert asyncio.run(_query(again, "SELECT 1")) == 1


def test_half_a_cluster_is_never_started(data_dir: Path) -> None:
    cluster = data_dir / "postgres" / "cluster"
    with EmbeddedPostgres(data_dir, is_throwaway=True):
        pass
    (cluster / "global" / "pg_control").unlink()
    with pytest.raises(PostgresNotStarted, match="did not start"):
        EmbeddedPostgres(data_dir).__enter__()
    assert not (data_dir / "postgres" / "sockets").exists()


def test_a_data_folder_that_is_a_file_is_explained(data_dir: Path) -> None:
    path = data_dir / "file"
    path.write_text("")
    with pytest.raises(PostgresNotStarted, match="FAREBOX_DATA_DIR"):
        EmbeddedPostgres(path).__enter__()


@is_root
def test_a_folder_that_nobody_cannot_enter_is_explained_and_left_as_it_is(data_dir: Path) -> None:
    data_dir.chmod(0o700)
    with pytest.raises(PostgresNotStarted, match=r"cannot enter .* FAREBOX_DATA_DIR"):
        EmbeddedPostgres(data_dir).__enter__()
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


def test_programs_that_the_owner_cannot_reach_are_copied_once(data_dir: Path) -> None:
    class Shut(ProcessOwner):
        def can_enter(self, folder: Path) -> bool:
            return False

    owner = Shut(os.geteuid(), os.getegid())
    programs = postgres_binaries(owner, data_dir)
    assert programs.is_relative_to(data_dir)
    run = subprocess.run([programs / "postgres", "--version"], capture_output=True, check=True)
    assert b"PostgreSQL" in run.stdout
    before = programs.stat().st_ctime_ns
    assert postgres_binaries(owner, data_dir) == programs
    assert programs.stat().st_ctime_ns == before


def test_a_data_folder_with_a_long_path_does_not_break_the_socket(data_dir: Path) -> None:
    deep = data_dir / ("d" * 90)
    with EmbeddedPostgres(deep, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1
        sockets = Path(server.url.reveal().partition("host=")[2])
        assert not sockets.is_relative_to(data_dir)
    assert not sockets.exists()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("initdb: error: write: No space left on device", "The disk that holds"),
        ("FATAL:  could not open file: Permission denied", "cannot be written"),
        ("FATAL:  database files are incompatible with server", "another version"),
        ("LOG: x\nFATAL:  something odd\n", "it said: FATAL:  something odd"),
        ("", "it said nothing"),
    ],
)
def test_what_a_program_said_becomes_one_sentence(said: str, advice: str) -> None:
    sentence = advice_from_output(said, Path("/data"))
    assert advice in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("code", "advice"),
    [(28, "is full"), (30, "cannot be written"), (13, "cannot be written"), (20, "not a folder")],
)
def test_a_refusal_of_the_system_becomes_one_sentence(code: int, advice: str) -> None:
    assert advice in advice_for(OSError(code, "x"), Path("/data"))


def test_no_pid_file_is_nothing_to_forget(tmp_path: Path) -> None:
    forget_dead_server(tmp_path)
    assert list(tmp_path.iterdir()) == []
