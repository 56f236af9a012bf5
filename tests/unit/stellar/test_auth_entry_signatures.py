"""The signatures of authorization entries: which verify without a call of the network."""

from dataclasses import replace

import pytest
from stellar_sdk import Keypair, xdr

from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    AuthEntry,
    CredentialKind,
    KeySignatures,
    OpaqueSignature,
    Unsigned,
    authorization_digest,
    every_signature_verifies,
    keys_are_sorted,
)
from farebox.stellar.transfer_envelope import TransferEnvelope, read_transfer_envelope
from support.raw_envelopes import CALL, ONE, raw_envelope, u32
from support.sdk_envelopes import PAYER, credentials, signed_entry
from support.sdk_values import KEYPAIRS, account, blob, contract, mapping, symbol, vector, void
from testing.contract_calls import invocation
from testing.entries import key_signatures

TESTNET = Network.TESTNET.id
Credentials = xdr.SorobanCredentialsType


def _read(entry: xdr.SorobanAuthorizationEntry) -> AuthEntry:
    read = read_transfer_envelope(raw_envelope(entries=ONE + entry.to_xdr_bytes()))
    assert isinstance(read, TransferEnvelope)
    return read.entries[0]


def _with_signature(signature: xdr.SCVal, address: xdr.SCAddress | None = None) -> AuthEntry:
    held = credentials(
        Credentials.SOROBAN_CREDENTIALS_ADDRESS,
        address or account(PAYER.raw_public_key()),
        nonce=1,
        expires_at_ledger=1_000,
        signature=signature,
    )
    return _read(xdr.SorobanAuthorizationEntry(held, invocation(CALL)))


@pytest.mark.parametrize(
    "kind", [Credentials.SOROBAN_CREDENTIALS_ADDRESS, Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2]
)
@pytest.mark.parametrize("signers", [KEYPAIRS[:1], KEYPAIRS[1:2], KEYPAIRS])
def test_entry_verifies_when_every_listed_key_signed_with_or_without_the_master_key(
    kind: Credentials, signers: tuple[Keypair, ...]
) -> None:
    entry = _read(signed_entry(CALL, *signers, kind=kind))
    assert every_signature_verifies(entry, TESTNET)
    assert keys_are_sorted(entry)
    assert not every_signature_verifies(entry, Network.PUBNET.id)


@pytest.mark.parametrize("nonce", [0, -1, -(2**63), 2**63 - 1])
def test_signature_verifies_for_every_nonce(nonce: int) -> None:
    entry = _read(signed_entry(CALL, PAYER, nonce=nonce))
    assert entry.nonce == nonce
    assert every_signature_verifies(entry, TESTNET)


@pytest.mark.parametrize(
    "kind", [Credentials.SOROBAN_CREDENTIALS_ADDRESS, Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2]
)
def test_signature_covers_nonce_expiry_call_and_kind(kind: Credentials) -> None:
    signed = signed_entry(CALL, PAYER, kind=kind)
    entry = _read(signed)
    other = CredentialKind.ADDRESS_V2 if entry.kind == "address" else CredentialKind.ADDRESS
    changed = [
        replace(entry, nonce_and_expiry=bytes(8) + entry.nonce_and_expiry[8:]),
        replace(entry, nonce_and_expiry=entry.nonce_and_expiry[:8] + u32(1_001)),
        replace(entry, invocation=entry.invocation[:-4] + u32(1)),
        replace(entry, kind=other),
    ]
    assert not any(every_signature_verifies(one, TESTNET) for one in changed)


def test_signature_covers_the_address_only_in_version_2() -> None:
    first = _read(signed_entry(CALL, PAYER))
    second = _read(signed_entry(CALL, PAYER, kind=Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2))
    elsewhere = account(KEYPAIRS[2].raw_public_key()).to_xdr_bytes()
    assert every_signature_verifies(replace(first, address_xdr=elsewhere), TESTNET)
    assert not every_signature_verifies(replace(second, address_xdr=elsewhere), TESTNET)


def test_entry_does_not_verify_with_one_wrong_signature() -> None:
    entry = _read(signed_entry(CALL, *KEYPAIRS))
    assert isinstance(entry.signature, KeySignatures)
    pairs = entry.signature.pairs
    for at in range(3):
        key, signed = pairs[at]
        wrong = (*pairs[:at], (key, signed[:-1] + bytes([signed[-1] ^ 1])), *pairs[at + 1 :])
        assert not every_signature_verifies(replace(entry, signature=KeySignatures(wrong)), TESTNET)


def test_keys_are_sorted_only_in_strictly_rising_order() -> None:
    entry = _read(signed_entry(CALL, *KEYPAIRS))
    assert isinstance(entry.signature, KeySignatures)
    rising = entry.signature.pairs
    falling = replace(entry, signature=KeySignatures(rising[::-1]))
    doubled = replace(entry, signature=KeySignatures((rising[0], rising[0])))
    assert every_signature_verifies(falling, TESTNET)
    assert not keys_are_sorted(falling)
    assert every_signature_verifies(doubled, TESTNET)
    assert not keys_are_sorted(doubled)


def test_entry_without_a_signature_does_not_verify() -> None:
    unsigned = _with_signature(void())
    none_listed = _with_signature(key_signatures([]))
    assert unsigned.signature == Unsigned()
    assert none_listed.signature == KeySignatures(())
    for entry in (unsigned, none_listed):
        assert not every_signature_verifies(entry, TESTNET)
        assert keys_are_sorted(entry)


PAIR = (symbol(b"public_key"), blob(bytes(32))), (symbol(b"signature"), blob(bytes(64)))


@pytest.mark.parametrize(
    "signature",
    [
        blob(bytes(64)),
        mapping(*PAIR),
        vector(vector()),
        vector(mapping(PAIR[0])),
        vector(mapping(PAIR[1], PAIR[0])),
        vector(mapping(*PAIR, (symbol(b"x"), void()))),
        vector(mapping((symbol(b"public_key"), blob(bytes(31))), PAIR[1])),
        vector(mapping(PAIR[0], (symbol(b"signature"), blob(bytes(65))))),
        vector(mapping(*PAIR), void()),
    ],
)
def test_signature_of_another_form_is_opaque_and_does_not_verify(signature: xdr.SCVal) -> None:
    entry = _with_signature(signature)
    assert entry.signature == OpaqueSignature()
    assert not every_signature_verifies(entry, TESTNET)
    assert keys_are_sorted(entry)


def test_signature_of_a_contract_is_opaque() -> None:
    entry = _with_signature(key_signatures([(bytes(32), bytes(64))]), contract(b"\x0c" * 32))
    assert entry.signature == OpaqueSignature()


def test_source_account_credentials_do_not_verify() -> None:
    bare = xdr.SorobanCredentials(Credentials.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT)
    entry = _read(xdr.SorobanAuthorizationEntry(bare, invocation(CALL)))
    with pytest.raises(ValueError, match="no digest"):
        authorization_digest(entry, TESTNET)
    listed = replace(entry, signature=KeySignatures(((bytes(32), bytes(64)),)))
    assert not every_signature_verifies(entry, TESTNET)
    assert not every_signature_verifies(listed, TESTNET)


def test_invalid_and_small_order_keys_do_not_verify() -> None:
    for key in (b"\xff" * 32, bytes(32), b"\x01" + bytes(31)):
        entry = _with_signature(key_signatures([(key, bytes(64))]))
        assert not every_signature_verifies(entry, TESTNET)
