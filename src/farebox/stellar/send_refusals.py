"""Which refusals of `sendTransaction` prove that nothing was submitted.

Each is an answer of stellar-rpc that comes before the transaction reaches stellar-core. Any other
may come after it: an internal error ("could not submit transaction to stellar-core" is a timeout
of two seconds), a processing limit, a panic, and every HTTP status but 200, because a gateway
sends those (429 and 503 included) without saying how far the request got.
"""

import re
from typing import Final

_INVALID_REQUEST: Final = -32600  # the JSON-RPC layer refuses the request
_NO_SUCH_METHOD: Final = -32601
_INVALID_PARAMS: Final = -32602  # the envelope cannot be read
_UNREADABLE: Final = -32700
_BEFORE_CORE: Final = frozenset({_INVALID_REQUEST, _NO_SUCH_METHOD, _INVALID_PARAMS, _UNREADABLE})
_INTERNAL: Final = -32603
_NOT_TAKEN: Final = "invalid status from stellar-core"  # core filtered the transaction
_QUEUE_FULL: Final = re.compile(
    r"rpc queue for \w+ surpassed queue limit of \d+ requests", re.ASCII
)


def rpc_error_proves_unsent(code: int, message: str) -> bool:
    """Whether a JSON-RPC error of `sendTransaction` comes before any submission."""
    if code in _BEFORE_CORE or _QUEUE_FULL.match(message):
        return True
    return code == _INTERNAL and message == _NOT_TAKEN
