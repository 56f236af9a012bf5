"""Start and stop a PostgreSQL server of our own, reached by a socket only we can open."""

import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from farebox.kernel.secret import Secret
from farebox.local.parent_death import die_with_parent
from farebox.local.postgres_binaries import BinariesMissing, postgres_binaries
from farebox.local.postgres_folder import (
    PostgresNotStarted,
    advice_for,
    advice_from_output,
    forget_dead_server,
    is_ready,
    make_socket_folder,
    prepare_folder,
)
from farebox.local.process_owner import server_owner

START_DEADLINE_S: Final = 60.0  # crash recovery may come first
STOP_DEADLINE_S: Final = 20.0
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
    """A server that is a child of this process: it stops with it, even when it is killed.

    `data_dir` keeps the cluster between runs. With `is_throwaway` its data is not made safe
    against a crash of the machine. Must be entered on the main thread: the server dies with the
    thread that started it.
    """

    def __init__(self, data_dir: Path, *, is_throwaway: bool = False) -> None:
        self._data_dir = data_dir.absolute()
        self._folder = self._data_dir / "postgres"
        self._cluster = self._folder / "cluster"
        self._is_throwaway = is_throwaway
        self._owner = server_owner()
        self._sockets: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> Secret[str]:
        """How to connect."""
        return Secret(f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self._sockets))}")

    @property
    def process_id(self) -> int | None:
        """The server's, while it runs."""
        return self._server.pid if self._server is not None else None

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BinariesMissing as missing:
            raise PostgresNotStarted(str(missing)) from missing
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
        if not (self._cluster / "PG_VERSION").is_file():
            self._make_cluster(programs)
        forget_dead_server(self._cluster)
        self._sockets = make_socket_folder(self._folder, self._owner)
        self._start(programs)

    def _make_cluster(self, programs: Path) -> None:
        """The cluster gets its name only when it is whole, so half a one is never started."""
        half = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        self._owner.give(half)
        command = [str(programs / "initdb"), "-A", "trust", "-U", SUPERUSER, "--locale=C"]
        command += ["-E", "UTF8", "-D", str(half)] + ["--no-sync"] * self._is_throwaway
        made = subprocess.run(
            command,
            cwd=half,
            env=_environment(half),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            user=self._owner.uid if self._owner.is_other else None,
            group=self._owner.gid if self._owner.is_other else None,
            extra_groups=[] if self._owner.is_other else None,
        )
        if made.returncode != 0:
            shutil.rmtree(half, ignore_errors=True)
            said = made.stdout.decode(errors="replace")
            raise PostgresNotStarted(advice_from_output(said, self._data_dir))
        half.rename(self._cluster)

    def _start(self, programs: Path) -> None:
        settings = _SETTINGS | {"unix_socket_directories": str(self._sockets)}
        if self._is_throwaway:
            settings |= _THROWAWAY
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log_path = self._folder / "server.log"
        with log_path.open("wb") as output, warnings.catch_warnings():
            # From 3.12 on Python warns when a process with threads forks before it runs something
            # in the child. What runs there is one system call, resolved before the fork.
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
                said = log_path.read_text(errors="replace")
                raise PostgresNotStarted(advice_from_output(said, self._data_dir))
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
    """Nothing of ours: no secret and no PG variable reaches the server's environment."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
