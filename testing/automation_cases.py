"""The plans of the end-to-end run of automation: each kind in each mode that applies, as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from farebox.kernel.networks import Network
from testing.plan_specs import Json, feed, payments, portfolio, purchase, spending_call, upkeep

SOLD: Final = 1_000
LEGS: Final = (101, 102)  # what the recipients of a disbursement get
INTERVAL_S: Final = 60
RUNS: Final = 3  # that each plan makes on schedule

_CALL, _DCA = PlanKind.CONTRACT_CALL, PlanKind.DCA
_BALANCE, _PAY = PlanKind.REBALANCE, PlanKind.DISBURSEMENT
OPEN, PRESIGNED = AuthorityMode.OPEN, AuthorityMode.PRESIGNED
MANDATE, SESSION = AuthorityMode.MANDATE, AuthorityMode.SESSION
APPLIES: Final[Mapping[AuthorityMode, tuple[PlanKind, ...]]] = MappingProxyType(
    {
        OPEN: (_CALL, _BALANCE),
        PRESIGNED: (_CALL, _PAY),
        MANDATE: (_CALL, _DCA, _BALANCE, _PAY),
        SESSION: (_CALL, _DCA, _PAY),
    }
)
GENERATIONS: Final = ("c", "d")  # of smart accounts that take a session


@dataclass(frozen=True, slots=True)
class Case:
    """A kind in a mode; `generation` is that of the smart account, empty for a classic one."""

    kind: PlanKind
    mode: AuthorityMode
    generation: str = ""

    @property
    def name(self) -> str:
        """The name of the case in progress lines and faults."""
        return f"{self.kind} {self.mode} {self.generation}".strip()

    @property
    def has_delegate(self) -> bool:
        """Whether a key of the service signs its runs."""
        return self.mode in (MANDATE, SESSION)


@dataclass(frozen=True, slots=True)
class Place:
    """The contracts that plans of one case call, and accounts that they pay."""

    asset: str
    native: str
    keeper: str
    other_keeper: str
    pair: str
    router: str
    other_router: str
    oracle: str
    recipients: tuple[str, ...]
    stranger: str


@dataclass(frozen=True, slots=True)
class Timing:
    """When the runs of a plan are due, how many there are, and when its session ends."""

    start: datetime = field(default_factory=lambda: soon(INTERVAL_S + 15))
    end: datetime = field(default_factory=lambda: soon(7_200))
    runs: int = RUNS + 2


def cases(*, quick: bool) -> list[Case]:
    """Every case; with `quick` one of each mode."""
    found = []
    for mode, kinds in APPLIES.items():
        generations = GENERATIONS if mode is SESSION else ("",)
        every = [Case(kind, mode, each) for each in generations for kind in kinds]
        found += every[-1:] if quick else every
    return found


def soon(seconds: float) -> datetime:
    """A moment from now."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def plan_body(case: Case, place: Place, account: str, timing: Timing, title: str) -> Json:
    """The body of a proposal."""
    schedule = {"type": "interval", "everySeconds": INTERVAL_S, "startAt": _text(timing.start)}
    return {
        "kind": case.kind.value,
        "network": Network.TESTNET.value,
        "account": account,
        "title": title,
        "schedule": schedule,
        "spec": _spec(case, place),
        "runLimit": timing.runs,
        "authorityMode": case.mode.value,
        # all runs are made up for: a busy machine delays them and loses none
        "missedRuns": "catch_up_all",
        "expiresAt": _text(timing.end),
        "allowDuplicate": True,
    }


def _spec(case: Case, place: Place) -> Json:
    if case.kind is _CALL:
        return _CALLS[case.mode](place)
    if case.kind is _DCA:
        return purchase(place.asset, place.native, SOLD)
    if case.kind is _BALANCE:
        tokens = (place.asset, place.native)
        own = {"strategy": place.keeper} if case.mode is OPEN else {}
        return portfolio(tokens, place.oracle, SOLD) | own
    return payments(place.asset, zip(place.recipients, LEGS, strict=True))


def _feed(place: Place) -> Json:
    return feed(place.keeper, place.asset, SOLD)


def _transfer(place: Place) -> Json:
    """Call the token itself: a signed entry cannot bound what a contract takes by its own call."""
    return spending_call(place.asset, "transfer", place.recipients[0], place.asset, SOLD)


_CALLS: Final[Mapping[AuthorityMode, Callable[[Place], Json]]] = MappingProxyType(
    {
        OPEN: lambda place: upkeep(place.keeper),
        PRESIGNED: _transfer,
        MANDATE: _feed,
        SESSION: _feed,
    }
)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
