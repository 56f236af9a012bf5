"""Prices of an oracle (SEP-40), no older than a plan wants them, and amounts at those prices."""

from dataclasses import dataclass
from typing import Final

from farebox.automation.plans.session_spec import BPS
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.sessions.contract_reads import ContractReads, ReadRefused
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.stellar.scval import ScKind, ScValue, ScVec
from farebox.stellar.scval_reader import members_in, number_in
from farebox.stellar.scval_writer import VOID, address_of, symbol_of
from farebox.stellar.xdr_reader import Malformed

PRICE_UNKNOWN: Final = "price_unknown"
DECIMALS_DIFFER: Final = "decimals_differ"


@dataclass(frozen=True, slots=True)
class PairPrices:
    """The prices of a token that is sold and of one that is bought, for a base unit each."""

    sold: int
    bought: int

    def floor(self, amount: int, bps: int) -> int:
        """The least that a sale of `amount` may bring: `bps` below the prices, rounded up."""
        return -(-amount * self.sold * (BPS - bps) // (self.bought * BPS))


class PriceReader:
    """Reads oracles; a price that is old, in the future, or not above 0 counts as none."""

    def __init__(self, reads: ContractReads) -> None:
        self._reads = reads

    async def pair(
        self,
        owner: OwnerId,
        oracle: Address,
        tokens: tuple[Address, Address],
        *,
        max_age_s: int,
        ledger_time: int,
    ) -> PairPrices:
        """The prices of two tokens of equal decimals, as the contracts compare base units.

        Raises:
            ReadRefused: a price is not known, or the decimals differ.
            RpcUnavailable: no node answers.
        """
        decimals = [await self._reads.decimals(owner, token) for token in tokens]
        if decimals[0] != decimals[1]:
            raise ReadRefused(ErrorClass.PROGRAM, DECIMALS_DIFFER)
        prices = []
        for token in tokens:
            asset = ScVec((symbol_of("Stellar"), address_of(token)))
            found = await self._reads.read(owner, oracle, "lastprice", asset)
            prices.append(_price(found, max_age_s=max_age_s, ledger_time=ledger_time))
        return PairPrices(*prices)


def _price(value: ScValue, *, max_age_s: int, ledger_time: int) -> int:
    unknown = ReadRefused(ErrorClass.MARKET, PRICE_UNKNOWN)
    if value == VOID:
        raise unknown
    try:
        members = members_in(value)
        price = number_in(members.get("price"), ScKind.I128)
        at = number_in(members.get("timestamp"), ScKind.U64)
    except Malformed:
        raise ReadRefused(ErrorClass.PROGRAM, PRICE_UNKNOWN) from None
    if price <= 0 or not 0 <= ledger_time - at <= max_age_s:
        raise unknown
    return price
