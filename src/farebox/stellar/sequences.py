"""The next sequence number of one account that sends transactions."""

import asyncio
from typing import Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network


class SourceMissing(Outage):
    """The account that would send the transaction is not on the ledger."""

    def __init__(self, network: Network, source: Address) -> None:
        super().__init__(network.value, f"the account {source} does not exist on {network}")
        self.network, self.source = network, source


class Ledger(Protocol):
    """What is asked of a node."""

    async def account_sequence(self, address: Address) -> int | None:
        """The last sequence number the account used; None when it does not exist."""
        ...


class SourceSequence:
    """Hands out the sequence number one source must use next.

    A number is used up only when its transaction is on the ledger (`landed`); until then
    `following` gives the same number again. After a bad sequence, or a transaction of unknown
    fate, `forget` makes the next answer come from the ledger.
    """

    def __init__(self, network: Network, source: Address, ledger: Ledger) -> None:
        self._network, self.source, self._ledger = network, source, ledger
        self._used: int | None = None  # None: to be read
        self._landed = 0  # a node that lags cannot go below what is known to have landed
        self._reading = asyncio.Lock()

    async def following(self) -> int:
        """The number the next transaction of this source must have.

        Raises:
            RpcUnavailable: it had to be read and the node gave no answer.
            SourceMissing: there is no such account.
        """
        async with self._reading:
            if self._used is None:
                self._used = await self._read()
            return self._used + 1

    def landed(self, sequence: int) -> None:
        """A transaction with `sequence` is on the ledger, whether it succeeded or not."""
        self._landed = max(self._landed, sequence)
        if self._used is not None:
            self._used = max(self._used, sequence)

    def forget(self) -> None:
        """The number is read from the ledger before it is given out again."""
        self._used = None

    async def _read(self) -> int:
        on_ledger = await self._ledger.account_sequence(self.source)
        if on_ledger is None:
            raise SourceMissing(self._network, self.source)
        return max(on_ledger, self._landed)
