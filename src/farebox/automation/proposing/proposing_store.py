"""What a new plan's transaction needs besides the plan's own row."""

from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.kernel.caller import OwnerId
from farebox.storage.client_quota import ClientQuota
from farebox.storage.pool import Connection

QUOTA: Final = ClientQuota("automation_proposals", per_client=50, in_total=10_000)


async def lock_owner(db: Connection, owner: OwnerId) -> None:
    """Take the advisory lock on the owner's proposals until the transaction ends."""
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 31))", owner)


async def add_session(db: Connection, proposal_id: str, mode: AuthorityMode) -> None:
    """Insert the session of a new plan: its material is issued, and nothing is installed."""
    await db.execute(
        "INSERT INTO automation_sessions (proposal_id, mode) VALUES ($1, $2)",
        proposal_id,
        mode.value,
    )
