"""How long rows are kept: one rule for each kind of row that the prune loop deletes.

The reasons are in docs/decisions/0032. Separate loops delete: idempotency keys and their
responses (`StoredResponses`), challenges and sessions (`Sessions`), the audit log
(`AuditLogRetention`), versions of search documents (`Pruning`), counts of the rate limits
(`RateLimiter`).
"""

from collections.abc import Mapping
from datetime import UTC, date, timedelta
from typing import Final

from farebox.accounts import session_store
from farebox.automation.lifecycle import upkeep_store
from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import oldest_day, utc_day
from farebox.facilitator.journal.retention import EnvelopeRetention
from farebox.gateway.analytics import request_store
from farebox.gateway.delivery import response_store
from farebox.gateway.wrappers import wrapper_store
from farebox.gateway.wrappers.manage_wrappers import delete_abandoned_wrappers
from farebox.ingress import usage_store
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import Ledgers
from farebox.storage.pool import Connection
from farebox.storage.prune import PruneRule

USAGE_KEPT_DAYS: Final = 400  # a year and the month of the review
REQUESTS_KEPT: Final = timedelta(days=30)  # of wrappers; the sums of their days stay
SLUGS_KEPT: Final = timedelta(days=90)  # of deleted wrappers, and wrappers that were never enabled
USERS_KEPT: Final = timedelta(days=30)  # since the last sign-in; sessions live for hours


def prune_rules(clock: Clock, ledgers: Mapping[Network, Ledgers]) -> list[PruneRule]:
    """Make the rules of the service's prune loop, but those of plans."""

    def today() -> date:
        return clock.now().astimezone(UTC).date()

    async def spend(db: Connection, limit: int) -> int:
        before = oldest_day(utc_day(clock.now()))
        return await budget_store.delete_days(db, before=before, limit=limit)

    async def answered(db: Connection, limit: int) -> int:
        before = today() - timedelta(days=USAGE_KEPT_DAYS)
        return await usage_store.delete_request_counts(db, before=before, limit=limit)

    async def settled(db: Connection, limit: int) -> int:
        before = today() - timedelta(days=USAGE_KEPT_DAYS)
        return await usage_store.delete_settlement_counts(db, before=before, limit=limit)

    async def users(db: Connection, limit: int) -> int:
        return await session_store.delete_users(db, kept=USERS_KEPT, limit=limit)

    return [
        *(
            PruneRule(f"envelopes_{network.name.lower()}", EnvelopeRetention(network, own).prune)
            for network, own in ledgers.items()
        ),
        PruneRule("sponsor_spend", spend),
        PruneRule("usage_counts", answered),
        PruneRule("settlement_usage", settled),
        PruneRule("users", users),
        *_gateway_rules(),
    ]


def _gateway_rules() -> list[PruneRule]:
    """Make the rules of wrappers, their requests and their responses."""

    async def responses(db: Connection, limit: int) -> int:
        return await response_store.delete_expired(db, limit=limit)

    async def requests(db: Connection, limit: int) -> int:
        return await request_store.delete_old(db, kept=REQUESTS_KEPT, limit=limit)

    async def slugs(db: Connection, limit: int) -> int:
        return await wrapper_store.delete_expired_slugs(db, kept=SLUGS_KEPT, limit=limit)

    async def unused(db: Connection, limit: int) -> int:
        return await wrapper_store.release_unused_slugs(db, limit=limit)

    async def abandoned(db: Connection, limit: int) -> int:
        return await delete_abandoned_wrappers(db, kept=SLUGS_KEPT, limit=limit)

    return [
        PruneRule("gateway_responses", responses),
        PruneRule("gateway_requests", requests),
        PruneRule("unused_slugs", unused),
        PruneRule("wrapper_slugs", slugs),
        PruneRule("abandoned_wrappers", abandoned),
    ]


def plan_rules(kept: timedelta) -> list[PruneRule]:
    """Make the rules of plans that have ended."""

    async def attempts(db: Connection, limit: int) -> int:
        return await upkeep_store.delete_attempts(db, kept=kept, limit=limit)

    async def events(db: Connection, limit: int) -> int:
        return await upkeep_store.delete_events(db, kept=kept, limit=limit)

    return [PruneRule("automation_attempts", attempts), PruneRule("automation_events", events)]
