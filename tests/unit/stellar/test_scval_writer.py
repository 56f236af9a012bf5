"""Values that are written: the bytes of the public SDK, and read back as the same values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import xdr

from farebox.stellar.scval import (
    AddressKind,
    ScAddress,
    ScBytes,
    ScKind,
    ScNumber,
    ScValue,
    ScVec,
    read_value,
)
from farebox.stellar.scval_writer import VOID, struct_of, symbol_of, write_value
from farebox.stellar.xdr_reader import XdrReader
from support.plans import values
from support.sdk_values import keys32


@given(values)
def test_written_value_is_read_back_by_us_and_by_the_sdk(value: ScValue) -> None:
    raw = write_value(value)
    reader = XdrReader(raw)
    assert read_value(reader) == value
    reader.finish()
    assert xdr.SCVal.from_xdr_bytes(raw).to_xdr_bytes() == raw


@given(kind=st.sampled_from(AddressKind), key=keys32, mux_id=st.integers(0, 2**64 - 1))
def test_address_of_every_kind_is_written_as_it_is_read(
    kind: AddressKind, key: bytes, mux_id: int
) -> None:
    is_muxed = kind in (AddressKind.MUXED_ACCOUNT, AddressKind.MUXED_CONTRACT)
    address = ScAddress(kind, key, mux_id if is_muxed else None)
    assert read_value(XdrReader(write_value(address))) == address


def test_struct_has_its_members_in_the_order_of_their_bytes() -> None:
    written = struct_of(under=VOID, amount=VOID, Zero=VOID)
    assert written.entries is not None
    assert [name for name, _ in written.entries] == [
        symbol_of("Zero"),
        symbol_of("amount"),
        symbol_of("under"),
    ]


def test_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError):
        write_value(ScNumber(ScKind.U32, 2**32))


def test_absent_vector_is_written_as_it_is_read() -> None:
    assert read_value(XdrReader(write_value(ScVec(None)))) == ScVec(None)
    assert write_value(ScBytes(ScKind.SYMBOL, b"a")) == bytes.fromhex("0000000f0000000161000000")
