"""Transactions that create accounts with sponsored reserves, and that merge them."""

from collections.abc import Sequence
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.networks import Network
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import (
    SignedTransaction,
    UnsignedTransaction,
    fee_bump,
    sign,
    transaction_head,
)

MAX_CREATED: Final = 19  # a transaction carries 20 signatures, and the sponsor's is one

_ED25519: Final = bytes(4)  # of an account id and of a multiplexed account alike
_NONE: Final = bytes(4)
_ONE: Final = (1).to_bytes(4, "big")
_CREATE_ACCOUNT: Final = bytes(4)
_ACCOUNT_MERGE: Final = (8).to_bytes(4, "big")
_BEGIN_SPONSORING: Final = (16).to_bytes(4, "big")
_END_SPONSORING: Final = (17).to_bytes(4, "big")
_NO_BALANCE: Final = bytes(8)
_OPERATIONS_AN_ACCOUNT: Final = 3


def create_sponsored(
    network: Network,
    sponsor: SigningAccount,
    accounts: Sequence[SigningAccount],
    *,
    sequence: int,
    inclusion_fee: int,
    max_time: int,
) -> SignedTransaction:
    """Create all of `accounts` with a balance of 0; `sponsor` pays fee and reserves.

    `inclusion_fee` is in stroops an operation, `max_time` in Unix seconds. At most `MAX_CREATED`
    accounts.
    """
    if not 1 <= len(accounts) <= MAX_CREATED:
        raise ValueError("one transaction creates 1 to 19 accounts")
    operations = [part for each in accounts for part in _sponsored_account(sponsor, each)]
    unsigned = _transaction(
        sponsor.address,
        operations,
        fee=inclusion_fee * _OPERATIONS_AN_ACCOUNT * len(accounts),
        sequence=sequence,
        max_time=max_time,
    )
    return sign(unsigned, sponsor.key, network.id, *(each.key for each in accounts))


def merge_account(
    network: Network,
    account: SigningAccount,
    payer: SigningAccount,
    *,
    sequence: int,
    inclusion_fee: int,
    max_time: int,
) -> SignedTransaction:
    """Merge `account` into `payer`, who pays the fee by a fee bump.

    `inclusion_fee` is in stroops an operation: a fee bump counts as one more. `max_time` is in Unix
    seconds.
    """
    operation = _NONE + _ACCOUNT_MERGE + _account(payer.address)
    unsigned = _transaction(
        account.address, [operation], fee=inclusion_fee, sequence=sequence, max_time=max_time
    )
    inner = sign(unsigned, account.key, network.id)
    return fee_bump(
        inner, fee_source=payer.address, fee=2 * inclusion_fee, key=payer.key, network_id=network.id
    )


def _sponsored_account(
    sponsor: SigningAccount, account: SigningAccount
) -> tuple[bytes, bytes, bytes]:
    created = _account(account.address)
    return (
        _NONE + _BEGIN_SPONSORING + created,
        _NONE + _CREATE_ACCOUNT + created + _NO_BALANCE,
        _ONE + created + _END_SPONSORING,
    )


def _account(address: Address) -> bytes:
    return _ED25519 + raw_key(address)


def _transaction(
    source: Address, operations: Sequence[bytes], *, fee: int, sequence: int, max_time: int
) -> UnsignedTransaction:
    head = transaction_head(source, fee=fee, sequence=sequence, max_time=max_time)
    count = len(operations).to_bytes(4, "big")
    return UnsignedTransaction(head + _NONE + count + b"".join(operations) + _NONE)
