"""Readers of discovery data: parsing is bounded, and still too slow for an event loop."""

from dataclasses import dataclass
from typing import Protocol

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.kernel.addresses import Address
from farebox.kernel.errors import Outage


class ReaderUnavailable(Outage):
    """No reader has capacity; the text was not touched."""

    repeat_after_s = 1

    def __init__(self) -> None:
        super().__init__("catalog", "Discovery data cannot be read now.")


class ReadFailed(Exception):
    """The reader exceeded its deadline or died over this text."""


class DiscoveryReader(Protocol):
    """Parses the bytes of a `DiscoveryText`."""

    async def read(self, text: bytes, *, pay_to: Address) -> DiscoveredResource | Dropped:
        """Parse as `parse_discovery` does.

        Raises:
            ReaderUnavailable: it can be retried.
            ReadFailed: the text itself may be the cause.
        """
        ...


@dataclass(frozen=True, slots=True)
class DirectReader:
    """Parses on the event loop, which it blocks: for tools and tests."""

    is_local_allowed: bool = False

    async def read(self, text: bytes, *, pay_to: Address) -> DiscoveredResource | Dropped:
        """Parse as `parse_discovery` does."""
        return parse_discovery(text, pay_to=pay_to, is_local_allowed=self.is_local_allowed)
