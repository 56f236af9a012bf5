"""The faults of the nodes in each case, with parameters and times."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

from prove.case import NodeFault
from prove.nodes_interceptor import LEDGER_S, NO_FAULTS, FaultSet

T = TypeVar("T")


class NodeKind(StrEnum):
    """A kind of fault of a node."""

    LAG = "it is some ledgers behind"
    ALTERNATE = "two nodes behind one address, one of them behind"
    STEP_BACK = "it falls behind and catches up, again and again"
    AHEAD = "it names ledgers that have not closed"
    INGESTION = "its transactions are behind its ledgers"
    FORGETFUL = "it remembers a few ledgers"
    EMPTY_LIST = "it lists nothing"
    CURSOR = "its cursors are those of another release"
    SIMULATION = "its simulations fail for a reason of its own"
    MISSING_ENTRY = "its simulations miss an entry just after a ledger"
    NO_EVENTS = "its simulations have no events"
    ERROR_BEFORE = "it answers an error and does nothing"
    ERROR_AFTER = "it answers an error and does what was asked"
    HTTP = "a gateway answers in its place"
    SENDING = "it takes no transaction, or passes none on"
    TORN = "it looks up a transaction before it reads its ledger range"
    TORN_SEARCH = "the same, and the search for another use of the payment fails"
    OUTLIVED = "it shows no transaction until the time bound has passed"
    LARGE = "its answers grow to 16 MB, and every ledger stays large"
    MIXED = "two of these at once"


@dataclass(frozen=True, slots=True)
class Phase:
    """The faults of both nodes for some seconds."""

    seconds: float
    first: FaultSet
    second: FaultSet = NO_FAULTS


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """The faults of a case, in order."""

    phases: tuple[Phase, ...]
    lasting: FaultSet = NO_FAULTS  # from before the service starts to the end
    outlives: bool = False  # the ledger time passes the time bounds during the fault

    def __str__(self) -> str:
        shown = dict.fromkeys(f"{each.first} / {each.second}" for each in self.phases)
        return ", ".join(shown)


_PHASE_S: Final = 3.0
_OUTLIVED_S: Final = 3.2  # a few ledgers after the time bound
_STEP_S: Final = 0.7
_GAP_S: Final = 0.3  # from a ledger's publication until stellar-core answers queries about it
_LEDGERS: Final = (1, 2, 3, 4, 5, 6)
_LOOK: Final = ("getTransaction", "getTransactions")
_SEARCH: Final = ("getLedgerEntries", "getEvents")
_SIMULATE: Final = ("simulateTransaction",)
_SEND: Final = ("sendTransaction",)
_SCOPES: Final[tuple[tuple[str, ...], ...]] = ((), _LOOK, _SIMULATE, _SEND, (*_LOOK, *_SEARCH))
_MB: Final = 1_000_000

# the texts of stellar-rpc v28 and of its JSON-RPC library
_QUEUE_FULL: Final = "rpc queue for {method} surpassed queue limit of 100 requests"
_ERRORS: Final[tuple[tuple[int, str], ...]] = (
    (-32001, "request exceeded processing limit threshold"),
    (-32003, "panic: runtime error: invalid memory address or nil pointer dereference"),
    (-32603, "could not get ledger entries from stellar-core"),
    (-32098, _QUEUE_FULL.format(method="getTransaction")),
    (-32600, "startLedger must be within the ledger range: 1 - 2"),
    (-32602, "database does not contain metadata for ledger: 9000000"),
    (-32603, "could not submit transaction to stellar-core"),
)
_AFTER_THE_CALL: Final = (0, 1, 2, 6)  # the others prove that a transaction was not submitted
_NODE_FAILURES: Final = (  # as the error of a simulation
    "preflight queue full",
    "panic during preflight() call: called `Option::unwrap()` on a `None` value",
    "setting ConfigSettingContractComputeV0 is not present in the snapshot",
    "could not query stellar-core: context deadline exceeded",
)
_LOG: Final = "\n\nEvent log (newest first):\n   0: [Diagnostic Event] topics:[error, {named}]"
_MISSING: Final = tuple(
    f"HostError: {named}{_LOG.format(named=named)}"
    for named in ("Error(Storage, MissingValue)", "Error(Contract, #13)")
)
_GATEWAYS: Final[tuple[Mapping[str, object], ...]] = (
    {"status": 503, "body": ""},
    {"status": 504, "body": "", "when": "after"},
    {"status": 429, "body": "", "retry_after_s": 1},
    {"status": 429, "body": "slow down"},
    {"status": 502, "body": "<html>bad gateway</html>"},
    {"status": 504, "body": ""},
)


def _fault(kind: str, *, methods: Sequence[str] = (), **values: object) -> NodeFault:
    rule = {"methods": tuple(methods)} if methods else {}
    return NodeFault({"kind": kind, **values}, rule)


def _error(number: int, when: str, methods: Sequence[str]) -> NodeFault:
    code, message = _ERRORS[number % len(_ERRORS)]
    return _fault("rpc_error", methods=methods, code=code, message=message, when=when)


@dataclass(frozen=True, slots=True)
class _Draw:
    """Chooses the parameters of a case: each in turn over the seeds, or at random."""

    number: int
    rng: random.Random

    def each(self, options: Sequence[T]) -> T:
        return options[self.number % len(options)]

    def some(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)


def _steady(*faults: NodeFault, is_alternating: bool = False) -> FaultPlan:
    return FaultPlan((Phase(_PHASE_S, FaultSet(faults, is_alternating=is_alternating)),))


def _outliving(*faults: NodeFault) -> FaultPlan:
    return FaultPlan((Phase(_OUTLIVED_S, FaultSet(faults)),), outlives=True)


def _stale(draw: _Draw) -> NodeFault:
    return _fault("stale", ledgers=draw.each(_LEDGERS))


def _step_back(draw: _Draw) -> FaultPlan:
    steps = [draw.each(_LEDGERS), draw.some(_LEDGERS), draw.some(_LEDGERS)]
    phases = []
    for ledgers in steps:
        phases.append(Phase(_STEP_S, FaultSet((_fault("stale", ledgers=ledgers),))))
        phases.append(Phase(_STEP_S, NO_FAULTS))
    return FaultPlan(tuple(phases))


def _missing_entry(draw: _Draw) -> FaultPlan:
    fault = _fault("simulation_error", methods=_SIMULATE, text=draw.each(_MISSING))
    return FaultPlan((Phase(4 * LEDGER_S, FaultSet((fault,), after_close_s=_GAP_S)),))


def _sending(draw: _Draw) -> FaultPlan:
    kind = draw.each(("filtered", "out_of_sync", "try_again_later"))
    return _steady(_fault(kind))


def _torn(draw: _Draw) -> FaultPlan:
    torn = _fault("torn_lookup", ledgers=draw.each((10, *_LEDGERS[::-1])))
    hidden = _fault("empty_list", methods=("getTransactions",))
    faults = (torn, hidden) if draw.rng.random() < 0.5 else (torn,)
    return _outliving(*faults)


def _torn_search(draw: _Draw) -> FaultPlan:
    torn = _fault("torn_lookup", ledgers=draw.some(_LEDGERS[2:]))
    searches = [
        *(_error(number, "before", ("getEvents",)) for number in range(len(_ERRORS))),
        _fault("stale", methods=_SEARCH, ledgers=4),
        _fault("http", methods=_SEARCH, status=503, body=""),
        _fault("trimmed_history", methods=("getEvents",), ledgers=1),
    ]
    return _outliving(torn, draw.each(searches))


def _outlived(draw: _Draw) -> FaultPlan:
    hidden = [
        (_fault("stale", ledgers=draw.some(_LEDGERS)),),
        (_fault("ingestion_delay", ledgers=draw.some(_LEDGERS)),),
        (_error(draw.rng.randrange(4), "before", _LOOK),),
        (_fault("http", methods=_LOOK, status=503, body=""),),
        (_fault("ahead", ledgers=draw.some(_LEDGERS)), _fault("empty_list")),
    ]
    return _outliving(*draw.each(hidden))


def _large(draw: _Draw) -> FaultPlan:
    lasting = _fault("pad", methods=("getLatestLedger",), bytes=draw.each((6 * _MB, 16 * _MB)))
    grown = _fault("pad", bytes=draw.each((16 * _MB, 5 * _MB, 2 * _MB)))
    return replace(_steady(grown), lasting=FaultSet((lasting,)))


def _mixed(draw: _Draw) -> FaultPlan:
    first, second = draw.rng.sample(_SIMPLE, 2)
    faults = [fault for kind in (first, second) for fault in _first_faults(_PLANS[kind](draw))]
    return _steady(*faults, is_alternating=draw.rng.random() < 0.5)


def _first_faults(plan: FaultPlan) -> tuple[NodeFault, ...]:
    return plan.phases[0].first.faults


_SIMPLE: Final = (
    NodeKind.LAG,
    NodeKind.INGESTION,
    NodeKind.CURSOR,
    NodeKind.SIMULATION,
    NodeKind.ERROR_BEFORE,
)
_PLANS: Final[Mapping[NodeKind, Callable[[_Draw], FaultPlan]]] = {
    NodeKind.LAG: lambda draw: _steady(_stale(draw)),
    NodeKind.ALTERNATE: lambda draw: _steady(_stale(draw), is_alternating=True),
    NodeKind.STEP_BACK: _step_back,
    NodeKind.AHEAD: lambda draw: _steady(_fault("ahead", ledgers=draw.each(_LEDGERS))),
    NodeKind.INGESTION: lambda draw: _steady(
        _fault("ingestion_delay", ledgers=draw.each(_LEDGERS))
    ),
    NodeKind.FORGETFUL: lambda draw: _steady(
        _fault("trimmed_history", ledgers=draw.each((1, 2, 3, 5, 10)))
    ),
    NodeKind.EMPTY_LIST: lambda draw: _steady(
        _fault("empty_list"), is_alternating=draw.each((False, True))
    ),
    NodeKind.CURSOR: lambda draw: _steady(
        _fault("cursor", mode=draw.each(("zero", "rewind", "echo", "empty")))
    ),
    NodeKind.SIMULATION: lambda draw: _steady(
        _fault("simulation_error", methods=_SIMULATE, text=draw.each(_NODE_FAILURES))
    ),
    NodeKind.MISSING_ENTRY: _missing_entry,
    NodeKind.NO_EVENTS: lambda draw: _steady(_fault("no_simulation_events")),
    NodeKind.ERROR_BEFORE: lambda draw: _steady(_error(draw.number, "before", draw.some(_SCOPES))),
    NodeKind.ERROR_AFTER: lambda draw: _steady(
        _error(draw.each(_AFTER_THE_CALL), "after", draw.some(_SCOPES))
    ),
    NodeKind.HTTP: lambda draw: _steady(
        _fault("http", methods=draw.some(_SCOPES), **draw.each(_GATEWAYS))
    ),
    NodeKind.SENDING: _sending,
    NodeKind.TORN: _torn,
    NodeKind.TORN_SEARCH: _torn_search,
    NodeKind.OUTLIVED: _outlived,
    NodeKind.LARGE: _large,
    NodeKind.MIXED: _mixed,
}


def plan_of(kind: NodeKind, seed: int, *, nodes: int) -> FaultPlan:
    """Plan the faults of a case; twenty seeds use each parameter with one node and with two.

    The second of two nodes has no fault, is one to three ledgers behind, or has the same faults.
    """
    rng = random.Random(f"{kind.name} {seed}")
    plan = _PLANS[kind](_Draw((seed - 1) // 2, rng))
    if nodes == 1:
        return plan
    behind = FaultSet((_fault("stale", ledgers=rng.randint(1, 3)),))
    other = rng.choice((NO_FAULTS, NO_FAULTS, behind, None))
    phases = (replace(each, second=each.first if other is None else other) for each in plan.phases)
    return replace(plan, phases=tuple(phases))
