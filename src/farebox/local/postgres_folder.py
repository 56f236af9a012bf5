"""The folder of an embedded server: its owner, preparation, state and faults."""

import errno
import os
import pwd
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

SOCKET_PATH_LIMIT: Final = 107  # bytes of a socket's path, on every system we run on
_SOCKET_NAME: Final = "/.s.PGSQL.5432"
_READY_LINE: Final = 7  # of postmaster.pid, counted from 0


class PostgresNotStarted(Exception):
    """The embedded server cannot run; the message says in one sentence what to do."""


@dataclass(frozen=True, slots=True)
class ProcessOwner:
    """The user and group of a server process."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether the owner is another user than that of this process, which is root."""
        return self.uid != os.geteuid()

    def take_over(self, path: Path) -> None:
        """Make the owner the owner of the path."""
        if self.is_other:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Whether the owner may enter `folder` and every folder above it."""
        if not self.is_other:
            return os.access(folder, os.X_OK)
        resolved = folder.resolve()
        return all(self._may_pass(each.stat()) for each in (resolved, *resolved.parents))

    def _may_pass(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def server_owner() -> ProcessOwner:
    """The current user; `nobody` for root, because PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return ProcessOwner(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    return ProcessOwner(nobody.pw_uid, nobody.pw_gid)


def prepare_folder(data_dir: Path, folder: Path, owner: ProcessOwner) -> None:
    """Create `folder` below `data_dir`; existing folders keep their permissions.

    Raises:
        PostgresNotStarted: the server's owner cannot enter it.
    """
    for each in (data_dir, folder):
        if not each.exists():
            each.mkdir(parents=True)
            each.chmod(0o711 if owner.is_other else 0o700)
    if not owner.can_enter(folder):
        raise PostgresNotStarted(
            f"The database runs as the user nobody, who cannot enter {folder}: "
            "set FAREBOX_DATA_DIR to a folder every user may enter, such as /var/lib/farebox."
        )
    cluster = folder / "cluster"
    if cluster.exists() and cluster.stat().st_uid != owner.uid:
        raise PostgresNotStarted(
            f"The database in {data_dir} belongs to another user: run Farebox as that user, "
            "or set FAREBOX_DATA_DIR to another folder."
        )


def make_socket_folder(folder: Path, owner: ProcessOwner) -> Path:
    """Create the folder of the server's socket, which only its owner and root can enter.

    It is in `folder`, or in /tmp when the socket's path would be too long.
    """
    sockets = folder / "sockets"
    if len(os.fsencode(sockets)) + len(_SOCKET_NAME) <= SOCKET_PATH_LIMIT:
        sockets.mkdir(mode=0o700, exist_ok=True)
        sockets.chmod(0o700)
    else:
        sockets = Path(tempfile.mkdtemp(prefix="fbx-pg-", dir="/tmp"))  # mode 0700, random name
    owner.take_over(sockets)
    return sockets


def write_access(folder: Path, guests: Sequence[str]) -> dict[str, str]:
    """Write the access files (hba, ident); returns the settings that name them.

    The user of this process and the system users in `guests` may connect, by peer authentication.
    The files belong to this process, so that the server's user cannot change them.
    """
    access, users = folder / "access.conf", folder / "users.conf"
    access.write_text("local all all peer map=farebox\n")
    names = (pwd.getpwuid(os.geteuid()).pw_name, *guests)
    users.write_text("".join(f'farebox "{name}" all\n' for name in names))
    for each in (access, users):
        each.chmod(0o644)
    return {"hba_file": str(access), "ident_file": str(users)}


def private_file(path: Path) -> BinaryIO:
    """Create an empty file of mode 0600, open for writing; an existing one is replaced."""
    path.unlink(missing_ok=True)
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def is_ready(cluster: Path, process_id: int) -> bool:
    """Whether the pid file says that the server with this process id accepts connections."""
    lines = _pid_lines(cluster)
    return (
        len(lines) > _READY_LINE
        and lines[0].strip() == str(process_id)
        and lines[_READY_LINE].strip() == "ready"
    )


def remove_stale_pid_file(cluster: Path) -> None:
    """Remove the pid file that a killed server has left.

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
    """Whether the process runs in `cluster`; the id alone may have been reused."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return Path(f"/proc/{process_id}/cwd").resolve(strict=True) == cluster.resolve()
    except OSError:  # no /proc, or not readable: assume that it is the server
        return True


def advice_for(error: OSError, data_dir: Path) -> str:
    """Say in one sentence what to do about an error of the operating system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk that holds {data_dir} is full: free 100 MB or set FAREBOX_DATA_DIR."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
        return f"{data_dir} cannot be written: allow it, or set FAREBOX_DATA_DIR to another folder."
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"{data_dir} is not a folder: set FAREBOX_DATA_DIR to one."
    reason = error.strerror or type(error).__name__
    return f"The database in {data_dir} did not start ({reason}): set FAREBOX_DATABASE_URL."


def advice_from_output(output: str, data_dir: Path) -> str:
    """Say in one sentence what to do about the output of a failed PostgreSQL program."""
    if "No space left on device" in output:
        return advice_for(OSError(errno.ENOSPC, ""), data_dir)
    if "Permission denied" in output:
        return advice_for(OSError(errno.EACCES, ""), data_dir)
    if "incompatible with server" in output:
        return (
            f"The database in {data_dir} was made by another version of PostgreSQL: "
            "keep that version, or set FAREBOX_DATA_DIR to a new folder."
        )
    lines = [line for line in output.splitlines() if "FATAL" in line or "error" in line.lower()]
    last = (lines or output.splitlines() or ["no output"])[-1][:300]
    return f"The database in {data_dir} did not start: {last}"
