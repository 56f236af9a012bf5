"""Builds of the service for the proof of neighbours: the sound one, and those that must fail.

Those that must fail have one limit each as it was before callers had shares.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_ends
from prove.delivery_control import TIMES
from prove.neighbours_attackers import SLOWLY, Attack
from prove.neighbours_case import RATIO_MOST, NeighboursCase, NeighboursOutcome
from prove.neighbours_ground import Origin
from prove.neighbours_honest import BUYER, SEARCH
from prove.owner_stage import TIMED

_OFFER: Final = "gateway/offers/offer.py"
_RESOLVE: Final = "outbound/resolve.py"
_CATALOG: Final = "app/catalog_services.py"
_SEARCH: Final = "search/search.py"
# names are looked up in threads, as where there are nameservers; those of an attacker hang
_HANGING: Final = """

class LookedUpResolver:
    def __init__(self, known):
        self._known, self._lookup = known, SystemLookup()

    async def pin(self, target, owner=None):
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
# some searches take their time, as those of many listings do
_SLOW_SEARCH: Final = f"""

async def _find_slowly(self, request, own=Search._find):
    if "{SLOWLY}" in request.query:
        async with self._database.connection() as db:
            await db.execute("SELECT pg_sleep(0.3)")
    return await own(self, request)


Search._find = _find_slowly
"""
_RUN_OFFER: Final = "automation/credits/run_offer.py"
_ENDS: Final = {
    # ledgers close ten times as fast as on a real network, and leases go back as often as there
    "facilitator/channels/channel_leases.py": ("class ChannelLeases:", "\n\nPASS_ON_S = 1.0\n"),
    _RUN_OFFER: TIMED[_RUN_OFFER],  # ledgers close fast, and no payment may expire
    _OFFER: TIMES[_OFFER],
    _RESOLVE: ("class SystemLookup:", _HANGING),
    _CATALOG: ("def build_outbound(", _LOOKED_UP),
    _SEARCH: ("class Search:", _SLOW_SEARCH),
}

_RESERVED_FIRST: Final = """

async def _reserve_and_judge(self, request):
    return await self._reserve(request, None)


Payer._admit = _reserve_and_judge
"""
_ONE_QUEUE: Final = """

LOOKUP_S, KEPT_S = 30.0, 0.0
SystemLookup.__init__.__kwdefaults__ = {"limit": 24}


def limits_of_lookups(limit):
    return SlotLimits(limit, per_client=limit, wait_s=_SLOT_S, next_wait_s=_SLOT_S)
"""
_ONE_CIRCUIT: Final = """

def _share_circuit(own):
    return lambda self, wrapper_id, *more: own(self, "the host", *more)


for _name in ("wait_s", "admit", "end_trial", "record_answer"):
    setattr(UpstreamBreaker, _name, _share_circuit(getattr(UpstreamBreaker, _name)))


def _record_attempt(self, wrapper_id, payment, now, own=UpstreamBreaker.record_failure):
    own(self, "the host", object(), now)  # each attempt of a payment


UpstreamBreaker.record_failure = _record_attempt
"""
_NO_SHARE_OF_SLOTS: Final = """

UpstreamSlots.has_room_for = lambda self, wrapper: self._room.free > 0
"""
_NO_SHARE_OF_CALLS: Final = """

def limits_of_calls(max_calls):
    each = SlotLimits(max_calls, per_client=max_calls, wait_s=0, next_wait_s=0)
    return dict.fromkeys(CallKind, each)
"""
_NO_SHARE_OF_SEARCHES: Final = """

async def _find_in_one_queue(self, request, *, client="", own=Search.find):
    return await own(self, request)


Search.find = _find_in_one_queue
"""
_ONE_QUEUE_OF_PAYMENTS: Final = """

def _join_one_queue(self, client, deadline):
    return Ticket(client, 0, next(self._numbers), deadline)


LeaseQueue.issue_ticket = _join_one_queue
"""
_NO_SHARE_OF_PREVIEWS: Final = """

def simulating_for(purpose, client, own=simulating_for):
    return own(purpose, "all")
"""
_PLACES_OF_ALL: Final = """

async def count_other_keys(db, network, pay_to, owner, wrapper_id):
    return await db.fetchval(
        "SELECT count(*) FROM listings WHERE network = $1 AND pay_to = $2 AND removed_at IS NULL"
        " AND wrapper_id <> $3", network.value, pay_to, wrapper_id)
"""


