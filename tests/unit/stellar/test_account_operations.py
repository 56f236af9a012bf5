import pytest
from nacl.signing import SigningKey
from stellar_sdk import (
    AccountMerge,
    BeginSponsoringFutureReserves,
    CreateAccount,
    EndSponsoringFutureReserves,
    FeeBumpTransactionEnvelope,
    Keypair,
    TransactionEnvelope,
)

from farebox.kernel.addresses import account_address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.account_operations import create_sponsored, merge_account
from farebox.stellar.signers import SigningAccount

NET = Network.TESTNET


def signer(tag: int) -> SigningAccount:
    key = SigningKey(bytes([tag]) * 32)
    return SigningAccount(account_address(bytes(key.verify_key)), Secret(key))


SPONSOR = signer(1)


def test_create_sponsored_creates_empty_accounts_with_sponsored_reserves() -> None:
    accounts = [signer(tag) for tag in range(2, 21)]
    signed = create_sponsored(NET, SPONSOR, accounts, sequence=8, inclusion_fee=200, max_time=99)
    read = TransactionEnvelope.from_xdr(signed.envelope_base64.reveal(), NET.passphrase)
    transaction = read.transaction
    assert (transaction.source.account_id, transaction.sequence) == (SPONSOR.address, 8)
    assert transaction.fee == 200 * 57
    assert transaction.preconditions is not None
    assert transaction.preconditions.time_bounds is not None
    assert transaction.preconditions.time_bounds.max_time == 99
    expected = [
        operation
        for each in accounts
        for operation in (
            BeginSponsoringFutureReserves(each.address),
            CreateAccount(each.address, "0"),
            EndSponsoringFutureReserves(each.address),
        )
    ]
    assert transaction.operations == expected
    assert signed.hash == read.hash_hex()
    assert len(read.signatures) == 20
    for each, signature in zip((SPONSOR, *accounts), read.signatures, strict=True):
        key = Keypair.from_public_key(each.address)
        assert signature.signature_hint == key.signature_hint()
        key.verify(read.hash(), signature.signature)


def test_merge_account_is_signed_by_the_account_and_paid_by_the_relayer() -> None:
    account = signer(2)
    signed = merge_account(NET, account, SPONSOR, sequence=8, inclusion_fee=200, max_time=99)
    read = FeeBumpTransactionEnvelope.from_xdr(signed.envelope_base64.reveal(), NET.passphrase)
    inner = read.transaction.inner_transaction_envelope
    assert (read.transaction.fee_source.account_id, read.transaction.fee) == (SPONSOR.address, 400)
    assert inner.transaction.source.account_id == account.address
    assert inner.transaction.operations == [AccountMerge(SPONSOR.address)]
    Keypair.from_public_key(SPONSOR.address).verify(read.hash(), read.signatures[0].signature)
    Keypair.from_public_key(account.address).verify(inner.hash(), inner.signatures[0].signature)
    assert (signed.hash, signed.inner_hash) == (read.hash_hex(), inner.hash_hex())


@pytest.mark.parametrize("count", [0, 20])
def test_create_sponsored_raises_when_signatures_do_not_suffice(count: int) -> None:
    accounts = [signer(tag + 2) for tag in range(count)]
    with pytest.raises(ValueError, match="1 to 19"):
        create_sponsored(NET, SPONSOR, accounts, sequence=8, inclusion_fee=200, max_time=99)
