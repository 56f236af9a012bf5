"""The one exception of everything that is started on a person's own machine."""

import errno


class LocalFault(Exception):
    """Something cannot be started here: its text is one sentence that says what to do."""


def explain_disk(error: OSError, *, doing: str) -> LocalFault:
    """One sentence for a file that cannot be written while `doing` something."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LocalFault(f"The disk is full while {doing}: free some space and run this again.")
    where = error.filename or "a file"
    return LocalFault(
        f"Cannot write {where} while {doing} ({error.strerror}): "
        "make that folder writable, or set FAREBOX_CACHE to one that is."
    )
