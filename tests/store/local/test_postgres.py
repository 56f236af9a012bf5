"""The embedded PostgreSQL: its folder, its users, its end, and the sentences of its failures."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from farebox.local.postgres import EmbeddedPostgres, postgres_binaries
from farebox.local.postgres_folder import (
    PostgresNotStarted,
    ProcessOwner,
    advice_for,
    advice_from_output,
    remove_stale_pid_file,
    server_owner,
)
from support.waiting import until_blocking

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a server as `nobody`")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder that the server's user can enter; only one user can enter pytest's own."""
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


def test_data_persists_across_runs(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        asyncio.run(_query(server, "CREATE TABLE t AS SELECT 7 AS n"))
        assert asyncio.run(_query(server, "SHOW fsync")) == "on"
        assert asyncio.run(_query(server, "SHOW listen_addresses")) == ""
    with EmbeddedPostgres(data_dir) as server:
        assert asyncio.run(_query(server, "SELECT n FROM t")) == 7


def test_server_starts_in_a_folder_with_special_characters(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir / "a b&c=d%41", is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1


def test_socket_folder_is_accessible_to_owner_and_root_only(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        folder = Path(server.url.reveal().partition("host=")[2])
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert asyncio.run(_query(server, "SHOW fsync")) == "off"
    assert not folder.exists()


def test_server_accepts_only_its_own_user_and_guests(data_dir: Path) -> None:
    """Peer authentication holds, also on a cluster that was made with `trust`."""
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT current_user")) == "farebox"
        stranger = server.url.reveal().replace("farebox@", "somebody@")
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            asyncio.run(asyncpg.connect(stranger))
    (data_dir / "postgres" / "cluster" / "pg_hba.conf").write_text("local all all trust\n")
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        methods = "SELECT string_agg(auth_method, ' ') FROM pg_hba_file_rules"
        rules = asyncio.run(_query(server, methods))
    assert rules == "peer"


CONNECTS = """
import asyncio, os, sys, asyncpg
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
async def main():
    await (await asyncpg.connect(sys.argv[1], timeout=5)).close()
asyncio.run(main())
"""


@is_root
@pytest.mark.parametrize("guests", [[], ["nobody"]])
def test_server_refuses_the_user_nobody_unless_it_is_a_guest(
    data_dir: Path, guests: list[str]
) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True, guests=guests) as server:
        command = [sys.executable, "-c", CONNECTS, server.url.reveal(), str(server_owner().uid)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode == 0) == bool(guests), ran.stderr
    if not guests:
        assert "Peer authentication failed" in ran.stderr


def test_server_log_is_private_under_any_umask(data_dir: Path) -> None:
    before = os.umask(0)
    try:
        with EmbeddedPostgres(data_dir, is_throwaway=True):
            log = data_dir / "postgres" / "server.log"
            assert stat.S_IMODE(log.stat().st_mode) == 0o600
        log.chmod(0o644)  # as an earlier version left it
        with EmbeddedPostgres(data_dir, is_throwaway=True):
            assert stat.S_IMODE(log.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@is_root
def test_server_started_by_root_runs_as_nobody_without_groups(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        status = Path(f"/proc/{server.process_id}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    nobody = server_owner()
    assert set(fields["Uid"].split()) == {str(nobody.uid)}
    assert set(fields["Gid"].split()) == {str(nobody.gid)}
    assert fields["Groups"].split() == []


def test_a_second_server_on_one_folder_is_refused(data_dir: Path) -> None:
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


def test_server_ends_with_its_killed_parent_and_the_next_start_recovers(
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
    until_blocking(lambda: not _is_alive(server_id))
    with EmbeddedPostgres(data_dir, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1


def test_start_succeeds_after_the_server_was_killed(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.__enter__()
    assert server.process_id is not None
    os.kill(server.process_id, signal.SIGKILL)
    server.__exit__(None, None, None)
    # the id in the pid file now belongs to another process: this one
    pid_file = data_dir / "postgres" / "cluster" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with EmbeddedPostgres(data_dir) as again:
        assert asyncio.run(_query(again, "SELECT 1")) == 1


def test_start_fails_on_an_incomplete_cluster(data_dir: Path) -> None:
    cluster = data_dir / "postgres" / "cluster"
    with EmbeddedPostgres(data_dir, is_throwaway=True):
        pass
    (cluster / "global" / "pg_control").unlink()
    with pytest.raises(PostgresNotStarted, match="did not start"):
        EmbeddedPostgres(data_dir).__enter__()
    assert not (data_dir / "postgres" / "sockets").exists()


def test_start_explains_a_data_folder_that_is_a_file(data_dir: Path) -> None:
    path = data_dir / "file"
    path.write_text("")
    with pytest.raises(PostgresNotStarted, match="FAREBOX_DATA_DIR"):
        EmbeddedPostgres(path).__enter__()


@is_root
def test_start_explains_a_folder_that_the_user_nobody_cannot_enter(data_dir: Path) -> None:
    data_dir.chmod(0o700)
    with pytest.raises(PostgresNotStarted, match=r"cannot enter .* FAREBOX_DATA_DIR"):
        EmbeddedPostgres(data_dir).__enter__()
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


def test_programs_unreachable_for_the_owner_are_copied_once(data_dir: Path) -> None:
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


def test_server_starts_in_a_folder_with_a_long_path(data_dir: Path) -> None:
    deep = data_dir / ("d" * 90)
    with EmbeddedPostgres(deep, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1
        sockets = Path(server.url.reveal().partition("host=")[2])
        assert not sockets.is_relative_to(data_dir)
    assert not sockets.exists()


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("initdb: error: write: No space left on device", "The disk that holds"),
        ("FATAL:  could not open file: Permission denied", "cannot be written"),
        ("FATAL:  database files are incompatible with server", "another version"),
        ("LOG: x\nFATAL:  something odd\n", "did not start: FATAL:  something odd"),
        ("", "no output"),
    ],
)
def test_program_output_becomes_one_sentence(output: str, advice: str) -> None:
    sentence = advice_from_output(output, Path("/data"))
    assert advice in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("code", "advice"),
    [(28, "is full"), (30, "cannot be written"), (13, "cannot be written"), (20, "not a folder")],
)
def test_os_error_becomes_one_sentence(code: int, advice: str) -> None:
    assert advice in advice_for(OSError(code, "x"), Path("/data"))


def test_removing_a_missing_pid_file_does_nothing(tmp_path: Path) -> None:
    remove_stale_pid_file(tmp_path)
    assert list(tmp_path.iterdir()) == []
