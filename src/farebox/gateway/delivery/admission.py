"""Judge a new payment before it takes a place of its wrapper."""

import asyncio
import math
from functools import partial
from typing import Final, Protocol

from farebox.facilitator.settlement import NotSettled, build_duplicate
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted
from farebox.gateway.delivery import reservation_store
from farebox.gateway.delivery.outcome import LimitKind, LimitReached, NotPaid, WrapperChanged
from farebox.gateway.delivery.reservation_store import NewPayment, WrapperCounters
from farebox.gateway.wrapper import Wrapper
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

_DAY_S: Final = 86_400  # the longest Retry-After: the owner may raise the quota
_Verdict = Accepted | NotSettled | None
_Key = tuple[str, bytes, bytes]


class SettlementJudge(Protocol):
    """Judges payments that are to be settled, as `Settler` does."""

    async def judge(self, request: SettleRequest) -> Accepted | NotSettled | None:
        """Judge the payment; None for one that has landed or is on its way."""
        ...


class PaymentAdmission:
    """Judges new payments; one that is refused takes no place of the wrapper, at no time."""

    def __init__(self, database: Database, settler: SettlementJudge) -> None:
        self._database, self._settler = database, settler
        self._judging: dict[_Key, asyncio.Task[_Verdict]] = {}

    async def judge_payment(
        self, new: NewPayment, settle: SettleRequest
    ) -> Accepted | NotPaid | LimitReached | WrapperChanged | None:
        """Judge a payment, unless its wrapper takes no request now.

        Returns the verdict to settle by, None for a payment that has landed or is on its way, or
        the refusal.

        Raises:
            KeyConflict: the buyer's payment identifier names another payment.
            DatabaseUnavailable: the payment cannot be judged now.
        """
        full = await self.find_limit(new.wrapper)
        if full is not None:
            return full
        verdict = await self._judge(new, settle)
        if not isinstance(verdict, NotSettled):
            return verdict
        is_foreign = verdict.reason is Reason.FOREIGN_LANDING
        return NotPaid(build_duplicate(new.identity, verdict.tx_hash) if is_foreign else verdict)

    async def find_limit(self, wrapper: Wrapper) -> LimitReached | WrapperChanged | None:
        """Find why the wrapper takes no new request now; None when it does."""
        async with self._database.connection() as db:
            return _read_limit(wrapper, await reservation_store.read_counters(db, wrapper))

    async def _judge(self, new: NewPayment, settle: SettleRequest) -> _Verdict:
        """Judge a payment once for all calls that present it to the wrapper at the same time."""
        key = new.wrapper.id, new.request_digest, new.presented_digest
        judging = self._judging.get(key)
        if judging is None:
            judging = asyncio.create_task(self._settler.judge(settle))
            self._judging[key] = judging
            judging.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(judging)

    def _forget(self, key: _Key, judged: "asyncio.Task[_Verdict]") -> None:
        del self._judging[key]
        if not judged.cancelled():
            judged.exception()  # it has been seen, though every caller may have left


def _read_limit(
    wrapper: Wrapper, counters: WrapperCounters
) -> LimitReached | WrapperChanged | None:
    limits = wrapper.settings.limits
    if not counters.is_current:
        return WrapperChanged()
    if counters.month_count >= limits.monthly_requests:
        return LimitReached(LimitKind.QUOTA, _wait_s(counters.month_left_s))
    if counters.minute_count >= limits.requests_per_minute:
        return LimitReached(LimitKind.RATE, _wait_s(counters.minute_left_s))
    if counters.in_progress >= limits.concurrent_requests:
        return LimitReached(LimitKind.CONCURRENCY, 1)
    return None


def _wait_s(seconds_left: float) -> int:
    return max(1, min(_DAY_S, math.ceil(seconds_left)))
