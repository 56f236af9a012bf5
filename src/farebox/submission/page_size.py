"""How many transactions to ask for in one page of a listing."""

from typing import Final

from farebox.stellar.rpc import RpcUnavailable

_LARGEST: Final = 200  # the most a node gives; some 12 KB each, below the most an answer may have
_SMALLEST: Final = 25


class PageSize:
    """Shrinks after an answer that may have been too large, and grows again after a good one."""

    def __init__(self) -> None:
        self.limit = _LARGEST

    def succeeded(self) -> None:
        """A page of this size came through."""
        self.limit = min(_LARGEST, self.limit * 2)

    def failed(self, outage: RpcUnavailable) -> None:
        """There was no page; a refusal by the node itself says nothing of its size."""
        if outage.code is None:
            self.limit = max(_SMALLEST, self.limit // 2)
