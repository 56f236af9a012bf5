"""Start checks of capacity: connections to the database, and file descriptors for callers."""

import asyncio
import resource
from typing import Final

from farebox.app.settings import ConnectionSettings, Settings
from farebox.cli.exits import UserActionRequired
from farebox.kernel.secret import Secret
from farebox.outbound.client import MAX_CALLS
from farebox.storage.capacity import SessionRefused, read_capacity

_MIN_CALLERS: Final = 16
_PROCESS: Final = 64  # descriptors of the log, the event loop, libraries and temporary files
_PER_NODE: Final = 32  # calls to a node other than simulations
_LOOKUPS: Final = 32
_CLOSING: Final = 32  # connections that are closing
_WITHIN_S: Final = 5.0
_POOLER: Final = "PgBouncer shares as many as its default_pool_size among all processes"


def processes_that_fit(url: Secret[str], sizes: ConnectionSettings) -> int | None:
    """Count the processes of this size that the server has connections for; None behind PgBouncer.

    Raises:
        UserActionRequired: not even one, or an undeclared PgBouncer.
    """
    if sizes.is_pooled:
        return None
    try:
        capacity = asyncio.run(read_capacity(url, within_s=_WITHIN_S))
    except SessionRefused as refusal:
        raise UserActionRequired(
            "FAREBOX_DATABASE_URL leads to PgBouncer: set FAREBOX_DATABASE_POOLER=transaction."
        ) from refusal
    processes = capacity.processes(sizes.total)
    if not processes:
        raise UserActionRequired(
            f"The database has {capacity.connections} connections for this role and the process "
            f"may take {sizes.total}: lower FAREBOX_DATABASE_CONNECTIONS_MONEY, _READS or "
            "_BACKGROUND, or raise the server's max_connections."
        )
    return processes


def describe_connections(sizes: ConnectionSettings, processes: int | None) -> str:
    """Describe the connections to the database in one line."""
    if processes is None:
        return f"database connections: {sizes.total} at most; {_POOLER}"
    fit = f"room for {processes} processes" if processes > 1 else "room for this process only"
    return f"database connections: {sizes.total} at most; {fit}"


def reserved_descriptors(settings: Settings) -> int:
    """The maximum number of descriptors used for anything but callers' connections."""
    nodes = sum(
        (own.rpc_simulations + _PER_NODE) * (2 if own.fallback_rpc_url else 1)
        for own in settings.networks.values()
    )
    return _PROCESS + settings.connections.total + nodes + MAX_CALLS + _LOOKUPS + _CLOSING


def max_callers(settings: Settings) -> int:
    """The number of callers' connections within the hard limit of open files.

    Raises:
        UserActionRequired: the limit leaves too few.
    """
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted, reserved = settings.ingress.connections, reserved_descriptors(settings)
    room = wanted if hard_limit == resource.RLIM_INFINITY else min(wanted, hard_limit - reserved)
    if room < _MIN_CALLERS:
        raise UserActionRequired(
            f"The process may open {hard_limit} files and reserves {reserved} for itself: "
            "raise its limit (ulimit -n, LimitNOFILE)."
        )
    return room


def raise_descriptor_limit(settings: Settings) -> int:
    """Raise the soft limit of open files as needed; returns the number of callers' connections.

    Raises:
        UserActionRequired: the hard limit leaves too few.
    """
    room = max_callers(settings)
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = room + reserved_descriptors(settings)
    if soft_limit != resource.RLIM_INFINITY and soft_limit < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard_limit))
    return room
