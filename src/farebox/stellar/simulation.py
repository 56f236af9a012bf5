"""A simulation's result as a value: cost and events, a refusal, or an unreadable response."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Final

from farebox.stellar.events import (
    MAX_EVENT_BYTES,
    ContractEvent,
    EventKind,
    decode_diagnostic_event,
)
from farebox.stellar.soroban_data import Resources, read_resources
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

_HOST_ERROR: Final = re.compile(
    r"HostError: Error\((?P<type>[A-Za-z]+), (?P<code>#[0-9]{1,10}|[A-Za-z]+)\)", re.ASCII
)
_CONTRACT: Final = "Contract"  # its codes are the contract's own numbers
_AUTH: Final = "Auth"
_ACCOUNT_CHECK: Final = re.compile(
    r"__check_auth, Error\(Contract, #(?P<code>[0-9]{1,10})\)", re.ASCII
)
_TYPES: Final = frozenset(
    {"WasmVm", "Context", "Storage", "Object", "Crypto", "Events", "Budget", "Value", "Auth"}
)
# Without InternalError: with it the host reports a failure of its own, or of what feeds it.
_CODES: Final = frozenset(
    {
        "ArithDomain",
        "IndexBounds",
        "InvalidInput",
        "MissingValue",
        "ExistingValue",
        "ExceededLimit",
        "InvalidAction",
        "UnexpectedType",
        "UnexpectedSize",
    }
)
# stellar-rpc turns a failed query to stellar-core into an entry that does not exist. So each of
# these may concern an entry that exists: the error of the storage, in the first line or the event
# log (a payer's account is read inside its authentication), and the error that the asset contract
# makes of it (soroban-env-host, ContractError: no account, no trustline, a new account).
_MISSING_VALUE: Final = "Error(Storage, MissingValue)"
_MISSING_ENTRY: Final = frozenset({"#6", "#13", "#14"})


class SimulationErrorKind(Enum):
    """The kind of an error text.

    stellar-rpc answers HTTP 200 with `result.error` for the host's refusal of the call and for its
    own failures (a full queue, a panic, entries that stellar-core did not deliver). Only the host's
    error types and codes (`ScErrorType`, `ScErrorCode` in Stellar-contract.x) concern the call.
    """

    VERDICT = auto()  # the host refuses the call
    MISSING_ENTRY = auto()  # the host refuses it for an entry that is absent or was not delivered
    NODE_FAILURE = auto()  # of the node itself


def classify_simulation_error(text: str) -> SimulationErrorKind:
    """Classify `result.error` by its first line and the host's event log after it."""
    named = _HOST_ERROR.match(text.partition("\n")[0])
    if named is None:
        return SimulationErrorKind.NODE_FAILURE
    kind, code = named["type"], named["code"]
    is_contracts = kind == _CONTRACT and code.startswith("#")
    if not (is_contracts or (kind in _TYPES and code in _CODES)):
        return SimulationErrorKind.NODE_FAILURE
    if _MISSING_VALUE in text or (is_contracts and code in _MISSING_ENTRY):
        return SimulationErrorKind.MISSING_ENTRY
    return SimulationErrorKind.VERDICT


MAX_EVENTS: Final = 4_096  # diagnostics included
MAX_RESOURCE_DATA_BYTES: Final = 132_096  # it must fit a transaction
_ERROR_TEXT_LIMIT: Final = 65_536  # characters looked at
_MAX_LEDGER: Final = 2**32 - 1
_KIND_WINDOW_CHARS: Final = 64  # base64 of 48 bytes, in which the kind of an event always lies


class RefusalKind(StrEnum):
    """The reason why the network would refuse a call, by the words of the error."""

    NONCE_USED = "nonce_used"
    EXPIRED = "expired"
    SIGNATURE = "signature"
    BALANCE = "balance"
    TRUSTLINE = "trustline"
    ARCHIVED = "archived"
    BUDGET = "budget"
    UNREADABLE_EVENT = "unreadable_event"  # it may succeed, but its effect cannot be judged
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Simulated:
    """The call would succeed as of `latest_ledger`, according to `nodes` (their roles)."""

    soroban_data: bytes = field(repr=False)  # goes into the transaction as it is
    resources: Resources
    events: tuple[ContractEvent, ...]  # in order, without the host's diagnostics
    latest_ledger: int
    nodes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def resource_fee(self) -> int:
        """Stroops, the inclusion fee not counted."""
        return self.resources.resource_fee


@dataclass(frozen=True, slots=True)
class SimulationRefused:
    """The call would fail, or cannot be judged, as of `latest_ledger`.

    `entry_is_missing`: the host misses an entry that does not exist, or that the node did not
    deliver. A simulation as of a later ledger shows which. `contract_error` is the number of the
    contract's own error that the call, or the check of a contract account, ended with; None for an
    error of the host.
    """

    kind: RefusalKind
    latest_ledger: int
    entry_is_missing: bool = False
    contract_error: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NeedsRestore:
    """The call would succeed only after, or while paying for, the restoration of an entry."""

    latest_ledger: int


