"""Who runs a database server: its own user, or `nobody` when we are root."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessOwner:
    """The user and group of a server process."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether files must be handed over: we are root and the server is not."""
        return self.uid != os.geteuid()

    def give(self, path: Path) -> None:
        """The path belongs to the owner."""
        if self.is_other:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, folder: Path) -> bool:
        """Whether the owner can go through every folder on the way to and into `folder`."""
        if not self.is_other:
            return os.access(folder, os.X_OK)
        resolved = folder.resolve()
        return all(self._may_pass(each.stat()) for each in (resolved, *resolved.parents))

    def _may_pass(self, found: os.stat_result) -> bool:
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def server_owner() -> ProcessOwner:
    """`nobody` for root, because PostgreSQL refuses to run as root; else whoever we are."""
    if os.geteuid() != 0:
        return ProcessOwner(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    return ProcessOwner(nobody.pw_uid, nobody.pw_gid)
