"""Every envelope that the reader accepts decodes as in the SDK."""

from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Keypair, xdr

from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    KeySignatures,
    authorization_digest,
    every_signature_verifies,
)
from farebox.stellar.transfer_envelope import (
    NotATransfer,
    TransferEnvelope,
    Unreadable,
    read_transfer_envelope,
)
from support.damaged_bytes import COPIES, damaged_copies
from support.envelope_strategies import envelopes, signed_payments
from support.examples import examples
from support.sdk_envelopes import payment
from support.sdk_oracle import assert_sdk_agrees, sdk_reads


def _bytes(envelope: xdr.TransactionEnvelope) -> bytes:
    return envelope.to_xdr_bytes()


@settings(max_examples=examples(100), deadline=None)
@given(envelopes)
def test_transfer_envelope_decodes_as_in_the_sdk(envelope: xdr.TransactionEnvelope) -> None:
    raw = envelope.to_xdr_bytes()
    read = read_transfer_envelope(raw)
    assert isinstance(read, TransferEnvelope | NotATransfer)
    assert_sdk_agrees(read, raw)


@settings(max_examples=examples(400 // COPIES), deadline=None)
@given(damaged_copies(envelopes.map(_bytes)))
def test_damaged_envelope_is_refused_or_decodes_as_in_the_sdk(copies: list[bytes]) -> None:
    for raw in copies:
        assert_sdk_agrees(read_transfer_envelope(raw), raw)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=300))
def test_read_transfer_envelope_returns_for_arbitrary_bytes(raw: bytes) -> None:
    assert_sdk_agrees(read_transfer_envelope(raw), raw)


def test_payment_with_one_changed_word_is_refused_or_decodes_as_in_the_sdk() -> None:
    original = payment()
    accepted = 0
    for at in range(0, len(original), 4):
        word = int.from_bytes(original[at : at + 4], "big")
        for changed in {word ^ 1, (word + 1) % 2**32, word ^ 2**31, 0, 2, 5, 0xFF} - {word}:
            raw = original[:at] + changed.to_bytes(4, "big") + original[at + 4 :]
            read = read_transfer_envelope(raw)
            accepted += not isinstance(read, Unreadable)
            assert_sdk_agrees(read, raw)
    assert accepted > 100  # keys, amounts, nonces and signatures may change and still be readable


def test_truncated_payment_is_refused() -> None:
    original = payment()
    assert all(
        isinstance(read_transfer_envelope(original[:end]), Unreadable)
        for end in range(len(original))
    )


@settings(max_examples=examples(100), deadline=None)
@given(signed_payments)
def test_digests_and_signatures_equal_those_of_the_sdk(envelope: xdr.TransactionEnvelope) -> None:
    read = read_transfer_envelope(envelope.to_xdr_bytes())
    assert isinstance(read, TransferEnvelope)
    (entry,) = read.entries
    assert isinstance(entry.signature, KeySignatures)
    digest = authorization_digest(entry, Network.TESTNET.id)
    for key, signed in entry.signature.pairs:
        Keypair.from_raw_ed25519_public_key(key).verify(digest, signed)
    assert every_signature_verifies(entry, Network.TESTNET.id)
    assert not every_signature_verifies(entry, Network.PUBNET.id)


def test_sdk_oracle_refuses_what_is_not_an_envelope() -> None:
    assert sdk_reads(b"") is None
    assert sdk_reads(payment() + b"\0\0\0\0") is None
