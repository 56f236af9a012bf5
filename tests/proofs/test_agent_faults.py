"""The short form of `make prove PROOF=mcp`, and its control."""

import pytest

from eval.labelled import Labelled, read_labelled
from prove.mcp import CONTROL, figures_of, holds, run_control
from prove.mcp_case import McpCase, McpOutcome, run_case
from prove.mcp_check import Received, judge
from prove.mcp_messages import Sent, Shape
from prove.mcp_scenery import open_scenery
from testing.machine import scratch_folder

COUNT = 2_500
PING = Sent(b"{}", (7,), Shape.EMPTY, "zq1q")
CALL = Sent(b"{}", (7,), Shape.CALL, "zq1q", is_echoed=True)
ODD = Sent(b"{}", (7,), Shape.ANY, "zq1q")
REASONS = frozenset({"INVALID_PARAMS"})


@pytest.fixture(scope="module")
def labelled() -> Labelled:
    return read_labelled()


async def test_every_message_gets_a_response_of_its_own(labelled: Labelled) -> None:
    with scratch_folder("fbx-test-") as folder:
        async with open_scenery(folder, labelled) as scenery:
            outcome = await run_case(scenery, McpCase(seed=2, count=COUNT))
    assert holds(outcome), figures_of(outcome)
    assert figures_of(outcome)["sent"] == COUNT


async def test_control_build_that_lets_exceptions_out_is_detected(labelled: Labelled) -> None:
    with scratch_folder("fbx-test-") as folder:
        (control,) = await run_control(folder, labelled)
    assert CONTROL.shows([control]), figures_of(control)


def test_outcome_without_faults_of_the_database_does_not_hold() -> None:
    assert not holds(McpOutcome(CONTROL.cases[0]))


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"oops", "not JSON"),
        (b"[]", "no object"),
        (b'{"id":7,"result":{}}', "no JSON-RPC 2.0"),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}', "members"),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"a"}}', "without code, message"),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":"-32602","message":"a","data":{"reason":"b"}}}',
         "the code is"),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"a","data":{"reason":""}}}',
         "no reason"),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"a","data":{"reason":"b"}}}',
         "not documented"),
        ((b'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"ValueError: x",'
         b'"data":{"reason":"INVALID_PARAMS"}}}'), "exception text"),
    ],
)  # fmt: skip
def test_malformed_response_is_a_fault(body: bytes, fault: str) -> None:
    found = judge(PING, Received(200, body), REASONS)
    assert any(fault in line for line in found.faults), found


@pytest.mark.parametrize(
    ("sent", "result"),
    [
        (PING, b'{"jsonrpc":"2.0","id":8,"result":{}}'),
        (PING, b'{"jsonrpc":"2.0","id":"7","result":{}}'),
        (PING, b'{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}'),
        (ODD, b'{"jsonrpc":"2.0","id":7,"result":{"token":"zq2q"}}'),
        (CALL, (b'{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"status":200},"content":'
         b'[{"text":"{\\"status\\":200}"}]}}')),
    ],
)  # fmt: skip
def test_response_of_another_message_is_mixed(sent: Sent, result: bytes) -> None:
    assert judge(sent, Received(200, result), REASONS).is_mixed


def test_response_of_the_message_is_not_mixed() -> None:
    found = judge(PING, Received(200, b'{"jsonrpc":"2.0","id":7,"result":{}}'), REASONS)
    assert (found.faults, found.is_mixed) == ([], False)
