"""The XDR reader: each read returns its value and advances, or raises `Malformed`."""

from collections.abc import Callable

import pytest

from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64


def test_reader_reads_values_in_order_to_the_end() -> None:
    raw = bytes.fromhex(
        "fffffffe" "8000000000000000" "ffffffffffffffff" "00000001" "00000000"
        "00000003616263" "00" "00000002" "0102030405060708"
    )  # fmt: skip
    reader = XdrReader(raw)
    assert reader.uint32() == 2**32 - 2
    assert reader.int64() == -(2**63)
    assert reader.uint64() == 2**64 - 1
    assert reader.flag()
    assert not reader.flag()
    assert reader.opaque(3) == b"abc"
    start = reader.at
    assert reader.count(2) == 2
    assert not reader.take(b"\x01\x03")
    assert reader.take(b"\x01\x02\x03\x04")
    assert reader.fixed(4) == b"\x05\x06\x07\x08"
    assert reader.since(start) == raw[start:]
    reader.finish()


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (bytes(3), XdrReader.uint32),
        (bytes(7), XdrReader.int64),
        (bytes(7), XdrReader.uint64),
        (bytes.fromhex("00000002"), XdrReader.flag),
        (bytes.fromhex("ffffffff"), XdrReader.flag),
        (bytes(4), lambda reader: reader.expect(1)),
        (bytes(3), lambda reader: reader.fixed(4)),
        (bytes(3), lambda reader: reader.skip(4)),
        (bytes.fromhex("00000004 61626364"), lambda reader: reader.opaque(3)),
        (bytes.fromhex("00000004 616263"), lambda reader: reader.opaque(4)),
        (bytes.fromhex("00000003 616263"), lambda reader: reader.opaque(4)),
        (bytes.fromhex("00000001 61000100"), lambda reader: reader.opaque(4)),
        (bytes.fromhex("00000002") + bytes(8), lambda reader: reader.count(1)),
        (bytes.fromhex("00000002") + bytes(7), lambda reader: reader.count(2)),
        (bytes(1), XdrReader.finish),
    ],
)
def test_reader_refuses_short_noncanonical_or_excessive_values(
    raw: bytes, read: Callable[[XdrReader], object]
) -> None:
    with pytest.raises(Malformed):
        read(XdrReader(raw))


def test_strict_base64_is_decoded() -> None:
    assert decode_base64("AAECAw==", max_bytes=4) == bytes(range(4))
    assert decode_base64("", max_bytes=0) == b""


@pytest.mark.parametrize(
    "text", ["AAECAw=", "AAECAw", "AAEC Aw==", "AAECAw==\n", "-_-_", "é===", "AAECAwQFBgc="]
)
def test_text_that_is_no_strict_base64_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        decode_base64(text, max_bytes=4)