@dataclass(frozen=True, slots=True)
class UnreadableSimulation:
    """The node's response is not a simulation of a known form; `part` names the wrong member."""

    part: str


Simulation = Simulated | SimulationRefused | NeedsRestore | UnreadableSimulation


def read_simulation(result: Mapping[str, object]) -> Simulation:
    """Read the `result` member of a simulateTransaction response; total over all mappings."""
    latest_ledger = result.get("latestLedger")
    if type(latest_ledger) is not int or not 0 < latest_ledger <= _MAX_LEDGER:
        return UnreadableSimulation("latestLedger")
    error = result.get("error")
    if isinstance(error, str):
        return _read_error(error[:_ERROR_TEXT_LIMIT], latest_ledger)
    if error is not None:
        return UnreadableSimulation("error")
    if result.get("restorePreamble") is not None:
        return NeedsRestore(latest_ledger)
    return _read_success(result, latest_ledger)


def _read_error(text: str, latest_ledger: int) -> SimulationRefused | UnreadableSimulation:
    kind = classify_simulation_error(text)
    if kind is SimulationErrorKind.NODE_FAILURE:
        return UnreadableSimulation("error")
    is_missing = kind is SimulationErrorKind.MISSING_ENTRY
    return SimulationRefused(
        _classify(text),
        latest_ledger,
        entry_is_missing=is_missing,
        contract_error=_contract_error(text),
    )


def _contract_error(text: str) -> int | None:
    named = _HOST_ERROR.match(text.partition("\n")[0])
    if named is None:
        return None
    if named["type"] == _AUTH:  # the host replaces the error of an account's check by its own
        checked = _ACCOUNT_CHECK.search(text)
        return None if checked is None else int(checked["code"])
    code = named["code"] if named["type"] == _CONTRACT else ""
    return int(code[1:]) if code.startswith("#") else None


def _read_success(result: Mapping[str, object], latest_ledger: int) -> Simulation:
    soroban_data = _decode(result.get("transactionData"))
    resources = _resources(soroban_data)
    if resources is None:
        return UnreadableSimulation("transactionData")
    if resources.archived_entries:  # restored on the way, at the fee payer's cost
        return NeedsRestore(latest_ledger)
    encoded = _encoded_events(result.get("events"))
    if encoded is None:
        return UnreadableSimulation("events")
    events = [decode_diagnostic_event(raw) for raw in encoded]
    readable = tuple(event for event in events if event is not None)
    if len(readable) < len(events):  # one of a contract's making, and it might be the one
        return SimulationRefused(RefusalKind.UNREADABLE_EVENT, latest_ledger)
    return Simulated(soroban_data, resources, readable, latest_ledger)


def _decode(text: object) -> bytes:
    if not isinstance(text, str):
        return b""
    try:
        return decode_base64(text, max_bytes=MAX_RESOURCE_DATA_BYTES)
    except Malformed:
        return b""


def _resources(soroban_data: bytes) -> Resources | None:
    reader = XdrReader(soroban_data)
    try:
        resources = read_resources(reader)
        reader.finish()
    except Malformed:
        return None
    return resources


def _encoded_events(listed: object) -> list[bytes] | None:
    """The events of contracts and of the network, encoded; None when `listed` is no such list."""
    if not isinstance(listed, list) or len(listed) > MAX_EVENTS:
        return None
    encoded = []
    for text in listed:
        if not isinstance(text, str):
            return None
        try:
            if not _is_diagnostic(text):
                encoded.append(decode_base64(text, max_bytes=MAX_EVENT_BYTES))
        except Malformed:
            return None
    return encoded


def _is_diagnostic(encoded: str) -> bool:
    """Whether the event is a diagnostic, by its first bytes: they are many and none is judged."""
    try:
        reader = XdrReader(decode_base64(encoded[:_KIND_WINDOW_CHARS], max_bytes=48))
        reader.flag()
        reader.expect(0)
        reader.skip(32 if reader.flag() else 0)
        return reader.uint32() == EventKind.DIAGNOSTIC
    except Malformed:
        return False


# The first line names the error the call ended with; the event log that follows has the words.
_BY_FIRST_LINE: Final = (
    ("Error(Budget,", RefusalKind.BUDGET),
    ("Error(Contract, #10)", RefusalKind.BALANCE),
    ("Error(Contract, #13)", RefusalKind.TRUSTLINE),
)
_BY_WORDS: Final = (
    ("nonce already exists", RefusalKind.NONCE_USED),
    ("signature has expired", RefusalKind.EXPIRED),
    ("archived", RefusalKind.ARCHIVED),
    ("does not belong to account", RefusalKind.SIGNATURE),
    ("failed account authentication", RefusalKind.SIGNATURE),
)


def _classify(text: str) -> RefusalKind:
    first_line = text.partition("\n")[0]
    kinds = [kind for words, kind in _BY_FIRST_LINE if words in first_line]
    kinds += [kind for words, kind in _BY_WORDS if words in text]
    return kinds[0] if kinds else RefusalKind.OTHER
