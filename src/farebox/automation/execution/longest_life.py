"""The most ledgers that an entry of one network lives, and so an authorization and a session."""

from typing import Final

from farebox.automation.execution.entry_reader import EntryReader
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.entry_life import ARCHIVAL_KEY, read_max_entry_ttl
from farebox.stellar.rpc import RpcUnavailable

_KEPT_S: Final = 600.0  # validators change it by vote


class LongestLife:
    """Reads `maxEntryTTL`, once in ten minutes."""

    def __init__(self, network: Network, ledger: EntryReader, clock: Clock) -> None:
        self._network, self._ledger, self._clock = network, ledger, clock
        self._ledgers = 0
        self._due_at = clock.monotonic()

    async def ledgers(self) -> int:
        """The number of ledgers.

        Raises:
            RpcUnavailable: it cannot be read now, or has a form that is not known.
        """
        if not self._ledgers or self._clock.monotonic() >= self._due_at:
            found = await self._ledger.ledger_entries([ARCHIVAL_KEY])
            data = next((each.data for each in found.entries if each.key == ARCHIVAL_KEY), b"")
            ledgers = read_max_entry_ttl(data)
            if not ledgers:
                text = f"the settings of {self._network} have a form that is not known"
                raise RpcUnavailable(self._network, text, certainly_not_sent=True)
            self._ledgers, self._due_at = ledgers, self._clock.monotonic() + _KEPT_S
        return self._ledgers
