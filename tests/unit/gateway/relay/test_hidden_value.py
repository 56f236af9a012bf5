"""An upstream's credential in its own responses."""

from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.relay.hidden_value import CredentialShown, HiddenValue
from farebox.gateway.relay.response_headers import forward_response_headers
from farebox.kernel.secret import Secret

VALUE = "aab-aabaac"


async def passed(parts: Sequence[bytes], value: str | None = VALUE) -> list[bytes]:
    async def body() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    hidden = HiddenValue(None if value is None else Secret(value))
    return [part async for part in hidden.watch(body())]


@given(st.lists(st.text(alphabet="ab-c", max_size=12).map(str.encode)))
async def test_body_without_the_value_is_passed_on_and_one_with_it_is_not(
    parts: list[bytes],
) -> None:
    if VALUE.encode() in b"".join(parts):
        with pytest.raises(CredentialShown):
            await passed(parts)
    else:
        assert b"".join(await passed(parts)) == b"".join(parts)


@pytest.mark.parametrize("cut", range(1, len(VALUE)))
async def test_value_in_two_parts_is_found_before_any_of_it_is_passed_on(cut: int) -> None:
    seen = []

    async def body() -> AsyncIterator[bytes]:
        yield b"x" + VALUE[:cut].encode()
        yield VALUE[cut:].encode()

    with pytest.raises(CredentialShown):
        async for part in HiddenValue(Secret(VALUE)).watch(body()):
            seen.append(part)  # noqa: PERF401 - what came before the exception
    assert seen == [b"x"]


async def test_event_is_not_held_back() -> None:
    assert await passed([b"data: 1\n\n", b"data: 2\n\n"]) == [b"data: 1\n\n", b"data: 2\n\n"]


@pytest.mark.parametrize("value", [None, "", "abc"])
async def test_short_value_or_none_hides_nothing(value: str | None) -> None:
    assert await passed([b"abc", b"abc"], value) == [b"abc", b"abc"]


def test_header_with_the_value_is_left_out() -> None:
    headers = [("X-Echo", f"Bearer {VALUE}"), ("X-Other", "1")]
    kept = forward_response_headers(
        headers, upstream_host="seller.example.com", hidden=HiddenValue(Secret(VALUE))
    )
    assert [name for name, _ in kept if name.startswith(b"x-")] == [b"x-other"]
