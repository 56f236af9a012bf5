"""Contract code: its ledger entry, and the custom sections of WebAssembly."""

import hashlib
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import xdr

from farebox.stellar.contract_code import MAX_CODE_BYTES, find_custom_section, read_code
from farebox.stellar.xdr_reader import Malformed
from support.contracts import wasm_of
from support.damaged_bytes import damaged
from support.examples import examples

MAGIC: Final = b"\0asm\x01\0\0\0"
CODE: Final = MAGIC + b"\x01\x00"
HASH: Final = hashlib.sha256(CODE).digest()


def entry(code: bytes = CODE, wasm_hash: bytes = HASH, *, has_costs: bool = False) -> bytes:
    """The data of an entry."""
    numbers = [xdr.Uint32(n) for n in range(10)]
    costs = xdr.ContractCodeCostInputs(xdr.ExtensionPoint(0), *numbers)
    first = xdr.ContractCodeEntryV1(xdr.ExtensionPoint(0), costs)
    ext = xdr.ContractCodeEntryExt(1, v1=first) if has_costs else xdr.ContractCodeEntryExt(0)
    held = xdr.ContractCodeEntry(ext, xdr.Hash(wasm_hash), code)
    kind = xdr.LedgerEntryType.CONTRACT_CODE
    return xdr.LedgerEntryData(kind, contract_code=held).to_xdr_bytes()


def custom(name: bytes, content: bytes) -> bytes:
    """A custom section; all of it has fewer than 128 bytes."""
    inside = bytes([len(name)]) + name + content
    return bytes([0, len(inside)]) + inside


@pytest.mark.parametrize("has_costs", [False, True])
def test_code_is_read_with_and_without_its_costs(*, has_costs: bool) -> None:
    assert read_code(entry(has_costs=has_costs), HASH) == CODE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        entry()[:-4],
        entry() + b"\0\0\0\0",
        entry(CODE + b"\0"),
        entry(wasm_hash=bytes(32)),
        (6).to_bytes(4, "big") + entry()[4:],
    ],
)
def test_code_of_another_hash_or_form_is_none(data: bytes) -> None:
    assert read_code(data, HASH) is None


def test_code_is_read_up_to_its_maximum_size() -> None:
    for size, is_read in ((MAX_CODE_BYTES, True), (MAX_CODE_BYTES + 1, False)):
        code = bytes(size)
        wasm_hash = hashlib.sha256(code).digest()
        assert (read_code(entry(code, wasm_hash), wasm_hash) is not None) is is_read


def test_first_custom_section_of_the_name_is_found() -> None:
    code = MAGIC + custom(b"other", b"1") + b"\x01\x02ab" + custom(b"mine", b"2") * 2
    assert find_custom_section(code, "mine") == b"2"
    assert find_custom_section(code, "other") == b"1"
    assert find_custom_section(code, "min") is None
    assert find_custom_section(MAGIC, "mine") is None


@pytest.mark.parametrize(
    "code",
    [
        b"",
        b"\0asm\x02\0\0\0",
        MAGIC + b"\0",
        MAGIC + b"\0\x05\x04min",
        MAGIC + b"\0\x02\x04mine",
        MAGIC + b"\x01\x80\x80\x80\x80\x80\x01",
        MAGIC + b"\x01\xff\xff\xff\xff\x7f",
        MAGIC + b"\x01\xff\xff\xff\xff\x0f",
        MAGIC + b"\x01\0" * 1_001,
    ],
)
def test_code_whose_sections_do_not_end_where_they_say_is_refused(code: bytes) -> None:
    with pytest.raises(Malformed):
        find_custom_section(code, "mine")


@settings(max_examples=examples(200), deadline=None)
@given(damaged(st.just(wasm_of("smart_wallet"))))
def test_damaged_code_is_refused_or_has_a_part_of_it_as_section(code: bytes) -> None:
    try:
        found = find_custom_section(code, "contractspecv0")
    except Malformed:
        return
    assert found is None or found in code
