"""How soon the contracts of sessions are read again."""

from collections.abc import Sequence

import pytest

from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts, ContractsWatch
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerEntries, RpcUnavailable
from support.automation import TARGET
from support.manual_clock import ManualClock

NAMED = AutomationContracts({ServiceContract.GUARD: TARGET})


class SleptEnoughError(Exception):
    """The watch has read the contracts three times."""


class ThreeSleeps(ManualClock):
    """A clock that ends the watch."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if len(self.slept) == 3:
            raise SleptEnoughError


class EmptyLedger:
    """A node whose ledger has no contract, or that does not answer."""

    def __init__(self, *, is_up: bool) -> None:
        self._is_up = is_up

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        if not self._is_up:
            raise RpcUnavailable(Network.TESTNET, "timeout", certainly_not_sent=True)
        return LedgerEntries((), 1)


@pytest.mark.parametrize(
    ("named", "is_up", "seconds"),
    [(NAMED, True, 5.0), (NAMED, False, 5.0), (AutomationContracts(), True, 600.0)],
    ids=["not deployed yet", "no node", "nothing named"],
)
async def test_contracts_are_read_again_soon_until_they_are_deployed(
    named: AutomationContracts, is_up: bool, seconds: float
) -> None:
    clock = ThreeSleeps()
    watch = ContractsWatch(Network.TESTNET, named, EmptyLedger(is_up=is_up), clock)
    with pytest.raises(SleptEnoughError):
        await watch.run()
    assert clock.slept == [seconds] * 3
