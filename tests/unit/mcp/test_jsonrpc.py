"""The body of `/mcp` becomes one message, or the error that it deserves."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.mcp.jsonrpc import RpcFault, RpcNotification, RpcRequest, depth_of, read_message
from farebox.mcp.rpc_error import RpcReason
from support.promises import case, promise

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def reason_of(body: bytes) -> str:
    message = read_message(body)
    assert isinstance(message, RpcFault)
    return message.error.reason.value


@promise("mcp:json-rpc")
def test_request_is_read_with_its_id_and_params() -> None:
    assert read_message(PING) == RpcRequest(1, "ping", {})
    named = b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1]}}'
    assert read_message(named) == RpcRequest("a", "m", {"x": [1]})


def test_integers_are_read_however_they_are_written() -> None:
    """Also the id, which the response then has in digits alone."""
    text = b'{"jsonrpc":"2.0","id":7.0,"method":"m","params":{"limit":5e0,"share":0.5}}'
    assert read_message(text) == RpcRequest(7, "m", {"limit": 5, "share": 0.5})
    exact = read_message(b'{"jsonrpc":"2.0","id":9007199254740991.0,"method":"m"}')
    assert isinstance(exact, RpcRequest)
    assert (type(exact.id), exact.id) == (int, 2**53 - 1)
    for other in (b"7.5", b"9007199254740993.0"):
        fault = read_message(b'{"jsonrpc":"2.0","id":%s,"method":"m"}' % other)
        assert isinstance(fault, RpcFault)


def test_message_without_id_and_a_response_are_not_answered() -> None:
    assert read_message(b'{"jsonrpc":"2.0","method":"x"}') == RpcNotification("x")
    assert read_message(b'{"jsonrpc":"2.0","id":1,"result":{}}') == RpcNotification("")


@case("MC-017")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", RpcReason.PARSE_ERROR),
        (b"{", RpcReason.PARSE_ERROR),
        (b"\xff\xfe", RpcReason.PARSE_ERROR),
        (b"[" * 100_000, RpcReason.PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"a\x00b"}', RpcReason.PARSE_ERROR),
        (b"[]", RpcReason.BATCH_REFUSED),
        (b"[" + PING + b"]", RpcReason.BATCH_REFUSED),
        (b'"ping"', RpcReason.INVALID_REQUEST),
        (b"null", RpcReason.INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', RpcReason.INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', RpcReason.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', RpcReason.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', RpcReason.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', RpcReason.REPEATED_MEMBER),
        (b'{"jsonrpc":"2.0","id":1,"m\\u0065thod":"a","method":"b"}', RpcReason.REPEATED_MEMBER),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":'
            + b"[" * 101
            + b"]" * 101
            + b"}}",
            RpcReason.INVALID_REQUEST,
        ),
    ],
)
def test_body_that_is_no_request_is_refused_with_its_reason(body: bytes, reason: str) -> None:
    assert reason_of(body) == reason


@pytest.mark.parametrize("own", ["null", "1.5", "true", "[]", "{}", str(2**53 + 1)])
def test_id_that_is_neither_text_nor_whole_number_is_refused(own: str) -> None:
    body = b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % own.encode()
    assert reason_of(body) == RpcReason.INVALID_REQUEST


def test_fault_of_a_readable_message_keeps_its_id() -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":"a","method":7}')
    assert isinstance(message, RpcFault)
    assert message.id == "a"


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda own: st.lists(own)
    | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params"]) | st.text(), own),
    max_leaves=12,
).map(msgspec.json.encode))  # fmt: skip
def test_every_body_is_one_message_or_a_fault(body: bytes) -> None:
    assert isinstance(read_message(body), RpcRequest | RpcNotification | RpcFault)


def test_depth_counts_nested_arrays_and_objects() -> None:
    values: list[object] = [1, [], [[1]], {"a": [{}]}]
    assert [depth_of(each) for each in values] == [0, 1, 2, 3]
