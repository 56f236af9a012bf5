"""What the case of a crowd calls right."""

import pytest

from e2e.crowd import tells_when

HEAD = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        (HEAD, True),
        (HEAD.replace(b"Retry-After", b"X-After"), False),
        (HEAD.replace(b"429", b"200"), False),
        (b"", False),
    ],
)
def test_refused_caller_must_be_told_when_to_come_again(answer: bytes, is_right: bool) -> None:
    assert tells_when(answer, 429) is is_right
