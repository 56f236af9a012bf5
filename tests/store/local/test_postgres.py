"""The embedded PostgreSQL: its folder, its users, its end, and the sentences of its failures."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
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
from testing.waiting import until_blocking

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a server as `nobody`")


MODE = 0o711 if os.geteuid() == 0 else 0o700


def _enterable(name: str) -> Path:
    """A new folder that the server's user can enter; only one user can enter pytest's own."""
    folder = Path("/tmp") / f"fbx-{name}-{os.urandom(4).hex()}"
    folder.mkdir(mode=MODE)
    return folder


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """An empty data folder."""
    folder = _enterable("pgtest")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data folder whose server has run once, with characters that a URL and a shell quote."""
    folder = _enterable("pgmade")
    with EmbeddedPostgres(folder / "a b&c=d%41", is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1
    yield folder / "a b&c=d%41"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def used_dir(made: Path, data_dir: Path) -> Path:
    """A data folder whose server has run once: `initdb` takes longer than to copy its work."""
    subprocess.run(["cp", "-a", made / "postgres", data_dir], check=True)
    return data_dir


@pytest.fixture(scope="module")
def running(made: Path) -> Iterator[EmbeddedPostgres]:
    """A throwaway server without guests, started under a umask that forbids nothing."""
    folder = _enterable("pgrun")
    subprocess.run(["cp", "-a", made / "postgres", folder], check=True)
    (folder / "postgres" / "server.log").unlink()  # that of this server is made under the umask
    before = os.umask(0)
    try:
        server = EmbeddedPostgres(folder, is_throwaway=True)
        server.__enter__()
    finally:
        os.umask(before)
    with ExitStack() as stack:
        stack.push(server)
        yield server
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


def test_data_persists_across_runs_and_a_server_that_was_killed(data_dir: Path) -> None:
    """In a folder with characters that a URL and a shell quote.

    Control of the last start: the id in the pid file is that of another process, this one.
    """
    folder = data_dir / "a b&c=d%41"
    with EmbeddedPostgres(folder) as server:
        asyncio.run(_query(server, "CREATE TABLE t AS SELECT 7 AS n"))
        assert asyncio.run(_query(server, "SHOW fsync")) == "on"
        assert asyncio.run(_query(server, "SHOW listen_addresses")) == ""
    server = EmbeddedPostgres(folder)
    server.__enter__()
    assert asyncio.run(_query(server, "SELECT n FROM t")) == 7
    assert server.process_id is not None
    os.kill(server.process_id, signal.SIGKILL)
    server.__exit__(None, None, None)
    pid_file = folder / "postgres" / "cluster" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with EmbeddedPostgres(folder) as server:
        assert asyncio.run(_query(server, "SELECT n FROM t")) == 7


def test_socket_folder_and_log_are_private_under_any_umask(running: EmbeddedPostgres) -> None:
    sockets = _socket_folder(running)
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE((sockets.parent / "server.log").stat().st_mode) == 0o600
    assert asyncio.run(_query(running, "SHOW fsync")) == "off"


def _socket_folder(server: EmbeddedPostgres) -> Path:
    return Path(server.url.reveal().partition("host=")[2])


def test_server_accepts_only_its_own_user(running: EmbeddedPostgres) -> None:
    assert asyncio.run(_query(running, "SELECT current_user")) == "farebox"
    stranger = running.url.reveal().replace("farebox@", "somebody@")
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        asyncio.run(asyncpg.connect(stranger))


def test_start_makes_a_cluster_of_an_earlier_version_private_and_its_end_leaves_no_socket(
    used_dir: Path,
) -> None:
    """Peer authentication holds on a cluster made with `trust`, and its log is no longer open."""
    (used_dir / "postgres" / "cluster" / "pg_hba.conf").write_text("local all all trust\n")
    log = used_dir / "postgres" / "server.log"
    log.chmod(0o644)
    before = os.umask(0)
    try:
        with EmbeddedPostgres(used_dir, is_throwaway=True) as server:
            methods = "SELECT string_agg(auth_method, ' ') FROM pg_hba_file_rules"
            assert asyncio.run(_query(server, methods)) == "peer"
            assert stat.S_IMODE(log.stat().st_mode) == 0o600
            sockets = _socket_folder(server)
            assert sockets.is_dir()
    finally:
        os.umask(before)
    assert not sockets.exists()


CONNECTS = """
import asyncio, os, sys, asyncpg
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
async def main():
    await (await asyncpg.connect(sys.argv[1], timeout=5)).close()
asyncio.run(main())
"""


@is_root
@pytest.mark.parametrize("is_guest", [False, True])
def test_server_refuses_the_user_nobody_unless_it_is_a_guest(
    running: EmbeddedPostgres, postgres_server: EmbeddedPostgres, is_guest: bool
) -> None:
    """The server that the tests share has that guest."""
    server = postgres_server if is_guest else running
    command = [sys.executable, "-c", CONNECTS, server.url.reveal(), str(server_owner().uid)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode == 0) == is_guest, ran.stderr
    if not is_guest:
        assert "Peer authentication failed" in ran.stderr


@is_root
def test_server_started_by_root_runs_as_nobody_without_groups(running: EmbeddedPostgres) -> None:
    status = Path(f"/proc/{running.process_id}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    nobody = server_owner()
    assert set(fields["Uid"].split()) == {str(nobody.uid)}
    assert set(fields["Gid"].split()) == {str(nobody.gid)}
    assert fields["Groups"].split() == []


def test_a_second_server_on_one_folder_is_refused(running: EmbeddedPostgres) -> None:
    data_dir = _socket_folder(running).parents[1]
    with pytest.raises(PostgresNotStarted, match=r"Another Farebox uses .* FAREBOX_DATA_DIR"):
        EmbeddedPostgres(data_dir).__enter__()
    assert asyncio.run(_query(running, "SELECT 1")) == 1


STARTER = """
import sys, time
from pathlib import Path
from farebox.local.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), is_throwaway=True).__enter__()
print(server.process_id, flush=True)
time.sleep(600)
"""


def test_server_ends_with_its_killed_parent_and_the_next_start_recovers(used_dir: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(used_dir)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:
        assert parent.stdout is not None
        server_id = int(parent.stdout.readline())
        assert _is_alive(server_id)
        parent.kill()
    until_blocking(lambda: not _is_alive(server_id))
    with EmbeddedPostgres(used_dir, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1


def test_start_fails_on_an_incomplete_cluster(used_dir: Path) -> None:
    (used_dir / "postgres" / "cluster" / "global" / "pg_control").unlink()
    with pytest.raises(PostgresNotStarted, match="did not start"):
        EmbeddedPostgres(used_dir).__enter__()
    assert not (used_dir / "postgres" / "sockets").exists()


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


def test_server_starts_in_a_folder_with_a_long_path(used_dir: Path) -> None:
    deep = used_dir / ("d" * 90)
    deep.mkdir(mode=MODE)
    (used_dir / "postgres").rename(deep / "postgres")
    with EmbeddedPostgres(deep, is_throwaway=True) as server:
        assert asyncio.run(_query(server, "SELECT 1")) == 1
        sockets = _socket_folder(server)
        assert not sockets.is_relative_to(used_dir)
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
