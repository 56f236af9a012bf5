import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import StrKey

from farebox.kernel.addresses import (
    account_address,
    contract_address,
    is_account,
    parse_account,
    parse_contract,
    parse_party,
    raw_key,
)

KEYS = st.binary(min_size=32, max_size=32)


@given(KEYS)
def test_addresses_match_the_sdk_and_round_trip(key: bytes) -> None:
    account, contract = account_address(key), contract_address(key)
    assert account == StrKey.encode_ed25519_public_key(key)
    assert contract == StrKey.encode_contract(key)
    assert raw_key(account) == raw_key(contract) == key
    assert parse_account(account) == parse_party(account) == account
    assert parse_contract(contract) == parse_party(contract) == contract
    assert parse_account(contract) is parse_contract(account) is None
    assert is_account(account)
    assert not is_account(contract)


@given(KEYS, st.integers(0, 55), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_address_with_one_wrong_character_is_none(key: bytes, at: int, letter: str) -> None:
    address = account_address(key)
    changed = address[:at] + letter + address[at + 1 :]
    assert (parse_party(changed) is None) == (changed != address)


@given(st.text(max_size=80))
def test_parse_party_is_none_for_other_text(text: str) -> None:
    parsed = parse_party(text)
    assert (
        parsed is None or StrKey.is_valid_ed25519_public_key(text) or StrKey.is_valid_contract(text)
    )


@pytest.mark.parametrize(
    "dress", [str.lower, lambda a: a + "\n", lambda a: " " + a, lambda a: a[:-1]]
)
def test_address_in_another_spelling_is_none(dress: object) -> None:
    assert callable(dress)
    assert parse_party(dress(account_address(bytes(32)))) is None


@pytest.mark.parametrize("encode", [StrKey.encode_ed25519_secret_seed, StrKey.encode_pre_auth_tx])
def test_parse_party_is_none_for_other_kinds_of_keys(encode: object) -> None:
    assert callable(encode)
    assert parse_party(encode(bytes(32))) is None
