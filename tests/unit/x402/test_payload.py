"""A payment that a buyer sends holds a name that is not on the ledger."""

from typing import Any

import msgspec
import pytest

from farebox.kernel.secret import Secret
from farebox.x402.extensions import read_payment_identifier
from farebox.x402.payload import build_payload

NAME = "payment-identifier"


def extensions_of(given: dict[str, Any] | None) -> dict[str, Any]:
    payload = build_payload({}, Secret("AAAA"), extensions=given)
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(payload["extensions"]))
    return read


@pytest.mark.parametrize("given", [None, {}, {"bazaar": {"info": 1}}, {NAME: None}])
def test_payload_has_an_identifier_where_the_seller_declares_none(given: Any) -> None:
    first, second = extensions_of(given), extensions_of(given)
    ids = {read_payment_identifier(msgspec.json.encode(each)) for each in (first, second)}
    assert len(ids) == 2
    assert all(isinstance(each, str) and len(each) == 36 for each in ids)
    assert first[NAME]["info"]["required"] is False
    assert first.get("bazaar") == (given or {}).get("bazaar")


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("required", [False, True])
def test_id_is_added_to_the_sellers_declaration(*, required: bool, is_raw: bool) -> None:
    declared = {"info": {"required": required, "more": 1}, "schema": {"type": "object"}}
    given: Any = {NAME: msgspec.Raw(msgspec.json.encode(declared)) if is_raw else declared}
    own = extensions_of(given)[NAME]
    assert len(own["info"].pop("id")) == 36
    assert own == declared


@pytest.mark.parametrize(
    "declared",
    [
        {"info": {"required": True, "id": "auto_0123456789abcdef_1"}},
        {"info": {"required": "yes"}},
        {"info": []},
        "text",
    ],
)
def test_declaration_with_an_id_or_of_another_form_is_echoed_as_it_came(declared: Any) -> None:
    assert extensions_of({NAME: declared, "n": 1}) == {NAME: declared, "n": 1}


def test_other_extensions_are_echoed_to_the_byte() -> None:
    given = {"n": msgspec.Raw(b'{"a": 1.0, "b": 1e3}'), NAME: msgspec.Raw(b'{"info": "\xff"}')}
    payload = build_payload({}, Secret("AAAA"), extensions=given)
    assert payload["extensions"] == given
