"""A market of the scene's asset and native coin on a devnet, and the calls of a DCA plan there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stellar_sdk import scval, xdr

from support.automation_ledger import AutomationLedger
from support.session_specs import ListedCall, eq, path, rule

SOLD: Final = 1_000
LIQUIDITY: Final = 10_000_000
MONTH: Final = 30 * 86_400
INTERVAL: Final = 60
SWAP: Final = "swap_exact_tokens_for_tokens"


@dataclass(frozen=True, slots=True)
class AutomationMarket:
    """A pool with liquidity, and its router."""

    ledger: AutomationLedger
    pair: str
    router: str

    @classmethod
    def deploy(cls, ledger: AutomationLedger) -> "AutomationMarket":
        """Create the pool, fill it from the payer, and create the router."""
        tokens = (ledger.asset, ledger.native)
        pair = ledger.deploy("pool", *(scval.to_address(token) for token in tokens))
        for token in tokens:
            ledger.give(token, pair, LIQUIDITY)
        ledger.call(pair, "sync")
        return cls(ledger, pair, ledger.deploy("router", path(pair)))

    def dca_calls(self) -> tuple[ListedCall, ListedCall]:
        """Sell an amount of the asset for coin, at half of it at least."""
        amount, actor = scval.to_int128(SOLD), rule("Actor")
        swap = (
            eq(amount),
            rule("MinRate", scval.to_uint32(0), scval.to_int128(1), scval.to_int128(2)),
            eq(path(self.ledger.asset, self.ledger.native)),
            actor,
            rule("TimeWithin", scval.to_uint64(600)),
        )
        pay = (actor, eq(scval.to_address(self.pair)), eq(amount))
        return (
            ListedCall(self.router, SWAP, swap),
            ListedCall(self.ledger.asset, "transfer", pay, amount=2, under=0),
        )

    def swap_args(
        self, actor: str, changes: Mapping[int, xdr.SCVal] | None = None
    ) -> list[xdr.SCVal]:
        """The arguments of the recorded swap, some of them changed."""
        args = [
            scval.to_int128(SOLD),
            scval.to_int128(SOLD // 2),
            path(self.ledger.asset, self.ledger.native),
            scval.to_address(actor),
            scval.to_uint64(self.ledger.now + 300),
        ]
        for index, value in (changes or {}).items():
            args[index] = value
        return args
