"""The load that BENCH=contention adds to settlements: without it the figures would always hold."""

import base64
import json

from bench.contention_flood import Answers, SlowSimulations

MARK = bytes(range(8))


def _call(method: str, envelope: bytes) -> bytes:
    params = {"transaction": base64.b64encode(envelope).decode()}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def test_simulation_with_a_mark_is_delayed_and_no_other_call() -> None:
    slow = SlowSimulations(frozenset({MARK}))
    theirs = b"x" * 5 + MARK + b"y"
    assert slow.delay_s("simulateTransaction", _call("simulateTransaction", theirs)) == 3
    assert slow.delay_s("simulateTransaction", _call("simulateTransaction", b"other")) == 0
    assert slow.delay_s("sendTransaction", _call("sendTransaction", theirs)) == 0
    assert slow.delayed.total() == 1


def test_every_simulation_is_delayed_without_marks() -> None:
    slow = SlowSimulations(None)
    assert slow.delay_s("simulateTransaction", _call("simulateTransaction", b"any")) == 3
    assert slow.delay_s("getHealth", b"{}") == 0


def test_rate_is_the_number_sent_per_minute() -> None:
    answers = Answers(sent=700, seconds=30.0)
    assert answers.per_minute == 1_400
    assert Answers().per_minute == 0
