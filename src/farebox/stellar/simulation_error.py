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
# stellar-rpc turns a failed query to stellar-core into an entry that does not exist. So each of
# these may be said of an entry that is there: what the storage says, here or further down in the
# event log (a payer's account is read inside its authentication), and what the asset contract makes
# of it (soroban-env-host, ContractError: no account, no trustline, a new account).
_MISSING_VALUE: Final = "Error(Storage, MissingValue)"
_MISSING_ENTRY: Final = frozenset({"#6", "#13", "#14"})


class SimulationErrorKind(Enum):
    """What an error text says."""

    VERDICT = auto()  # the host refuses the call
    MISSING_ENTRY = auto()  # the host refuses it for an entry that is absent, or was not delivered
    NODE_FAILURE = auto()  # nothing about the call


def classify_simulation_error(text: str) -> SimulationErrorKind:
    """Read the first line of `result.error`, and the host's event log after it."""
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
