"""One replica replaces an envelope that the network lost, while another one watches it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from prove.caller import Caller
from prove.environment import Environment, Replica
from prove.interceptor import Boundary
from prove.payment_check import Answer, read_row

SETTINGS: Final[Mapping[str, str]] = {"FAREBOX_SETTLE_DEADLINE_S": "8"}
OF_WATCHER: Final[Mapping[str, str]] = {"FAREBOX_SETTLE_DEADLINE_S": "3"}  # the second replica
SEND: Final = "rpc sendTransaction"
_LOST: Final = {"kind": "out_of_sync"}  # accepted, and never forwarded
_LOOK: Final = "rpc getTransaction"
_LOOK_S: Final = 0.02
_SENT_WITHIN_S: Final = 4.0


async def drop_first_envelope(environment: Environment) -> None:
    """Have the node accept the next envelope and not forward it."""
    await environment.devnet.fault(_LOST, methods=("sendTransaction",), count=1)


def send_in_turn(
    environment: Environment, caller: Caller, replicas: Sequence[Replica], *, lag_s: float
) -> list["asyncio.Task[Answer]"]:
    """Send the request to the first replica, and to the second once the envelope was sent.

    The calls of the second replica take `lag_s` longer, so that it learns that the envelope is dead
    after the first one has replaced it. The ledger time passes the time bound once both watch.
    """
    first, second = replicas
    first_request = asyncio.create_task(caller.ask(first))
    second.interceptor.pause = lambda: lag_s

    async def follow() -> Answer:
        await _wait_until_submitted(environment, caller, first_request)
        second_request = asyncio.create_task(caller.ask(second))
        await _wait_until_watched(second, (first_request, second_request))
        await environment.ledger_closer.expire_sent()
        return await second_request

    return [first_request, asyncio.create_task(follow())]


async def _wait_until_submitted(
    environment: Environment, caller: Caller, first_request: "asyncio.Task[Answer]"
) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + _SENT_WITHIN_S
    while loop.time() < until and not first_request.done():
        row = await read_row(environment, caller.payment)
        if row is not None and row.state == "submitted":
            return
        await asyncio.sleep(_LOOK_S)


async def _wait_until_watched(replica: Replica, requests: Sequence["asyncio.Task[Answer]"]) -> None:
    while not any(each.done() for each in requests):
        if any(boundary.label == _LOOK for boundary in replica.interceptor.calls):
            return
        await asyncio.sleep(_LOOK_S)


def calls_since_sending(replicas: Sequence[Replica]) -> list[Boundary]:
    """Return the calls of the replicas, without those of the first one before it sent."""
    first = replicas[0].interceptor.calls
    sent_index = next(index for index, each in enumerate(first) if each.label == SEND)
    before = set(first[:sent_index])
    calls = (boundary for replica in replicas for boundary in replica.interceptor.calls)
    return [boundary for boundary in calls if boundary not in before]
