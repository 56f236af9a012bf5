"""The connections that the database server allows, and the processes they suffice for."""

import asyncio
from dataclasses import dataclass
from typing import Final

import asyncpg

from farebox.kernel.secret import Secret
from farebox.storage.faults import translate_error
from farebox.storage.pool import DIRECT_SESSION

FOR_TOOLS: Final = 5  # the largest of the commands takes four, and a person looks in with psql
_UNLIMITED: Final = -1
_LIMITS: Final = """
    SELECT current_setting('max_connections')::integer
             - current_setting('superuser_reserved_connections')::integer
             - coalesce(current_setting('reserved_connections', true)::integer, 0) AS server,
           (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database,
           (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role
"""


class SessionRefused(Exception):
    """The server takes no settings for a session: it is a pooler such as PgBouncer."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The connections that a role without superuser rights can have at a time."""

    connections: int

    def processes(self, of_each: int) -> int:
        """The processes with `of_each` connections that fit, with room for the commands.

        One that fits without that room counts too.
        """
        return max((self.connections - FOR_TOOLS) // of_each, int(of_each <= self.connections))


async def read_capacity(url: Secret[str], *, within_s: float) -> Capacity:
    """Read the least of the limits of the server, the database and the role.

    Raises:
        SessionRefused: the address leads to a pooler.
        DatabaseUnavailable: it did not respond.
    """
    try:
        async with asyncio.timeout(within_s):
            connection = await asyncpg.connect(url.reveal(), server_settings=dict(DIRECT_SESSION))
            try:
                row = await connection.fetchrow(_LIMITS)
            finally:
                connection.terminate()
    except asyncpg.ProtocolViolationError as error:
        raise SessionRefused from error
    except Exception as error:
        fault = translate_error(error)
        if fault is error:
            raise
        raise fault from error
    return Capacity(min(limit for limit in row or () if limit not in (None, _UNLIMITED)))
