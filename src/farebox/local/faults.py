"""The exception of local programs: PostgreSQL, devnets and the demo."""

import errno


class LocalFault(Exception):
    """A local program cannot be started; the message says in one sentence what to do."""


def explain_disk_error(error: OSError, *, doing: str) -> LocalFault:
    """Say in one sentence why a file cannot be written; `doing` names the activity."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LocalFault(f"The disk is full while {doing}: free some space and run this again.")
    where = error.filename or "a file"
    return LocalFault(
        f"Cannot write {where} while {doing} ({error.strerror}): "
        "make that folder writable, or set FAREBOX_CACHE to one that is."
    )