class Control(StrEnum):
    """The defect of a build."""

    JUDGED = "a payment takes a place of the wrapper before it is judged"
    LOOKUPS = "all owners share the lookups, and wait for a name as long as the system does"
    BREAKER = "all wrappers of a host share one breaker"
    SLOTS = "an owner may take every upstream slot"
    CALLS = "an agent may make all calls"
    SEARCHES = "all searches wait in one queue"
    CHANNELS = "all payments wait for a channel in one queue"
    PREVIEWS = "all previews share the simulations of one client"
    PLACES = "the listings of all owners count for a recipient"

    @property
    def case(self) -> NeighboursCase:
        """The case that shows the defect."""
        if self in _OF_SITES:  # which have many addresses, each with a rate of its own
            return NeighboursCase(-1, 1, (_ATTACKS[self],), Origin.SITE)
        # that five payments fail in a row, with no honest one between them, takes some time
        rounds = 3 if self is Control.BREAKER else 1
        return NeighboursCase(-1, 1, (_ATTACKS[self],), Origin.ONE_KEY, rounds=rounds)

    def shows_in(self, outcome: NeighboursOutcome) -> bool:
        """Whether the outcome shows the defect."""
        if self is Control.PLACES:
            return outcome.lost > 0
        if self is Control.SEARCHES:  # who waits in a queue is served at last
            return outcome.ratios.get(SEARCH, 0.0) > 2 * RATIO_MOST
        if self is Control.CHANNELS:
            return bool(outcome.refused) or outcome.ratios.get(BUYER, 0.0) > RATIO_MOST
        return bool(outcome.refused)


_OF_SITES: Final = (Control.SEARCHES, Control.PREVIEWS)
# these compare times, so that nothing else may run beside them
TIMED_CONTROLS: Final = (Control.SEARCHES, Control.CHANNELS)
_ATTACKS: Final = {
    Control.JUDGED: Attack.MISSING,
    Control.LOOKUPS: Attack.HANGING,
    Control.BREAKER: Attack.FAILING,
    Control.SLOTS: Attack.SLOTS,
    Control.CALLS: Attack.AGENT_CALLS,
    Control.SEARCHES: Attack.SLOW_SEARCHES,
    Control.CHANNELS: Attack.CHANNELS,
    Control.PREVIEWS: Attack.PREVIEWS,
    Control.PLACES: Attack.PLACES,
}
_BROKEN: Final[Mapping[Control, tuple[str, str, str]]] = {
    Control.JUDGED: ("gateway/delivery/pay.py", "class Payer:", _RESERVED_FIRST),
    Control.LOOKUPS: (_RESOLVE, "class SystemLookup:", _ONE_QUEUE),
    Control.BREAKER: ("gateway/relay/breaker.py", "class UpstreamBreaker:", _ONE_CIRCUIT),
    Control.SLOTS: ("gateway/relay/relay.py", "class UpstreamSlots:", _NO_SHARE_OF_SLOTS),
    Control.CALLS: ("mcp/paid_call.py", "def limits_of_calls(", _NO_SHARE_OF_CALLS),
    Control.SEARCHES: (_SEARCH, "class Search:", _NO_SHARE_OF_SEARCHES),
    Control.CHANNELS: (
        "facilitator/channels/lease_queue.py", "class LeaseQueue:", _ONE_QUEUE_OF_PAYMENTS,
    ),
    Control.PREVIEWS: (
        "stellar/simulation_slots.py", "def simulating_for(", _NO_SHARE_OF_PREVIEWS,
    ),
    Control.PLACES: (
        "catalog/wrapper_listing_store.py", "async def count_other_keys(", _PLACES_OF_ALL,
    ),
}  # fmt: skip


def timed_sources(folder: Path) -> Path:
    """Write a copy of the sources that looks names up.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    return sources_with_ends(folder, _ENDS)


def broken_sources(folder: Path, control: Control) -> Path:
    """Write such a copy with one defect.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    module, replaced, end = _BROKEN[control]
    known = _ENDS[module][1] if module in _ENDS else ""
    return sources_with_ends(folder, {**_ENDS, module: (replaced, known + end)})
