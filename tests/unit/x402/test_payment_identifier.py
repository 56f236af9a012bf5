"""The `payment-identifier` extension of a payload, read from its bytes."""

from typing import Any

import msgspec
import pytest

from farebox.x402.extensions import read_payment_identifier
from farebox.x402.reasons import Reason

ID = "pay_7d5d747be160e280504c099d984bcfe0"


def read(extension: object) -> str | Reason | None:
    return read_payment_identifier(msgspec.json.encode({"payment-identifier": extension}))


def named(name: Any, *, required: Any = False) -> str | Reason | None:
    return read({"info": {"required": required, "id": name}, "schema": {"type": "object"}})


@pytest.mark.parametrize("name", ["x" * 16, "x" * 128, "Az09_-Az09_-Az09", ID])
@pytest.mark.parametrize("required", [False, True])
def test_valid_id_is_read(name: str, *, required: bool) -> None:
    assert named(name, required=required) == name


@pytest.mark.parametrize(
    "name", ["short", "x" * 15, "x" * 129, "sixteen letters!", ID + "\n", 7, True, [ID], {"id": ID}]
)
def test_malformed_id_is_invalid(name: Any) -> None:
    assert named(name) is Reason.INVALID_PAYMENT_IDENTIFIER


@pytest.mark.parametrize(
    "extension", ["id", [], {}, {"info": "x"}, {"info": {"id": ID}}, {"info": {"required": 1}}]
)
def test_malformed_extension_is_invalid(extension: Any) -> None:
    assert read(extension) is Reason.INVALID_PAYMENT_IDENTIFIER


def test_missing_id_is_refused_where_the_seller_requires_one() -> None:
    assert named(None) is None
    assert named(None, required=True) is Reason.PAYMENT_IDENTIFIER_REQUIRED


@pytest.mark.parametrize(
    "extensions", [b"", b"null", b'"x"', b"[]", b"{}", b'{"payment-identifier":null}']
)
def test_payload_without_the_extension_has_no_id(extensions: bytes) -> None:
    assert read_payment_identifier(extensions) is None
