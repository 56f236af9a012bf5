"""Accounts as the ledger has them, read as the public SDK writes them."""

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Keypair, SignerKey, StrKey, xdr

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.stellar.account_entry import (
    AccountEntry,
    AccountSigner,
    Liabilities,
    SignerKind,
    Thresholds,
    account_key,
    read_account,
    read_account_entry,
)
from farebox.stellar.rpc import AccountState
from support.damaged_bytes import damaged
from support.examples import examples

KEY: Final = Keypair.random()
ACCOUNT: Final = Address(KEY.public_key)
OTHER: Final = Keypair.random()
MOST: Final = 2**63 - 1
PAYLOAD: Final = b"hello"
SIGNERS: Final = (
    SignerKey.ed25519_public_key(OTHER.public_key),
    SignerKey.pre_auth_tx(bytes([7]) * 32),
    SignerKey.sha256_hash(bytes([8]) * 32),
    SignerKey.from_encoded_signer_key(
        StrKey.encode_ed25519_signed_payload(bytes([9]) * 32 + b"\0\0\0\x05hello\0\0\0")
    ),
)
NO_EXTENSION: Final = xdr.AccountEntryExt(0)


def extension(*, depth: int) -> xdr.AccountEntryExt:
    """An extension with liabilities (1), sponsoring (2), and the time of the sequence (3)."""
    third = xdr.AccountEntryExtensionV2Ext(
        3,
        v3=xdr.AccountEntryExtensionV3(
            xdr.ExtensionPoint(0), xdr.Uint32(5), xdr.TimePoint(xdr.Uint64(6))
        ),
    )
    second = xdr.AccountEntryExtensionV2(
        num_sponsored=xdr.Uint32(2),
        num_sponsoring=xdr.Uint32(3),
        signer_sponsoring_i_ds=[
            xdr.SponsorshipDescriptor(OTHER.xdr_account_id()),
            xdr.SponsorshipDescriptor(None),
        ],
        ext=third if depth == 3 else xdr.AccountEntryExtensionV2Ext(0),
    )
    first = xdr.AccountEntryExtensionV1(
        xdr.Liabilities(xdr.Int64(11), xdr.Int64(12)),
        xdr.AccountEntryExtensionV1Ext(2, v2=second)
        if depth >= 2
        else xdr.AccountEntryExtensionV1Ext(0),
    )
    return xdr.AccountEntryExt(1, v1=first)


def account(
    *,
    signers: Sequence[tuple[SignerKey, int]] = (),
    ext: xdr.AccountEntryExt = NO_EXTENSION,
    destination: bool = False,
) -> bytes:
    """The data of an account's entry."""
    entry = xdr.AccountEntry(
        account_id=KEY.xdr_account_id(),
        balance=xdr.Int64(50_000_000),
        seq_num=xdr.SequenceNumber(xdr.Int64(7)),
        num_sub_entries=xdr.Uint32(4),
        inflation_dest=OTHER.xdr_account_id() if destination else None,
        flags=xdr.Uint32(9),
        home_domain=xdr.String32(b"example.org"),
        thresholds=xdr.Thresholds(bytes([1, 2, 3, 4])),
        signers=[xdr.Signer(key.to_xdr_object(), xdr.Uint32(weight)) for key, weight in signers],
        ext=ext,
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.ACCOUNT, account=entry).to_xdr_bytes()


WHOLE: Final = account(
    signers=[(key, place + 1) for place, key in enumerate(SIGNERS)],
    ext=extension(depth=3),
    destination=True,
)


def test_account_entry_is_read_whole() -> None:
    entry = read_account_entry(WHOLE, ACCOUNT)
    assert entry == AccountEntry(
        balance=Stroops(50_000_000),
        sequence=7,
        thresholds=Thresholds(master=1, low=2, medium=3, high=4),
        signers=(
            AccountSigner(SignerKind.ED25519, OTHER.raw_public_key(), 1),
            AccountSigner(SignerKind.PRE_AUTH_TX, bytes([7]) * 32, 2),
            AccountSigner(SignerKind.HASH_X, bytes([8]) * 32, 3),
            AccountSigner(SignerKind.SIGNED_PAYLOAD, bytes([9]) * 32, 4, PAYLOAD),
        ),
        subentries=4,
        liabilities=Liabilities(buying=11, selling=12),
        sponsored=2,
        sponsoring=3,
    )
    assert [each.text for each in entry.signers] == [key.encoded_signer_key for key in SIGNERS]
    assert entry.minimum_balance == (2 + 4 + 3 - 2) * 5_000_000


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_account_entry_with_each_extension_reserves_what_it_holds_for_others(depth: int) -> None:
    data = account(ext=extension(depth=depth))
    entry = read_account_entry(data, ACCOUNT)
    assert entry is not None
    assert (entry.sponsored, entry.sponsoring) == ((0, 0) if depth == 1 else (2, 3))
    state = read_account(data, ACCOUNT, as_of_ledger=9)
    assert state is not None
    assert state.reserved == entry.minimum_balance + 12
    assert state.available == 50_000_000 - state.reserved


@pytest.mark.parametrize(
    "data",
    [
        account(signers=[(SIGNERS[0], 256)]),
        WHOLE + b"\0\0\0\0",
        WHOLE[:-4],
        account()[:-4] + (4).to_bytes(4, "big"),
        b"",
    ],
    ids=["weight", "more", "less", "extension", "empty"],
)
def test_account_entry_of_an_unknown_form_is_none(data: bytes) -> None:
    assert read_account_entry(data, ACCOUNT) is None


def test_account_entry_of_another_account_is_none() -> None:
    assert read_account_entry(WHOLE, Address(OTHER.public_key)) is None


@settings(max_examples=examples(300), deadline=None)
@given(damaged(st.just(WHOLE)))
def test_damaged_account_entry_is_none_or_read_as_the_sdk_reads_it(data: bytes) -> None:
    entry = read_account_entry(data, ACCOUNT)
    if entry is None:
        return
    read = xdr.LedgerEntryData.from_xdr_bytes(data).account
    assert read is not None
    assert (entry.balance, entry.sequence) == (
        read.balance.int64,
        read.seq_num.sequence_number.int64,
    )
    assert tuple(read.thresholds.thresholds) == (
        entry.thresholds.master,
        entry.thresholds.low,
        entry.thresholds.medium,
        entry.thresholds.high,
    )
    assert [each.weight for each in entry.signers] == [each.weight.uint32 for each in read.signers]


def start_of_entry(balance: int, sequence: int) -> bytes:
    """The fields up to the sequence number."""
    return account_key(ACCOUNT) + b"".join(
        value.to_bytes(8, "big", signed=True) for value in (balance, sequence)
    )


@pytest.mark.parametrize(("balance", "sequence"), [(0, 0), (MOST, MOST)])
def test_account_entry_is_read_at_the_bounds_of_both_fields(balance: int, sequence: int) -> None:
    data = start_of_entry(balance, sequence) + b"fields of a later protocol"
    state = read_account(data, ACCOUNT, as_of_ledger=9)
    assert state == AccountState(sequence, Stroops(balance), 9)


@pytest.mark.parametrize(("balance", "sequence"), [(-1, 5), (5, -1)])
def test_account_entry_with_a_negative_field_is_none(balance: int, sequence: int) -> None:
    assert read_account(start_of_entry(balance, sequence), ACCOUNT, as_of_ledger=9) is None


def test_truncated_account_entry_is_none() -> None:
    whole = start_of_entry(5, 6)
    assert all(
        read_account(whole[:cut], ACCOUNT, as_of_ledger=9) is None for cut in range(len(whole))
    )
