"""The rows of the audit trail."""

from farebox.audit.trail import Deed
from farebox.storage.pool import Connection

_WRITE = """
    INSERT INTO audit_trail (owner, actor, actor_id, action, subject, request_id)
    VALUES ($1, $2, $3, $4, $5, $6)
"""


async def write_deed(connection: Connection, deed: Deed) -> None:
    """The deed is in the trail when the caller's transaction commits."""
    caller = deed.caller
    await connection.execute(
        _WRITE,
        caller.owner,
        caller.kind.value,
        caller.key_id or caller.session_id,
        deed.action.value,
        deed.subject,
        deed.request_id,
    )
