"""A sealed value opens with its own associated data, key and version, and with no other."""

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
from farebox.vault.sealing import NONCE_BYTES, AssociatedData, SealBroken, Sealed, Sealer
from support.promises import promise
from support.vault import NEW, OLD, keys

TEXT: Final = st.text(max_size=40)
CONTEXTS: Final = st.builds(AssociatedData, owner=TEXT, purpose=TEXT, id=TEXT)
VALUES: Final = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
SEALER: Final = Sealer(keys(NEW, OLD))
OTHER_KEY: Final = Sealer(keys("2:" + OLD[2:], "1:" + NEW[2:]))


def assert_open_fails(sealed: Sealed, context: AssociatedData, sealer: Sealer = SEALER) -> None:
    with pytest.raises(SealBroken) as broken:
        sealer.open(sealed, context)
    assert broken.value.message == "A secret cannot be opened."
    assert broken.value.__cause__ is None


@promise("vault:aes-256-gcm")
@given(VALUES, CONTEXTS)
def test_sealed_value_opens_with_its_own_key_and_domain_alone(
    value: str, context: AssociatedData
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    assert SEALER.open(sealed, context).reveal() == value
    assert (sealed.key_version, len(sealed.nonce)) == (2, NONCE_BYTES)
    assert len(sealed.body) == len(value.encode()) + 16
    assert len(value) < 4 or value.encode() not in sealed.body
    assert_open_fails(sealed, context, OTHER_KEY)
    assert_open_fails(sealed, context, Sealer(keys(OLD)))
    assert_open_fails(sealed, context, Sealer(keys(NEW, OLD), domain="delegate key"))
    assert Sealer(keys(OLD, NEW)).open(sealed, context).reveal() == value


@promise("vault:bound-to-its-id")
@given(VALUES, CONTEXTS, CONTEXTS)
def test_open_fails_with_other_associated_data(
    value: str, own: AssociatedData, other: AssociatedData
) -> None:
    assume(own != other)
    assert_open_fails(SEALER.seal(Secret(value), own), other)


@given(VALUES, TEXT, TEXT, st.data())
def test_associated_data_differs_when_letters_shift_between_fields(
    value: str, left: str, right: str, data: st.DataObject
) -> None:
    whole = left + right
    cut = data.draw(st.integers(0, len(whole)))
    assume(cut != len(left))
    sealed = SEALER.seal(Secret(value), AssociatedData(left, right, "sec"))
    assert_open_fails(sealed, AssociatedData(whole[:cut], whole[cut:], "sec"))


@promise("vault:key-version")
@given(VALUES, CONTEXTS, st.integers(-1, 2**31))
def test_open_fails_under_another_key_version(
    value: str, context: AssociatedData, version: int
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    assume(version != sealed.key_version)
    assert_open_fails(Sealed(version, sealed.nonce, sealed.body), context)


@given(VALUES, CONTEXTS, st.data())
def test_open_fails_with_one_bit_changed(
    value: str, context: AssociatedData, data: st.DataObject
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    raw = bytearray(sealed.nonce + sealed.body)
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    changed = Sealed(2, bytes(raw[:NONCE_BYTES]), bytes(raw[NONCE_BYTES:]))
    assert_open_fails(changed, context)


@given(VALUES, CONTEXTS, st.binary(max_size=300), st.binary(max_size=40))
def test_open_fails_for_arbitrary_bytes(
    value: str, context: AssociatedData, body: bytes, nonce: bytes
) -> None:
    sealed = SEALER.seal(Secret(value), context)
    assert_open_fails(Sealed(2, sealed.nonce, body), context)
    assert_open_fails(Sealed(2, nonce, sealed.body), context)
    for end in range(0, len(sealed.body), 7):
        assert_open_fails(Sealed(2, sealed.nonce, sealed.body[:end]), context)


@promise("vault:unique-nonce")
@given(VALUES, CONTEXTS)
def test_one_value_sealed_twice_has_different_nonces_and_ciphertexts(
    value: str, context: AssociatedData
) -> None:
    once, again = (SEALER.seal(Secret(value), context) for _ in range(2))
    assert once.nonce != again.nonce
    assert once.body != again.body
    assert once.body[-16:] != again.body[-16:]


def test_open_fails_under_another_version_with_the_same_key() -> None:
    context = AssociatedData("user", "header", "sec")
    sealed = Sealer(keys(OLD)).seal(Secret("value"), context)
    renamed = Sealer(keys(f"2:{OLD[2:]}"))
    assert_open_fails(Sealed(2, sealed.nonce, sealed.body), context, renamed)


def test_sealed_value_opens_by_its_documented_format() -> None:
    """A change of the format would make every stored secret unreadable."""
    nonce, master = bytes(range(12)), base64.b64decode(OLD[2:])
    sealer = Sealer(keys(OLD), entropy=lambda _: nonce)
    sealed = sealer.seal(Secret("välue"), AssociatedData("user_1", "header", "sec_1"))
    key = hmac.digest(master, b"farebox vault secret\x01", hashlib.sha256)
    fields = [b"vault secret", b"user_1", b"header", b"sec_1", b"1"]
    bound_to = b"".join(struct.pack(">I", len(each)) + each for each in fields)
    assert sealed.body == AESGCM(key).encrypt(nonce, "välue".encode(), bound_to)
