"""Builds of the service for the proof of neighbours: the sound one, and those that must fail.

Those that must fail have one limit each as it was before callers had shares.
"""

from collections.abc import Callable, Sequence
from typing import Final

from prove.broken_build import Build, End
from prove.delivery_control import LONG_OFFER
from prove.neighbours_attackers import SLOWLY, Attack
from prove.neighbours_case import RATIO_MOST, NeighboursCase, NeighboursOutcome
from prove.neighbours_ground import Origin
from prove.neighbours_honest import BUYER, SEARCH
from prove.owner_stage import LONG_RUN_OFFER
from prove.run_cases import Control

NeighboursControl = Control[NeighboursCase, NeighboursOutcome]
_RESOLVE: Final = "outbound/resolve.py"
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
TIMED: Final = Build(
    (
        # ledgers close ten times as fast as on a real network, and leases go back as often as there
        End(
            "facilitator/channels/channel_leases.py",
            "class ChannelLeases:",
            "\n\nPASS_ON_S = 1.0\n",
        ),
        LONG_RUN_OFFER,
        LONG_OFFER,
        End(_RESOLVE, "class SystemLookup:", _HANGING),
        End("app/catalog_services.py", "def build_outbound(", _LOOKED_UP),
        End(_SEARCH, "class Search:", _SLOW_SEARCH),
    )
)

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


def _alone(attack: Attack, rounds: int = 1) -> NeighboursCase:
    return NeighboursCase(-1, 1, (attack,), Origin.ONE_KEY, rounds=rounds)


def _of_site(attack: Attack) -> NeighboursCase:
    """A site has many addresses, each with a rate of its own."""
    return NeighboursCase(-1, 1, (attack,), Origin.SITE)


def _is_refused(outcomes: Sequence[NeighboursOutcome]) -> bool:
    return any(each.refused for each in outcomes)


def _is_lost(outcomes: Sequence[NeighboursOutcome]) -> bool:
    return any(each.lost for each in outcomes)


def _waits(kind: str, times: float) -> Callable[[Sequence[NeighboursOutcome]], bool]:
    return lambda outcomes: any(each.ratios.get(kind, 0.0) > times for each in outcomes)


def _is_refused_or_waits(outcomes: Sequence[NeighboursOutcome]) -> bool:
    return _is_refused(outcomes) or _waits(BUYER, RATIO_MOST)(outcomes)


def _control(
    name: str,
    defect: str,
    shows: Callable[[Sequence[NeighboursOutcome]], bool],
    case: NeighboursCase,
    end: End,
) -> NeighboursControl:
    return Control(name, (case,), TIMED.with_ends(end), shows, defect)


CONTROLS: Final[tuple[NeighboursControl, ...]] = (
    _control(
        "judged", "a payment takes a place of the wrapper before it is judged", _is_refused,
        _alone(Attack.MISSING), End("gateway/delivery/pay.py", "class Payer:", _RESERVED_FIRST),
    ),
    _control(
        "lookups", "all owners share the lookups, and wait for a name as long as the system does",
        _is_refused, _alone(Attack.HANGING), End(_RESOLVE, "class SystemLookup:", _ONE_QUEUE),
    ),
    # that five payments fail in a row, with no honest one between them, takes some time
    _control(
        "breaker", "all wrappers of a host share one breaker", _is_refused,
        _alone(Attack.FAILING, rounds=3),
        End("gateway/relay/breaker.py", "class UpstreamBreaker:", _ONE_CIRCUIT),
    ),
    _control(
        "slots", "an owner may take every upstream slot", _is_refused, _alone(Attack.SLOTS),
        End("gateway/relay/relay.py", "class UpstreamSlots:", _NO_SHARE_OF_SLOTS),
    ),
    _control(
        "calls", "an agent may make all calls", _is_refused, _alone(Attack.AGENT_CALLS),
        End("mcp/paid_call.py", "def limits_of_calls(", _NO_SHARE_OF_CALLS),
    ),
    _control(
        "previews", "all previews share the simulations of one client", _is_refused,
        _of_site(Attack.PREVIEWS),
        End("stellar/simulation_slots.py", "def simulating_for(", _NO_SHARE_OF_PREVIEWS),
    ),
    _control(
        "places", "the listings of all owners count for a recipient", _is_lost,
        _alone(Attack.PLACES),
        End("catalog/wrapper_listing_store.py", "async def count_other_keys(", _PLACES_OF_ALL),
    ),
)  # fmt: skip
# these compare times, so that nothing else may run beside them
TIMED_CONTROLS: Final[tuple[NeighboursControl, ...]] = (
    # who waits in a queue is served at last
    _control(
        "searches", "all searches wait in one queue", _waits(SEARCH, 2 * RATIO_MOST),
        _of_site(Attack.SLOW_SEARCHES), End(_SEARCH, "class Search:", _NO_SHARE_OF_SEARCHES),
    ),
    _control(
        "channels", "all payments wait for a channel in one queue", _is_refused_or_waits,
        _alone(Attack.CHANNELS),
        End("facilitator/channels/lease_queue.py", "class LeaseQueue:", _ONE_QUEUE_OF_PAYMENTS),
    ),
)  # fmt: skip
