"""Builds of the service for the proof of neighbours: the sound one, and those that must fail."""

from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_ends
from prove.delivery_control import TIMES
from prove.owner_stage import TIMED

_OFFER: Final = "gateway/offers/offer.py"
_RESOLVE: Final = "outbound/resolve.py"
_CATALOG: Final = "app/catalog_services.py"
# names are looked up in threads, as where there are nameservers; those of an attacker hang
_HANGING: Final = """

class LookedUpResolver:
    def __init__(self, known):
        self._known, self._lookup = known, SystemLookup()

    async def pin(self, target, owner=""):
        await self._lookup.addresses(target.host, owner)
        return await self._known.pin(target, owner)


def _system_addresses(name):
    import time

    if name.endswith(".hangs.example."):
        time.sleep(20)
        raise OSError("no nameserver has answered")
    return (ip_address("127.0.0.1"),)
"""
_LOOKED_UP: Final = """

def build_outbound(settings, own=build_outbound, **more):
    from dataclasses import replace

    from farebox.outbound.resolve import LookedUpResolver

    return own(replace(settings, test_resolver=LookedUpResolver(settings.test_resolver)), **more)
"""
_RUN_OFFER: Final = "automation/credits/run_offer.py"
_ENDS: Final = {
    _RUN_OFFER: TIMED[_RUN_OFFER],  # ledgers close fast, and no payment may expire
    _OFFER: TIMES[_OFFER],
    _RESOLVE: ("class SystemLookup:", _HANGING),
    _CATALOG: ("def build_outbound(", _LOOKED_UP),
}


def timed_sources(folder: Path) -> Path:
    """Write a copy of the sources that looks names up.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    return sources_with_ends(folder, _ENDS)
