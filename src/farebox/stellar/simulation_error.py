"""Which errors of a simulation are verdicts about the call, and which are failures of the node.

stellar-rpc answers HTTP 200 with `result.error` for both: the host's refusal of the call, and its
own trouble (a full queue, a panic, entries that stellar-core did not deliver). Only the host's own
error types and codes (`ScErrorType`, `ScErrorCode` in Stellar-contract.x) say anything about the
call; every other text is the node's failure.
"""

import re
from enum import Enum, auto
from typing import Final

_HOST_ERROR: Final = re.compile(
    r"HostError: Error\((?P<type>[A-Za-z]+), (?P<code>#[0-9]{1,10}|[A-Za-z]+)\)", re.ASCII
)
_CONTRACT: Final = "Contract"  # its codes are the contract's own numbers
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
# stellar-rpc turns a failed query to stellar-core into an entry that does not exist, so each of
# these may be said of an entry that is there: storage, and the asset contract's account and
# trustline (soroban-env-host, ContractError 6 and 13).
_MISSING_ENTRY: Final = frozenset(
    {("Storage", "MissingValue"), ("Contract", "#6"), ("Contract", "#13")}
)


class SimulationErrorKind(Enum):
    """What an error text says."""

    VERDICT = auto()  # the host refuses the call
    MISSING_ENTRY = auto()  # the host refuses it for an entry that is absent, or was not delivered
    NODE_FAILURE = auto()  # nothing about the call


def classify_simulation_error(text: str) -> SimulationErrorKind:
    """Read the first line of `result.error`; what follows is the host's event log."""
    named = _HOST_ERROR.match(text.partition("\n")[0])
    if named is None:
        return SimulationErrorKind.NODE_FAILURE
    error = (named["type"], named["code"])
    if error in _MISSING_ENTRY:
        return SimulationErrorKind.MISSING_ENTRY
    if error[0] == _CONTRACT:
        is_known = error[1].startswith("#")
    else:
        is_known = error[0] in _TYPES and error[1] in _CODES
    return SimulationErrorKind.VERDICT if is_known else SimulationErrorKind.NODE_FAILURE
