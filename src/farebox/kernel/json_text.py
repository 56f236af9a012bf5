"""Read JSON texts of callers: numbers exactly, and each member of an object once.

RFC 8259, section 6, has one kind of number, so that `5`, `5.0` and `0.5e1` are one value: where an
integer belongs, each of them is that integer. They are compared as decimal text and never pass
through a float, which would round `9007199254740993.0`.
"""

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final, TypeVar

import msgspec
import orjson

T = TypeVar("T")
# what a decoder raises of a body that is not UTF-8, not JSON, of another shape, or too deep
UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_MOST_DIGITS: Final = 80  # of an integer written with an exponent: more than any 256 bits have
_COLON: Final = b":"
_MAYBE_ESCAPED: Final = b"\\u003"
_ESCAPED_COLON: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u003[Aa]")  # an odd run of backslashes
_encode: Final = msgspec.json.Encoder().encode


def read_number(text: str) -> int | float:
    """Read a JSON number that has a fraction or an exponent: an integer where it is equal to one.

    It is the `float_hook` of the decoders of members without a type.

    Raises:
        ValueError: no float is so large.
    """
    try:
        number = Decimal(text)
        if number.is_zero() or (number.adjusted() < _MOST_DIGITS and number == int(number)):
            return int(number)
    except InvalidOperation:  # an exponent of more digits than any number has
        pass
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


_ANY: Final = msgspec.json.Decoder(float_hook=read_number)


def decode_json(text: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a body; an integer may be written with a zero fraction or an exponent.

    Raises:
        UNDECODABLE: it has another shape, or an object repeats a member.
    """
    try:
        value = decoder.decode(text)
    except msgspec.ValidationError as error:
        value = decoder.decode(_integers_written_out(text, error))
    if has_repeated_name(text):
        raise msgspec.ValidationError("An object repeats a member")
    return value


def _integers_written_out(text: bytes, error: msgspec.ValidationError) -> bytes:
    """Write a text again with its integers in digits alone; raises `error` where it cannot."""
    try:
        return _encode(_ANY.decode(text))
    except (msgspec.MsgspecError, ValueError, OverflowError):
        raise error from None


def has_repeated_name(text: bytes) -> bool:
    """Whether an object at any depth of `text`, a valid JSON text, has a member name twice.

    Readers differ in which of two members they take (RFC 8259, section 4), so that a proxy may have
    read another amount or recipient. Names are compared after resolving their escapes. A text
    nested too deeply to be compared counts as one that does.
    """
    try:
        # A reader keeps one member of each name, and a member has one colon outside of strings: a
        # text read and written again has as many colons as before, unless a member was lost.
        return orjson.dumps(orjson.loads(text)).count(_COLON) != _colons(text)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _has_repeated_name(text)


def _colons(text: bytes) -> int:
    """Colons of the text once its escapes are resolved."""
    escaped = len(_ESCAPED_COLON.findall(text)) if _MAYBE_ESCAPED in text else 0
    return text.count(_COLON) + escaped


class _Repeated(Exception):
    """A name stands twice in one object."""


def _has_repeated_name(text: bytes) -> bool:
    """The same for what orjson does not read or write: lone surrogates, hundreds of levels."""
    try:
        json.loads(text, object_pairs_hook=_refuse_repeated, parse_int=len)
    except (_Repeated, RecursionError, ValueError):
        return True
    return False


def _refuse_repeated(members: list[tuple[str, object]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise _Repeated
