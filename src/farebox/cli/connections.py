"""The start check of connections: whether the server has as many as this process may take."""

import asyncio
from typing import Final

from farebox.app.settings import ConnectionSettings
from farebox.cli.endings import MustChange
from farebox.kernel.secret import Secret
from farebox.storage.capacity import SessionRefused, read_capacity

_WITHIN_S: Final = 5.0
_POOLER: Final = "PgBouncer lends them to every process, as many as its default_pool_size"


def processes_that_fit(url: Secret[str], sizes: ConnectionSettings) -> int | None:
    """How many processes like this one the server has connections for; None behind a pooler.

    Raises:
        MustChange: not even one, or it is a pooler nobody named.
        DatabaseUnavailable: the server did not answer.
    """
    if sizes.is_pooled:
        return None
    try:
        capacity = asyncio.run(read_capacity(url, within_s=_WITHIN_S))
    except SessionRefused as refused:
        raise MustChange(
            "FAREBOX_DATABASE_URL leads to PgBouncer: set FAREBOX_DATABASE_POOLER=transaction."
        ) from refused
    processes = capacity.processes(sizes.total)
    if not processes:
        raise MustChange(
            f"The database has {capacity.connections} connections for this role and the process "
            f"may take {sizes.total}: lower FAREBOX_DATABASE_CONNECTIONS_MONEY, _READS or "
            "_BACKGROUND, or raise the server's max_connections."
        )
    return processes


def described(sizes: ConnectionSettings, processes: int | None) -> str:
    """A line for people."""
    if processes is None:
        return f"database connections: {sizes.total} at most; {_POOLER}"
    fit = f"{processes} such processes fit" if processes > 1 else "no second such process fits"
    return f"database connections: {sizes.total} at most; {fit}"
