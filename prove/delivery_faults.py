"""What the node and the database do in a hostile case."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from prove.ask_node import read_newest
from prove.environment import Environment
from prove.interceptor import Boundary, ConnectionCut
from prove.run_envelopes import read_run_envelope

T = TypeVar("T")
_LATE_S: Final = 0.5


class Outage:
    """Breaks every call to the node while it lasts."""

    def __init__(self) -> None:
        self.is_over = False

    async def __call__(self, boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call, unless the node is away."""
        if not self.is_over and boundary.label.startswith("rpc"):
            raise ConnectionCut
        return await deliver()


async def read_late(boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
    """Delay what the service asks before it passes a long response on."""
    if "SELECT attempt_until" in boundary.label:
        await asyncio.sleep(_LATE_S)
    return await deliver()


class SendPolicy(StrEnum):
    """What a node does with an envelope, and what it says."""

    TAKES = "takes it and says so"
    DENIES = "takes it and says TRY_AGAIN_LATER"
    DROPS = "says PENDING and drops it"
    REFUSES = "says TRY_AGAIN_LATER and drops it"


class ContradictingNode:
    """Answers the first envelopes of the case as drawn; then it is an honest node."""

    def __init__(self, environment: Environment, policies: Sequence[SendPolicy]) -> None:
        self._environment = environment
        self._policies = list(policies)
        self._known: dict[str, SendPolicy] = {}

    async def __call__(self, body: bytes, forward: Callable[[], Awaitable[Any]]) -> Any:
        """Forward a call, or answer it in the node's place."""
        call = msgspec.json.decode(body, type=dict[str, Any])
        if call["method"] != "sendTransaction":
            return await forward()
        envelope = call["params"]["transaction"]
        if envelope not in self._known:
            default = SendPolicy.TAKES
            self._known[envelope] = self._policies.pop(0) if self._policies else default
        policy = self._known[envelope]
        if policy is SendPolicy.TAKES:
            return await forward()
        if policy is SendPolicy.DENIES:
            await forward()
        sent = read_run_envelope(envelope)
        ledger, closed_at = await read_newest(self._environment)
        is_dropped = policy is SendPolicy.DROPS
        result = {
            "hash": sent.tx_hash if sent else "",
            "status": "PENDING" if is_dropped else "TRY_AGAIN_LATER",
            "latestLedger": ledger,
            "latestLedgerCloseTime": str(closed_at),
        }
        answer = {"jsonrpc": "2.0", "id": call["id"], "result": result}
        return 200, msgspec.json.encode(answer), {}
