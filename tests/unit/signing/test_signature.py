"""Signatures as text."""

import base64
from typing import Final

import pytest
from stellar_sdk import scval, xdr

from farebox.signing.signature import MAX_VALUE_BYTES, read_key_signature, read_signature_value
from support.promises import case
from support.signing import PAYER, PAYER_KEY
from testing.contract_calls import nested_vector, wide_vector
from testing.entries import key_signatures

RAW: Final = bytes(range(64))
WANTED: Final = key_signatures([(bytes(PAYER_KEY.verify_key), RAW)]).to_xdr_bytes()


def base64_of(raw: bytes) -> str:
    """The base64 of some bytes."""
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize("text", [base64_of(RAW), RAW.hex(), RAW.hex().upper()])
def test_key_signature_is_read_from_base64_and_hex_as_the_sdk_writes_it(text: str) -> None:
    assert read_key_signature(text, PAYER) == WANTED


@pytest.mark.parametrize(
    "text",
    [
        "",
        base64_of(RAW[:-1]),
        base64_of(RAW + b"\0"),
        base64_of(RAW)[:-2],
        base64_of(RAW).replace("/", "_").replace("+", "-") + "\n",
        RAW.hex()[:-2],
        RAW.hex() + "00",
        "0x" + RAW.hex(),
        "é" * 88,
        "A" * 100_000,
    ],
)
def test_other_text_is_no_key_signature(text: str) -> None:
    assert read_key_signature(text, PAYER) is None


@pytest.mark.parametrize(
    "value",
    [
        scval.to_bytes(bytes(4_627)),
        scval.to_map({scval.to_symbol("k"): scval.to_vec([scval.to_uint32(1)])}),
        scval.to_void(),
        wide_vector(499),
    ],
)
def test_any_value_is_the_signature_of_a_contract_account(value: xdr.SCVal) -> None:
    assert read_signature_value(value.to_xdr()) == value.to_xdr_bytes()


@case("WA-008")
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0\0\0\x01\0\0\0\0",
        b"\0\0\0\x63",
        nested_vector(40),
        wide_vector(501).to_xdr_bytes(),
        scval.to_bytes(bytes(MAX_VALUE_BYTES)).to_xdr_bytes(),
    ],
)
def test_bytes_that_are_no_bounded_value_are_no_signature(raw: bytes) -> None:
    assert read_signature_value(base64_of(raw)) is None


def test_text_that_is_no_base64_is_no_signature() -> None:
    assert read_signature_value("%%%") is None
