"""Every guard of the XDR reader refuses a sample that no other guard refuses.

Each sample is refused as it is, accepted once its guard is taken away, and what the weakened
reader then returns is caught by the comparison with the SDK.
"""

import importlib
from collections.abc import Callable

import pytest

from farebox.stellar.scval import skip_value
from farebox.stellar.transfer_envelope import (
    TransferEnvelope,
    Unreadable,
    read_envelope,
    read_transfer_envelope,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.x402.reasons import Reason
from support.raw_envelopes import (
    CALL,
    NONE,
    ONE,
    SOURCE,
    contract_credentials,
    raw_entry,
    raw_envelope,
    u32,
)
from support.sdk_oracle import assert_sdk_agrees
from support.sdk_values import nested, vector, void


class WithoutPaddingCheck(XdrReader):
    def opaque(self, limit: int) -> bytes:
        length = self.uint32()
        if length > limit:
            raise Malformed
        return self.fixed(length + (-length & 3))[:length]


class WithoutFinish(XdrReader):
    def finish(self) -> None:
        """Ignore the bytes that are left."""


class WithLooseFlags(XdrReader):
    def flag(self) -> bool:
        return self.uint32() != 0


class WithoutExpectation(XdrReader):
    def expect(self, value: int) -> None:
        self.uint32()


class WithoutOnlyArm(XdrReader):
    def skip_only_arm(self, length: int) -> None:
        self.skip(4 + length)


class WithoutCountLimit(XdrReader):
    def count(self, limit: int) -> int:
        return self.uint32()


class WithoutBlobLimit(XdrReader):
    def opaque(self, limit: int) -> bytes:
        return super().opaque(2**32)


class WithoutEnd(XdrReader):
    def opaque(self, limit: int) -> bytes:
        length = self.uint32()
        if length > limit:
            raise Malformed
        start, self.at = self.at, min(self.at + length, len(self.raw))
        return self.raw[start : self.at]


MEMO_ABC_WITH_DIRTY_PADDING = ONE + u32(3) + b"abc\x01"
ONE_SIGNATURE = ONE + b"hint" + u32(64) + bytes(64)
CAUGHT_BY_THE_SDK: list[tuple[type[XdrReader], bytes]] = [
    (WithoutPaddingCheck, raw_envelope(memo=MEMO_ABC_WITH_DIRTY_PADDING)),
    (WithoutFinish, raw_envelope(rest=bytes(4))),
    (WithoutFinish, raw_envelope(rest=b"\0")),
    (WithLooseFlags, raw_envelope(operation_source=u32(2) + SOURCE)),
    (WithoutExpectation, raw_envelope(envelope_type=u32(7))),
    (WithoutOnlyArm, raw_envelope(resources=ONE + NONE + ONE + NONE + ONE + bytes(32 + 4 + 20))),
    (WithoutCountLimit, raw_envelope(signatures=u32(21) + ONE_SIGNATURE[4:] * 21)),
    (WithoutBlobLimit, raw_envelope(memo=ONE + u32(29) + b"a" * 29 + bytes(3))),
    (WithoutBlobLimit, raw_envelope(signatures=ONE + b"hint" + u32(65) + bytes(68))),
    (WithoutEnd, raw_envelope(signatures=ONE_SIGNATURE)[:-4]),
]


@pytest.mark.parametrize(("weakened", "raw"), CAUGHT_BY_THE_SDK)
def test_each_reader_guard_refuses_a_sample_that_no_other_guard_refuses(
    weakened: type[XdrReader], raw: bytes
) -> None:
    assert read_transfer_envelope(raw) == Unreadable(Reason.MALFORMED)
    loose = read_envelope(weakened(raw))
    assert isinstance(loose, TransferEnvelope)
    with pytest.raises(AssertionError, match=r"SDK refuses|second encoding|signatures"):
        assert_sdk_agrees(loose, raw)


def _in_signature(value: bytes) -> bytes:
    return raw_envelope(entries=raw_entry(credentials=contract_credentials(value)))


def _with_key(key: bytes) -> bytes:
    return raw_envelope(resources=ONE + NONE + ONE + key + NONE + bytes(12 + 8))


def _with_signers(*signers: bytes) -> bytes:
    detailed = u32(2) + NONE * 3 + bytes(12) + u32(len(signers)) + b"".join(signers)
    return raw_envelope(preconditions=detailed)


SYMBOL_OF_33 = u32(15) + u32(33) + b"a" * 33 + bytes(3)
SIGNER = NONE + bytes(32)
CAUGHT_BY_CONSTANT: list[tuple[str, str, object, bytes]] = [
    ("scval", "_ERROR_TYPES", 99, _in_signature(u32(2) + u32(10) + NONE)),
    ("scval", "_ERROR_CODES", 99, _in_signature(u32(2) + u32(9) + u32(10))),
    ("scval", "_BLOB_LIMITS", {15: 99}, _in_signature(SYMBOL_OF_33)),
    ("soroban_data", "_DURABILITIES", 9, _with_key(u32(6) + ONE + bytes(32) + ONE + u32(2))),
    ("soroban_data", "_CONFIG_SETTINGS", 99, _with_key(u32(8) + u32(21))),
    ("soroban_data", "_DATA_NAME_MAX_BYTES", 99, _with_key(u32(3) + SOURCE + u32(65) + bytes(68))),
    ("transfer_envelope", "_MAX_EXTRA_SIGNERS", 9, _with_signers(SIGNER, SIGNER, SIGNER)),
    (
        "transfer_envelope",
        "_SIGNED_PAYLOAD_MAX_BYTES",
        99,
        _with_signers(u32(3) + bytes(32) + u32(65) + bytes(68)),
    ),
    ("transfer_envelope", "_SIGNED_PAYLOAD", 9, _with_signers(u32(4) + bytes(32))),
]


@pytest.mark.parametrize(("module", "constant", "loose", "raw"), CAUGHT_BY_CONSTANT)
def test_each_bound_refuses_a_sample_that_no_other_bound_refuses(
    monkeypatch: pytest.MonkeyPatch, module: str, constant: str, loose: object, raw: bytes
) -> None:
    assert read_transfer_envelope(raw) == Unreadable(Reason.MALFORMED)
    monkeypatch.setattr(importlib.import_module(f"farebox.stellar.{module}"), constant, loose)
    weakened = read_transfer_envelope(raw)
    assert isinstance(weakened, TransferEnvelope)
    with pytest.raises(AssertionError, match="SDK refuses"):
        assert_sdk_agrees(weakened, raw)


class CountingReader(XdrReader):
    """Counts the words read, which is what the time of a reading grows with."""

    words = 0

    def uint32(self) -> int:
        self.words += 1
        return super().uint32()

    def count(self, limit: int) -> int:
        self.words += 1
        return super().count(limit)

    def flag(self) -> bool:
        self.words += 1
        return super().flag()

    def expect(self, value: int) -> None:
        self.words += 1
        super().expect(value)

    def skip_only_arm(self, length: int) -> None:
        self.words += 1
        super().skip_only_arm(length)

    def opaque(self, limit: int) -> bytes:
        self.words += 1
        return super().opaque(limit)


def _wide(width: int) -> bytes:
    child = CALL.to_xdr_bytes()
    tree = NONE + child + u32(width) + (NONE + child + NONE) * width
    return raw_envelope(entries=raw_entry(invocation=tree))


def _deep(depth: int) -> bytes:
    tree = (NONE + CALL.to_xdr_bytes() + ONE) * depth + NONE + CALL.to_xdr_bytes() + NONE
    return raw_envelope(entries=raw_entry(invocation=tree))


def _argument(value: bytes) -> bytes:
    call = ONE + bytes(32) + u32(8) + b"transfer" + ONE + value
    return raw_envelope(call=call)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "1,000 entries": lambda: raw_envelope(entries=u32(1_000) + raw_entry()[4:] * 1_000),
    "10,000 sub-invocations at one level": lambda: _wide(10_000),
    "1,000 sub-invocations inside each other": lambda: _deep(1_000),
    "a value 10,000 deep in a signature": lambda: _in_signature(
        (u32(16) + ONE + ONE) * 10_000 + ONE
    ),
    "a value 200 deep in an argument": lambda: _argument(nested(200).to_xdr_bytes()),
    "a value 200 deep in what is authorized": lambda: raw_envelope(
        entries=raw_entry(
            invocation=NONE + ONE + bytes(32) + NONE + ONE + nested(200).to_xdr_bytes() + NONE
        )
    ),
    "30,000 tiny values": lambda: _in_signature(vector(*[void()] * 30_000).to_xdr_bytes()),
    "60,000 tiny values in all of 256 KB": lambda: _argument(
        u32(16) + ONE + u32(60_000) + ONE * 60_000
    ),
    "a count of 2^32-1 over nothing": lambda: _argument(u32(16) + ONE + u32(2**32 - 1)),
    "a blob of 2^32-1 bytes over nothing": lambda: _argument(u32(13) + u32(2**32 - 1)),
    "a tree of delegates": lambda: raw_envelope(
        entries=raw_entry(
            credentials=u32(3) + contract_credentials(ONE)[4:] + (ONE + ONE + bytes(32) + ONE) * 900
        )
    ),
    "3,000 ledger keys": lambda: raw_envelope(
        resources=ONE + NONE + u32(3_000) + (u32(7) + bytes(32)) * 3_000 + NONE + bytes(20)
    ),
    "a large empty transaction": lambda: raw_envelope(rest=bytes(140_000)),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_envelope_of_hostile_size_is_refused_after_little_work(raw: Callable[[], bytes]) -> None:
    assert read_transfer_envelope(raw()) == Unreadable(Reason.MALFORMED)
    counting = CountingReader(raw())
    assert read_envelope(counting) == Unreadable(Reason.MALFORMED)
    assert counting.words < 5_000


@pytest.mark.parametrize(
    "raw", [_wide(10_000), _in_signature(vector(*[void()] * 30_000).to_xdr_bytes())]
)
def test_reader_without_a_count_limit_works_as_much_as_the_sender_wants(raw: bytes) -> None:
    class Loose(CountingReader, WithoutCountLimit):
        """Counts work, bounds nothing."""

    loose = Loose(raw)
    assert isinstance(read_envelope(loose), TransferEnvelope)
    assert loose.words > 25_000


def test_envelope_over_the_networks_size_limit_is_refused_unread() -> None:
    blob = u32(13) + u32(60_000) + bytes(60_000)
    raw = _in_signature(u32(16) + ONE + u32(3) + blob * 3)
    assert isinstance(read_envelope(XdrReader(raw)), TransferEnvelope)
    assert read_transfer_envelope(raw) == Unreadable(Reason.MALFORMED)


def test_reader_bounds_items_over_the_whole_document() -> None:
    raw = vector(*[vector(*[void()] * 30) for _ in range(60)]).to_xdr_bytes()
    reader = XdrReader(raw, max_items=60 + 60 * 30)
    skip_value(reader)
    reader.finish()
    with pytest.raises(Malformed):
        skip_value(XdrReader(raw, max_items=60 + 60 * 30 - 1))


def test_reader_bounds_the_depth_of_a_value() -> None:
    raw = nested(33).to_xdr_bytes()
    with pytest.raises(Malformed):
        skip_value(XdrReader(raw))
    skip_value(XdrReader(nested(32).to_xdr_bytes()))
    skip_value(XdrReader(raw), 33)
