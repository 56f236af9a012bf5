"""An upstream's credential in its own responses."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.gateway.relay import hidden_value
from farebox.gateway.relay.hidden_value import MAX_BYTES, TURN_BYTES, CredentialShown, HiddenValue
from farebox.gateway.relay.response_headers import forward_response_headers
from farebox.kernel.secret import Secret

VALUE = "aab-aabaac"


async def passed(parts: Sequence[bytes], value: str | None = VALUE) -> list[bytes]:
    async def body() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    hidden = HiddenValue(None if value is None else Secret(value))
    return [part async for part in hidden.watch(body())]


@given(st.lists(st.text(alphabet="abA-c", max_size=12).map(str.encode)))
async def test_body_without_the_value_is_passed_on_and_one_with_it_is_not(
    parts: list[bytes],
) -> None:
    if VALUE.encode() in b"".join(parts).lower():
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


KEY = 'sk_aB+/="9&<'
WRITTEN = {
    "as it stands": KEY,
    "json": 'sk_aB+\\/=\\"9&<',
    "json of .NET": "sk_aB\\u002B/=\\u00229\\u0026\\u003c",
    "all of it as json": "".join(f"\\u{ord(each):04x}" for each in KEY),
    "a query": "sk_aB%2B%2f%3D%229%26%3C",
    "html": "sk_aB+/=&quot;9&amp;&lt;",
    "upper case": KEY.upper(),
    "upper case as json": "".join(f"\\u{ord(each):04X}" for each in KEY.upper()),
    "html by number": "sk_aB&#43;&#x2F;=&#0034;9&#38;&#X3c;",
}
pieces = st.sampled_from(
    ["a", "b", "A", "/", '"', "\\", "\\\\", "\\/", '\\"', "\\u00", "2f", "61", "62", "%", "%2F",
     "%61", "&", "#", "x2f;", "&quot;", "quot;", "u0061", ";", "&#97;", "&#0098;", "&#x00061;",
     "&#300;", "&AMP;", "&lt", "\\t", "%5C", "\\U005c", "0", "x", "u"]
)  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
async def test_value_is_found_however_its_characters_are_escaped(written: str, size: int) -> None:
    body = f'{{"echo": "x{written}"}}'.encode()
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    with pytest.raises(CredentialShown):
        await passed(parts, KEY)
    assert HiddenValue(Secret(KEY)).is_in(body)


@given(st.lists(st.lists(pieces, max_size=4).map("".join).map(str.encode), max_size=12))
async def test_value_is_found_in_parts_wherever_it_is_found_in_the_whole(
    parts: list[bytes],
) -> None:
    for value in ('aab/"ab', "ab\\/a%61", "a&b\\\\ab"):
        if HiddenValue(Secret(value)).is_in(b"".join(parts)):
            with pytest.raises(CredentialShown):
                await passed(parts, value)
        else:
            assert b"".join(await passed(parts, value)) == b"".join(parts)


@given(st.lists(pieces, max_size=40).map("".join), st.lists(st.integers(1, 9), min_size=1))
async def test_value_cut_out_of_a_text_is_found_in_it_however_the_text_is_cut(
    text: str, sizes: list[int]
) -> None:
    """The text shows each end of its own, as it stands and as it is without escapes."""
    body = text.encode()
    for value in (text[-8:], _unescaped(text)[-8:]):
        if len(value) < 8:
            continue
        parts: list[bytes] = []
        at = 0
        while at < len(body):
            size = sizes[len(parts) % len(sizes)]
            parts.append(body[at : at + size])
            at += size
        with pytest.raises(CredentialShown):
            await passed(parts, value)


_REFERENCE = re.compile(
    r"\\u00([0-9a-f]{2})|\\([\"/\\t])|%([0-9a-f]{2})"
    r"|&#x0{0,4}([0-9a-f]{2});|&#0{0,4}([0-9]{2,3});|&(amp|apos|gt|lt|quot);",
    re.IGNORECASE,
)
_NAMES = {"amp": "&", "apos": "'", "gt": ">", "lt": "<", "quot": '"'}


def _unescaped(text: str) -> str:
    """The text without escapes, each taken by itself."""

    def character(escape: re.Match[str]) -> str:
        json, own, url, hexadecimal, decimal, named = escape.groups()
        if own or named:
            return {"t": "\t"}.get(own.lower(), own) if own else _NAMES[named.lower()]
        code = int(decimal) if decimal else int(json or url or hexadecimal, 16)
        return chr(code) if code < 256 else escape[0]

    return _REFERENCE.sub(character, text).encode("latin-1").lower().decode("latin-1")


@given(st.text('\\u0aAtT6/"%&#xX12;mp', max_size=40), st.integers(0, 999))
def test_escapes_are_those_of_json_urls_and_html(text: str, code: int) -> None:
    spelled = (
        f"\\u00{code % 256:02X}", f"%{code % 256:02x}", f"&#x{code % 256:04x};", f"&#{code:02};",
        f"&#{code:07};", f"&#x{code % 256:X};",
    )  # fmt: skip
    for whole in (text, *(text + each + text for each in spelled)):
        found = hidden_value._unescape(hidden_value._ESCAPE.split(whole.lower().encode("latin-1")))
        assert found.decode("latin-1") == _unescaped(whole)


@pytest.mark.parametrize("escape", ["%41", "\\/", "&#65;", "x"])
async def test_part_is_searched_once(escape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, searched = HiddenValue(Secret(VALUE)), 0
    unescape = hidden_value._unescape

    def counted(text: list[bytes]) -> bytes:
        nonlocal searched
        searched += sum(map(len, text))
        return unescape(text)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield part

    part = escape.encode() * (4_096 // len(escape))
    monkeypatch.setattr(hidden_value, "_unescape", counted)
    assert [each async for each in hidden.watch(body())]
    assert len(part) * 64 <= searched <= len(part) * 65


async def test_others_have_a_turn_while_a_long_body_is_searched() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    one = await passed([b"%41" * TURN_BYTES])
    assert turns >= 2
    turns = 0
    several = await passed([b"%41" * 1_024] * 64)
    assert turns >= 2
    task.cancel()
    assert b"".join(one) == b"".join(several) == b"%41" * TURN_BYTES


async def test_long_value_is_found_by_its_beginning() -> None:
    value = "a%41b\\/" * 3_000
    start = value[:MAX_BYTES].encode()
    with pytest.raises(CredentialShown):
        await passed([b"x", start, b"y"], value)
    with pytest.raises(CredentialShown):
        await passed([b"x", _unescaped(value).encode()[:MAX_BYTES], b"y"], value)
    assert await passed([b"x", start[:-1]], value) == [b"x", start[:-1]]
    assert await passed([b"x", start[:-1], b"y"], value) == [b"x", start[:-1] + b"y"]


async def test_event_is_not_held_back() -> None:
    assert await passed([b"data: 1\n\n", b"data: 2\n\n"]) == [b"data: 1\n\n", b"data: 2\n\n"]


@pytest.mark.parametrize("value", [None, "", "abc"])
async def test_short_value_or_none_hides_nothing(value: str | None) -> None:
    assert await passed([b"abc", b"abc"], value) == [b"abc", b"abc"]


def test_header_with_the_value_is_left_out() -> None:
    headers = [
        ("X-Echo", f"Bearer {VALUE}"),
        ("X-Escaped", VALUE.replace("-", "\\u002D")),
        ("X-Query", VALUE.replace("-", "%2D")),
        (f"X-{VALUE.upper()}", "1"),
        (f"X-{VALUE.replace('-', '%2d')}", "1"),
        ("X-Other", "1"),
    ]
    kept = forward_response_headers(
        headers, upstream_host="seller.example.com", hidden=HiddenValue(Secret(VALUE))
    )
    assert [name for name, _ in kept if name.startswith(b"x-")] == [b"x-other"]


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Encoding", "gzip")],
        [("content-encoding", "Identity"), ("CONTENT-ENCODING", "br")],
        [("Content-Encoding", "identity, zstd")],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "made-up")],
    ],
)
def test_coding_in_which_the_value_is_not_found_is_refused(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(CredentialShown):
        HiddenValue(Secret(VALUE)).check_codings(headers)
    HiddenValue(None).check_codings(headers)  # it hides nothing


def test_body_without_such_a_coding_is_taken() -> None:
    headers = [("Content-Encoding", " Identity"), ("Transfer-Encoding", "Chunked"), ("vary", "br")]
    HiddenValue(Secret(VALUE)).check_codings(headers)
    HiddenValue(Secret(VALUE)).check_codings([])
