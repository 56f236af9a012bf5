"""PgBouncer in transaction mode in front of a test's database server."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from farebox.kernel.secret import Secret
from farebox.local.postgres_folder import server_owner

_START_S: Final = 10.0
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin"


def program() -> str | None:
    """Return the path of the program; None when it is not installed."""
    return shutil.which("pgbouncer", path=_PATH)


@contextmanager
def pgbouncer(url: Secret[str], *, server_connections: int) -> Iterator[Secret[str]]:
    """Start PgBouncer with `server_connections` to the server; yield its URL.

    It gives a server's connection to the client that waits longest, so that two transactions of a
    client rarely get the same one.
    """
    parts = urlsplit(url.reveal())
    (host,) = parse_qs(parts.query)["host"]
    database, owner = parts.path.strip("/"), server_owner()
    with tempfile.TemporaryDirectory(prefix="fbx-bouncer-") as made:
        folder, port = Path(made), _free_port()
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n{database} = host={host} user={parts.username}\n"
            "[pgbouncer]\nlisten_addr = 127.0.0.1\nunix_socket_dir =\n"
            f"listen_port = {port}\nauth_type = any\npool_mode = transaction\n"
            f"default_pool_size = {server_connections}\nmax_client_conn = 200\n"
            "server_round_robin = 1\n"
        )
        owner.take_over(folder)
        owner.take_over(settings)
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(
                [str(program()), str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=owner.uid if owner.is_other else None,
                group=owner.gid if owner.is_other else None,
                extra_groups=[] if owner.is_other else None,
            )
        try:
            _until_listening(port, running, folder / "log")
            yield Secret(f"postgresql://{parts.username}@127.0.0.1:{port}/{database}")
        finally:
            running.kill()
            running.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until_listening(port: int, running: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if running.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer did not start:\n{log.read_text()}") from None
            time.sleep(0.01)
