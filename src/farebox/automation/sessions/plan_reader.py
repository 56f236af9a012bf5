"""The payload of a stored plan, read by the rules that accepted it."""

import msgspec

from farebox.automation.limits import LIMITS
from farebox.automation.plans import proposal_store
from farebox.automation.plans.plan import Plan
from farebox.automation.plans.plan_rules import read_plan
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.plans.wire import SPECS
from farebox.automation.refusal import AutomationRefused
from farebox.storage.pool import Database


class PlanReader:
    """Reads the payloads of plans."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, terms: PlanTerms) -> Plan | None:
        """The plan as it was proposed; None where the row's payload is not readable.

        Raises:
            DatabaseUnavailable: the row cannot be read.
        """
        if terms.account is None:
            return None
        async with self._database.connection() as db:
            payload = await proposal_store.find_payload(db, terms.id)
        if payload is None:
            return None
        try:
            shape = msgspec.json.decode(payload, type=SPECS[terms.kind])
            return read_plan(shape, terms.account, LIMITS)
        except (msgspec.DecodeError, AutomationRefused):
            return None
