"""What a swap would bring now, by a simulation of the venue's own quote."""

from collections.abc import Sequence
from typing import Final

from farebox.automation.plans.plan import DcaPlan
from farebox.automation.plans.session_spec import BPS
from farebox.automation.plans.wire import Venue
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.sessions.contract_reads import ContractReads, ReadRefused, as_number
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.caller import OwnerId
from farebox.stellar.scval import ScBytes, ScKind, ScNumber, ScValue, ScVec
from farebox.stellar.scval_reader import items_in, number_in
from farebox.stellar.scval_writer import address_of
from farebox.stellar.xdr_reader import Malformed

_SOROSWAP_QUOTE: Final = "router_get_amounts_out"
_AQUARIUS_QUOTE: Final = "estimate_swap"


class SwapQuotes:
    """Quotes swaps of a venue."""

    def __init__(self, reads: ContractReads) -> None:
        self._reads = reads

    async def dca(self, owner: OwnerId, router: Address, plan: DcaPlan) -> int:
        """What one run of a plan would bring.

        Raises:
            ReadRefused: the venue gives no quote.
            RpcUnavailable: no node answers.
        """
        if plan.venue is Venue.SOROSWAP:
            return await self.soroswap(owner, router, plan.path, plan.amount_in)
        amount: int = plan.amount_in
        steps = zip(plan.path, plan.path[1:], plan.pools, strict=False)
        for sold, bought, pool in steps:
            amount = await self._aquarius(owner, router, (sold, bought), pool, amount)
        return amount

    async def soroswap(
        self, owner: OwnerId, router: Address, path: Sequence[Address], amount: int
    ) -> int:
        """What `amount` of the first token of a path brings of the last one; raises as `dca`."""
        way = ScVec(tuple(map(address_of, path)))
        sold = ScNumber(ScKind.I128, amount)
        quoted = await self._reads.read(owner, router, _SOROSWAP_QUOTE, sold, way)
        try:
            amounts = items_in(quoted)
            return number_in(amounts[len(path) - 1], ScKind.I128)
        except (Malformed, IndexError):
            raise ReadRefused(ErrorClass.PROGRAM, f"{_SOROSWAP_QUOTE}_unreadable") from None

    async def _aquarius(
        self,
        owner: OwnerId,
        router: Address,
        step: tuple[Address, Address],
        pool: bytes,
        amount: int,
    ) -> int:
        tokens: tuple[ScValue, ...] = tuple(map(address_of, sorted(step, key=raw_key)))
        arguments: tuple[ScValue, ...] = (
            ScVec(tokens),
            *map(address_of, step),
            ScBytes(ScKind.BYTES, pool),
            ScNumber(ScKind.U128, amount),
        )
        quoted = await self._reads.read(owner, router, _AQUARIUS_QUOTE, *arguments)
        return as_number(quoted, ScKind.U128, _AQUARIUS_QUOTE)


def less_slippage(quote: int, bps: int) -> int:
    """A quote less what the price may move until the run lands, rounded up."""
    return -(-quote * (BPS - bps) // BPS)
