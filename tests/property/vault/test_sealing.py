"""A sealed value opens in its own context, under its own key and version, and in no other way."""

import base64
import hashlib
import hmac
import struct
from typing import Final

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import assume, given
from hypothesis import strategies as st

from farebox.kernel.secret import Secret
from farebox.vault.sealing import NONCE_BYTES, Context, SealBroken, Sealed, Sealer
from support.promises import promise
from support.vault import NEW, OLD, keys

TEXT: Final = st.text(max_size=40)
CONTEXTS: Final = st.builds(Context, owner=TEXT, purpose=TEXT, id=TEXT)
VALUES: Final = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
SEALER: Final = Sealer(keys(NEW, OLD))
OTHER_KEY: Final = Sealer(keys("2:" + OLD[2:], "1:" + NEW[2:]))


def does_not_open(sealed: Sealed, context: Context, sealer: Sealer = SEALER) -> None:
    with pytest.raises(SealBroken) as broken:
        sealer.open(sealed, context)
    assert broken.value.message == "A secret cannot be opened."
    assert broken.value.__cause__ is None


@promise("vault:aes-256-gcm")
@given(VALUES, CONTEXTS)
def test_what_was_sealed_opens(value: str, context: Context) -> None:
    sealed = SEALER.seal(Secret(value), context)
    assert SEALER.open(sealed, context).reveal() == value
    assert (sealed.key_version, len(sealed.nonce)) == (2, NONCE_BYTES)
    assert len(sealed.body) == len(value.encode()) + 16
    assert len(value) < 4 or value.encode() not in sealed.body


@promise("vault:bound-to-its-id")
@given(VALUES, CONTEXTS, CONTEXTS)
def test_it_opens_in_no_other_context(value: str, own: Context, other: Context) -> None:
    assume(own != other)
    does_not_open(SEALER.seal(Secret(value), own), other)


@given(VALUES, TEXT, TEXT, st.data())
def test_no_shift_of_letters_from_one_field_to_the_next_makes_the_same_context(
    value: str, left: str, right: str, data: st.DataObject
) -> None:
    whole = left + right
    cut = data.draw(st.integers(0, len(whole)))
    assume(cut != len(left))
    sealed = SEALER.seal(Secret(value), Context(left, right, "sec"))
    does_not_open(sealed, Context(whole[:cut], whole[cut:], "sec"))


@promise("vault:key-version")
@given(VALUES, CONTEXTS, st.integers(-1, 2**31))
def test_it_opens_under_no_other_version(value: str, context: Context, version: int) -> None:
    sealed = SEALER.seal(Secret(value), context)
    assume(version != sealed.key_version)
    does_not_open(Sealed(version, sealed.nonce, sealed.body), context)


@given(VALUES, CONTEXTS)
def test_it_opens_with_no_other_key_and_in_no_other_domain(value: str, context: Context) -> None:
    sealed = SEALER.seal(Secret(value), context)
    does_not_open(sealed, context, OTHER_KEY)
    does_not_open(sealed, context, Sealer(keys(OLD)))
    does_not_open(sealed, context, Sealer(keys(NEW, OLD), domain="delegate key"))
    assert Sealer(keys(OLD, NEW)).open(sealed, context).reveal() == value


@given(VALUES, CONTEXTS, st.data())
def test_it_does_not_open_with_a_bit_of_it_changed(
    value: str, context: Context, data: st.DataObject
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    raw = bytearray(sealed.nonce + sealed.body)
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    changed = Sealed(2, bytes(raw[:NONCE_BYTES]), bytes(raw[NONCE_BYTES:]))
    does_not_open(changed, context)


@given(VALUES, CONTEXTS, st.binary(max_size=300), st.binary(max_size=40))
def test_bytes_of_any_length_do_not_open(
    value: str, context: Context, body: bytes, nonce: bytes
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    does_not_open(Sealed(2, sealed.nonce, body), context)
    does_not_open(Sealed(2, nonce, sealed.body), context)
    for end in range(0, len(sealed.body), 7):
        does_not_open(Sealed(2, sealed.nonce, sealed.body[:end]), context)


@promise("vault:unique-nonce")
@given(VALUES, CONTEXTS)
def test_the_same_value_sealed_twice_has_nothing_in_common(value: str, context: Context) -> None:
    once, again = (SEALER.seal(Secret(value), context) for _ in range(2))
    assert once.nonce != again.nonce
    assert once.body != again.body
    assert once.body[-16:] != again.body[-16:]


def test_a_version_is_part_of_the_context_even_where_its_key_is_the_same() -> None:
    context = Context("user", "header", "sec")
    sealed = Sealer(keys(OLD)).seal(Secret("value"), context)
    renamed = Sealer(keys(f"2:{OLD[2:]}"))
    does_not_open(Sealed(2, sealed.nonce, sealed.body), context, renamed)


def test_what_is_stored_can_be_read_by_its_description_alone() -> None:
    """Whatever changes this leaves every stored secret unreadable."""
    nonce, master = bytes(range(12)), base64.b64decode(OLD[2:])
    sealer = Sealer(keys(OLD), entropy=lambda _: nonce)
    sealed = sealer.seal(Secret("välue"), Context("user_1", "header", "sec_1"))
    key = hmac.digest(master, b"farebox vault secret\x01", hashlib.sha256)
    fields = [b"vault secret", b"user_1", b"header", b"sec_1", b"1"]
    bound_to = b"".join(struct.pack(">I", len(each)) + each for each in fields)
    assert sealed.body == AESGCM(key).encrypt(nonce, "välue".encode(), bound_to)
