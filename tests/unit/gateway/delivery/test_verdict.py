"""What counts as delivered: statuses, and the first event of a stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.delivery.verdict import FirstEvent, is_delivered_status, is_event_stream

EVENTS = [
    b"data: 1\n\n",
    b"data: 1\r\n\r\n",
    b"data: 1\r\r",
    b"data\n\n",
    b"data:\n\n",
    b"event: add\nid: 1\ndata: 1\n\n",
    b"\xef\xbb\xbfdata: 1\n\n",
    b": wait\n\n\nretry: 5\n\ndata: 1\n\n",
    b"data: 1\r\n\n",
    b"data: 1\n\r",
    b"data: " + b"x" * 1000 + b"\n\n",
]
NO_EVENTS = [
    b"",
    b"\n\n\n",
    b": wait\n\n",
    b"retry: 5\n\n",
    b"id: 1\n\n",
    b"event: add\n\n",
    b"datas: 1\n\n",
    b" data: 1\n\n",
    b"data : 1\n\n",
    b"x\xef\xbb\xbfdata: 1\n\n",
    b"data: 1",
    b"data: 1\n",
    b"data: 1\r\n",
    b"data: 1\r",
    b"id: " + b"data: 1" * 200 + b"\n\n",
]


def finds_event(pieces: list[bytes], *, is_encoded: bool = False) -> bool:
    """Whether the pieces hold an event."""
    events = FirstEvent(is_encoded=is_encoded)
    for piece in pieces:
        events.read(piece)
    return events.is_found


@pytest.mark.parametrize("stream", EVENTS)
def test_data_and_its_blank_line_are_an_event(stream: bytes) -> None:
    assert finds_event([stream])
    assert not finds_event([stream.rstrip(b"\r\n")])


@pytest.mark.parametrize("stream", NO_EVENTS)
def test_stream_without_data_or_its_blank_line_has_no_event(stream: bytes) -> None:
    assert not finds_event([stream])


@given(st.data())
def test_event_is_found_wherever_the_pieces_of_its_stream_are_cut(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from(EVENTS + NO_EVENTS))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[i:j] for i, j in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert finds_event(pieces) is (stream in EVENTS)


def test_encoded_stream_counts_from_its_first_byte() -> None:
    assert finds_event([b"", b"\x1f"], is_encoded=True)
    assert not finds_event([b""], is_encoded=True)


@pytest.mark.parametrize(
    ("status", "content_type", "is_stream"),
    [
        (200, "text/event-stream", True),
        (201, "Text/Event-Stream; charset=utf-8", True),
        (204, "text/event-stream", False),
        (404, "text/event-stream", False),
        (200, "text/event-stream-like", False),
        (200, None, False),
    ],
)
def test_events_are_expected_of_a_successful_event_stream(
    status: int, content_type: str | None, is_stream: bool
) -> None:
    assert is_event_stream(status, content_type) is is_stream


def test_status_of_the_sellers_own_failure_is_no_delivery() -> None:
    not_delivered = {status for status in range(200, 500) if not is_delivered_status(status)}
    assert not_delivered == {401, 402, 407, 408, 429, *range(300, 400)}
    assert not any(map(is_delivered_status, [0, 100, 199, 500, 599, 600, 999]))
