"""The plan of a request: its owner's, locked for a change, or 404."""

from farebox.automation.plans import owned_proposal_store, proposal_store
from farebox.automation.plans.stored_plan import StoredPlan, StoredProposal
from farebox.kernel.caller import OwnerId
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import is_id
from farebox.storage.pool import Connection

PROPOSAL_ID = "auto"


def check_id(proposal_id: str) -> None:
    """Refuse a text that is no id of a plan.

    Raises:
        NotFound: it is none.
    """
    if not is_id(PROPOSAL_ID, proposal_id):
        raise NotFound


async def read_owned(db: Connection, owner: OwnerId, proposal_id: str) -> StoredProposal:
    """The owner's plan as responses show it.

    Raises:
        NotFound: the owner has no such plan.
    """
    found = await owned_proposal_store.find_proposal(db, owner, proposal_id)
    if found is None:
        raise NotFound
    return found


async def lock_owned(db: Connection, owner: OwnerId, proposal_id: str) -> StoredPlan:
    """The owner's plan, locked until the transaction ends.

    Raises:
        NotFound: the owner has no such plan.
    """
    plan = await proposal_store.lock_plan(db, proposal_id)
    if plan is None or plan.terms.owner != owner:
        raise NotFound
    return plan
