"""The folder of an embedded server: prepare it, read its state, explain what is wrong with it."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

from farebox.local.process_owner import ProcessOwner

SOCKET_PATH_LIMIT: Final = 107  # bytes of a socket's path, on every system we run on
_SOCKET_NAME: Final = "/.s.PGSQL.5432"
_READY_LINE: Final = 7  # of postmaster.pid, counted from 0


class PostgresNotStarted(Exception):
    """The embedded server does not run; the text says in one sentence what to do."""


def prepare_folder(data_dir: Path, folder: Path, owner: ProcessOwner) -> None:
    """`folder` exists below `data_dir` and the server's owner can enter it.

    Raises:
        PostgresNotStarted: it cannot; a folder that was there before keeps its permissions.
    """
    for each in (data_dir, folder):
        if not each.exists():
            each.mkdir(parents=True)
            each.chmod(0o711 if owner.is_other else 0o700)
    if not owner.can_enter(folder):
        raise PostgresNotStarted(
            f"The database runs as the user nobody, who cannot enter {folder}: "
            "set FAREBOX_DATA_DIR to a folder everybody may enter, such as /var/lib/farebox."
        )
    cluster = folder / "cluster"
    if cluster.exists() and cluster.stat().st_uid != owner.uid:
        raise PostgresNotStarted(
            f"The database in {data_dir} belongs to another user: run Farebox as that user, "
            "or set FAREBOX_DATA_DIR to another folder."
        )


def make_socket_folder(folder: Path, owner: ProcessOwner) -> Path:
    """A folder for the server's socket that only its owner and root can enter.

    Below `folder`, where a killed run leaves nothing new behind; in the system's folder for
    temporary files when the socket's path would be too long there.
    """
    sockets = folder / "sockets"
    if len(os.fsencode(sockets)) + len(_SOCKET_NAME) <= SOCKET_PATH_LIMIT:
        sockets.mkdir(mode=0o700, exist_ok=True)
        sockets.chmod(0o700)
    else:
        # the folder made in it is 0700 and has a random name
        sockets = Path(tempfile.mkdtemp(prefix="fbx-pg-", dir="/tmp"))
    owner.give(sockets)
    return sockets


def is_ready(cluster: Path, process_id: int) -> bool:
    """Whether the server with this id says in its pid file that it takes connections."""
    lines = _pid_lines(cluster)
    return (
        len(lines) > _READY_LINE
        and lines[0].strip() == str(process_id)
        and lines[_READY_LINE].strip() == "ready"
    )


def forget_dead_server(cluster: Path) -> None:
    """A pid file left by a server that was killed is gone.

    Raises:
        PostgresNotStarted: a server runs on this folder.
    """
    lines = _pid_lines(cluster)
    if not lines:
        return
    if lines[0].strip().isdigit() and _is_server_of(int(lines[0]), cluster):
        raise PostgresNotStarted(
            f"Another Farebox uses the data folder {cluster.parent.parent} (its database is "
            f"process {int(lines[0])}): stop it, or set FAREBOX_DATA_DIR to another folder."
        )
    (cluster / "postmaster.pid").unlink(missing_ok=True)


def _pid_lines(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _is_server_of(process_id: int, cluster: Path) -> bool:
    """Whether the process lives and works in `cluster`; its id alone may have been given anew."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return Path(f"/proc/{process_id}/cwd").resolve(strict=True) == cluster.resolve()
    except OSError:  # no /proc, or not ours to read: it lives, and that must do
        return True


def advice_for(error: OSError, data_dir: Path) -> str:
    """One sentence on what to do about a refusal of the operating system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk that holds {data_dir} is full: free 100 MB or set FAREBOX_DATA_DIR."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
        return f"{data_dir} cannot be written: allow it, or set FAREBOX_DATA_DIR to another folder."
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"{data_dir} is not a folder: set FAREBOX_DATA_DIR to one."
    reason = error.strerror or type(error).__name__
    return f"The database in {data_dir} did not start ({reason}): set FAREBOX_DATABASE_URL."


def advice_from_output(said: str, data_dir: Path) -> str:
    """One sentence on what to do, from what a PostgreSQL program wrote before it gave up."""
    if "No space left on device" in said:
        return advice_for(OSError(errno.ENOSPC, ""), data_dir)
    if "Permission denied" in said:
        return advice_for(OSError(errno.EACCES, ""), data_dir)
    if "incompatible with server" in said:
        return (
            f"The database in {data_dir} was made by another version of PostgreSQL: "
            "keep that version, or set FAREBOX_DATA_DIR to a new folder."
        )
    lines = [line for line in said.splitlines() if "FATAL" in line or "error" in line.lower()]
    last = (lines or said.splitlines() or ["it said nothing"])[-1][:300]
    return f"The database in {data_dir} did not start; it said: {last}"
