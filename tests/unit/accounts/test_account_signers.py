"""The signers of an account, read from ledger entries as the public SDK writes them."""

from collections.abc import Sequence

from stellar_sdk import Keypair, SignerKey, StrKey, xdr

from farebox.accounts.account_signers import AccountSigners, default_signers, read_account_signers
from farebox.kernel.addresses import Address, raw_key

ANN, BOB, EVE = (Keypair.from_raw_ed25519_seed(bytes([n]) * 32) for n in (1, 2, 3))
ADDRESS = Address(ANN.public_key)


def entry(
    signers: Sequence[tuple[SignerKey, int]] = (),
    thresholds: bytes = bytes([1, 0, 0, 0]),
    *,
    account: Keypair = ANN,
    destination: Keypair | None = None,
    domain: bytes = b"",
    ext: xdr.AccountEntryExt | None = None,
) -> bytes:
    """An account's entry in XDR."""
    data = xdr.LedgerEntryData(
        xdr.LedgerEntryType.ACCOUNT,
        account=xdr.AccountEntry(
            account_id=account.xdr_account_id(),
            balance=xdr.Int64(50_000_000),
            seq_num=xdr.SequenceNumber(xdr.Int64(7)),
            num_sub_entries=xdr.Uint32(len(signers)),
            inflation_dest=None if destination is None else destination.xdr_account_id(),
            flags=xdr.Uint32(0),
            home_domain=xdr.String32(domain),
            thresholds=xdr.Thresholds(thresholds),
            signers=[
                xdr.Signer(key.to_xdr_object(), xdr.Uint32(weight)) for key, weight in signers
            ],
            ext=ext or xdr.AccountEntryExt(0),
        ),
    )
    return data.to_xdr_bytes()


def _key(pair: Keypair) -> SignerKey:
    return SignerKey.ed25519_public_key(pair.public_key)


def _raw(pair: Keypair) -> bytes:
    return raw_key(Address(pair.public_key))


def _extended() -> xdr.AccountEntryExt:
    return xdr.AccountEntryExt(
        1,
        v1=xdr.AccountEntryExtensionV1(
            xdr.Liabilities(xdr.Int64(1), xdr.Int64(2)), xdr.AccountEntryExtensionV1Ext(0)
        ),
    )


def test_read_account_signers_gives_weights_with_the_master_key() -> None:
    data = entry([(_key(BOB), 3), (_key(EVE), 255)], bytes([2, 1, 5, 9]))
    assert read_account_signers(data, ADDRESS) == AccountSigners(
        {_raw(ANN): 2, _raw(BOB): 3, _raw(EVE): 255}, 5
    )


def test_read_account_signers_skips_optional_fields() -> None:
    data = entry(
        [(_key(BOB), 1)],
        bytes([1, 2, 3, 4]),
        destination=EVE,
        domain=b"example.org",
        ext=_extended(),
    )
    assert read_account_signers(data, ADDRESS) == AccountSigners({_raw(ANN): 1, _raw(BOB): 1}, 3)


def test_key_of_weight_zero_is_no_signer() -> None:
    read = read_account_signers(entry([(_key(BOB), 1)], bytes(4)), ADDRESS)
    assert read == AccountSigners({_raw(BOB): 1}, 0)
    assert read_account_signers(entry((), bytes(4)), ADDRESS) == AccountSigners({}, 0)


def test_hashes_and_payloads_are_no_signers() -> None:
    others = [
        SignerKey.pre_auth_tx(bytes([7]) * 32),
        SignerKey.sha256_hash(bytes([8]) * 32),
        SignerKey.from_encoded_signer_key(
            StrKey.encode_ed25519_signed_payload(bytes([9]) * 32 + b"\0\0\0\x05hello\0\0\0")
        ),
    ]
    data = entry([*((key, 10) for key in others), (_key(BOB), 1)])
    assert read_account_signers(data, ADDRESS) == AccountSigners({_raw(ANN): 1, _raw(BOB): 1}, 0)


def test_missing_account_is_signed_for_by_its_master_key() -> None:
    assert default_signers(ADDRESS) == AccountSigners({_raw(ANN): 1}, 0)


def test_read_account_signers_rejects_other_or_malformed_entries() -> None:
    data = entry([(_key(BOB), 1)])
    assert read_account_signers(data, Address(BOB.public_key)) is None
    assert read_account_signers(entry([(_key(BOB), 256)]), ADDRESS) is None
    assert read_account_signers(entry([(_key(BOB), 1), (_key(BOB), 2)]), ADDRESS) is None
    assert read_account_signers(entry([(_key(ANN), 5)]), ADDRESS) is None
    end_of_signers = len(data) - 4
    for cut in range(end_of_signers):
        assert read_account_signers(data[:cut], ADDRESS) is None, cut
