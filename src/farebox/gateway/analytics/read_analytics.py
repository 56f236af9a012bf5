"""Read the analytics of a wrapper: sums of its days, revenue, and its last requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from farebox.gateway.analytics import request_store, sales_store
from farebox.gateway.analytics.request_store import StoredRequest, WrapperDay
from farebox.gateway.analytics.sales_store import DayRevenue, WrapperPayment
from farebox.kernel.clock import Clock
from farebox.storage.pool import Database

MAX_PAYMENTS: Final = 100  # `/v1/payments` lists all of them


@dataclass(frozen=True, slots=True)
class WrapperAnalytics:
    """The sums of a wrapper's last days, its last payments, and a page of its requests."""

    days: Sequence[WrapperDay]
    revenue: Sequence[DayRevenue]
    owed: int
    payments: Sequence[WrapperPayment]
    requests: Sequence[StoredRequest]


class Analytics:
    """Reads what the recorder has written, which may be a second old."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def read(
        self, wrapper_id: str, *, days: int, after: tuple[datetime, int] | None, limit: int
    ) -> WrapperAnalytics:
        """Read the analytics of the last `days` UTC days, today included.

        Args:
            wrapper_id: the wrapper's.
            days: 1 or more.
            after: the position behind which the requests begin.
            limit: how many requests at most.
        """
        last: date = self._clock.now().astimezone(UTC).date()
        first = last - timedelta(days=days - 1)
        async with self._database.connection() as db:
            return WrapperAnalytics(
                days=await request_store.list_days(db, wrapper_id, first=first, last=last),
                revenue=await sales_store.list_revenue(db, wrapper_id, first=first, last=last),
                payments=await sales_store.list_payments(db, wrapper_id, limit=MAX_PAYMENTS),
                owed=await sales_store.count_owed(db, wrapper_id),
                requests=await request_store.list_requests(
                    db, wrapper_id, after=after, limit=limit
                ),
            )
