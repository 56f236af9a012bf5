"""The parts of an authorization entry and the trees it may carry."""

import pytest
from stellar_sdk import xdr

from farebox.stellar.auth_entries import AuthEntry, CredentialKind
from farebox.stellar.transfer_envelope import TransferEnvelope, Unreadable, read_transfer_envelope
from farebox.x402.reasons import Reason
from support.raw_envelopes import CALL, ENTRY, NONE, ONE, raw_entry, raw_envelope, u32
from support.sdk_envelopes import PAYER, credentials
from support.sdk_values import account, claimable_balance, contract, muxed, pool, void
from testing.contract_calls import invocation

Credentials = xdr.SorobanCredentialsType


def _entries(raw: bytes) -> tuple[AuthEntry, ...]:
    read = read_transfer_envelope(raw_envelope(entries=raw))
    assert isinstance(read, TransferEnvelope), read
    return read.entries


def _entry_of(address: xdr.SCAddress, kind: Credentials) -> xdr.SorobanAuthorizationEntry:
    held = credentials(kind, address, nonce=5, expires_at_ledger=9, signature=void())
    return xdr.SorobanAuthorizationEntry(held, invocation(CALL))


@pytest.mark.parametrize(("kind", "name"), list(zip(Credentials, CredentialKind, strict=True)))
def test_entry_has_its_kind_of_credentials(kind: Credentials, name: CredentialKind) -> None:
    (entry,) = _entries(ONE + _entry_of(account(PAYER.raw_public_key()), kind).to_xdr_bytes())
    assert entry.kind is name


@pytest.mark.parametrize(
    "address", [muxed(1, bytes(32)), claimable_balance(bytes(32)), pool(bytes(32))]
)
def test_entry_address_is_none_unless_an_account_or_contract(address: xdr.SCAddress) -> None:
    raw = _entry_of(address, Credentials.SOROBAN_CREDENTIALS_ADDRESS).to_xdr_bytes()
    (entry,) = _entries(ONE + raw)
    assert entry.address is None
    assert (entry.nonce, entry.expires_at_ledger) == (5, 9)


def test_entry_address_is_none_for_a_muxed_contract() -> None:
    raw = _entry_of(muxed(1, bytes(32)), Credentials.SOROBAN_CREDENTIALS_ADDRESS).to_xdr_bytes()
    (entry,) = _entries(ONE + raw.replace(u32(2) + u32(0) + u32(1), u32(5) + u32(0) + u32(1), 1))
    assert entry.address is None
    assert entry.address_xdr[:4] == u32(5)


def test_entries_keep_their_order_and_bytes() -> None:
    first = _entry_of(contract(b"\x01" * 32), Credentials.SOROBAN_CREDENTIALS_ADDRESS)
    second = _entry_of(contract(b"\x02" * 32), Credentials.SOROBAN_CREDENTIALS_ADDRESS_V2)
    entries = _entries(u32(2) + first.to_xdr_bytes() + second.to_xdr_bytes())
    assert [entry.raw for entry in entries] == [first.to_xdr_bytes(), second.to_xdr_bytes()]


def test_envelope_with_more_than_sixteen_entries_is_malformed() -> None:
    raw = ENTRY.to_xdr_bytes()
    assert len(_entries(u32(16) + raw * 16)) == 16
    assert read_transfer_envelope(raw_envelope(entries=u32(17) + raw * 17)) == Unreadable(
        Reason.MALFORMED
    )


@pytest.mark.parametrize(
    "function",
    [
        u32(1) + NONE + ONE + bytes(32) + bytes(32) + NONE + bytes(32),  # by address, wasm
        u32(1) + ONE + NONE + ONE,  # by native asset, asset contract
        u32(1) + ONE + (ONE + b"USDC" + NONE + bytes(32)) + ONE,
        u32(1) + ONE + (u32(2) + bytes(12) + NONE + bytes(32)) + ONE,
        u32(1) + ONE + NONE + (u32(2) + ONE + bytes(32) + u32(3) + b"tag\0"),  # external code
        u32(2) + ONE + NONE + ONE + u32(2) + ONE * 2,  # with constructor arguments
    ],
)
def test_authorized_contract_creation_is_read_and_is_no_call(function: bytes) -> None:
    (entry,) = _entries(raw_entry(invocation=function + NONE))
    assert not entry.is_contract_call
    assert entry.root_call == function[4:]


@pytest.mark.parametrize(
    "function",
    [
        u32(3),
        u32(1) + u32(2) + bytes(64),  # identity of a contract
        u32(1) + ONE + u32(3) + bytes(40),  # asset
        u32(1) + ONE + NONE + u32(3),  # code
    ],
)
def test_unknown_arm_in_an_authorized_invocation_is_malformed(function: bytes) -> None:
    raw = raw_envelope(entries=raw_entry(invocation=function + NONE))
    assert read_transfer_envelope(raw) == Unreadable(Reason.MALFORMED)


def test_unknown_kind_of_credentials_is_malformed() -> None:
    for arm in (4, 7, 2**32 - 1):
        raw = raw_envelope(entries=raw_entry(credentials=u32(arm)))
        assert read_transfer_envelope(raw) == Unreadable(Reason.MALFORMED)


def _nested_calls(depth: int) -> bytes:
    tree = invocation(CALL)
    for _ in range(depth):
        tree = invocation(CALL, tree)
    return raw_entry(invocation=tree.to_xdr_bytes())


def test_sub_invocations_are_read_to_a_depth_of_eight() -> None:
    assert not _entries(_nested_calls(0))[0].has_subinvocations
    for depth in (1, 8):
        (entry,) = _entries(_nested_calls(depth))
        assert entry.has_subinvocations
        assert entry.root_call == CALL.to_xdr_bytes()
    assert read_transfer_envelope(raw_envelope(entries=_nested_calls(9))) == Unreadable(
        Reason.MALFORMED
    )


def _delegated(depth: int) -> bytes:
    delegates: list[xdr.SorobanDelegateSignature] = []
    for _ in range(depth):
        delegates = [xdr.SorobanDelegateSignature(contract(bytes(32)), void(), delegates)]
    held = credentials(
        Credentials.SOROBAN_CREDENTIALS_ADDRESS_WITH_DELEGATES,
        account(PAYER.raw_public_key()),
        nonce=5,
        expires_at_ledger=9,
        signature=void(),
        delegates=delegates,
    )
    return raw_entry(credentials=held.to_xdr_bytes())


def test_delegates_are_skipped_to_a_depth_of_eight() -> None:
    assert _entries(_delegated(8))[0].address == PAYER.public_key
    assert read_transfer_envelope(raw_envelope(entries=_delegated(9))) == Unreadable(
        Reason.MALFORMED
    )
