"""Trustlines, read as the public SDK writes them."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Asset, Keypair, xdr

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.account_entry import NO_LIABILITIES, Liabilities
from farebox.stellar.trustline import Trustline, read_trustline, trustline_key
from support.damaged_bytes import damaged
from support.examples import examples

KEY: Final = Keypair.random()
HOLDER: Final = Address(KEY.public_key)
ISSUER: Final = Address(Keypair.random().public_key)
CODES: Final = ("USDC", "A", "LONGERCODE12")


def extension(*, depth: int) -> xdr.TrustLineEntryExt:
    """An extension with liabilities (1), and the liquidity pools that use the trustline (2)."""
    if depth == 0:
        return xdr.TrustLineEntryExt(0)
    pools = xdr.TrustLineEntryExtensionV2(xdr.Int32(1), xdr.TrustLineEntryExtensionV2Ext(0))
    second = xdr.TrustLineEntryV1Ext(2, v2=pools) if depth == 2 else xdr.TrustLineEntryV1Ext(0)
    first = xdr.TrustLineEntryV1(xdr.Liabilities(xdr.Int64(3), xdr.Int64(4)), second)
    return xdr.TrustLineEntryExt(1, v1=first)


def trustline(code: str = "USDC", *, flags: int = 1, depth: int = 0) -> bytes:
    """The data of a trustline's entry."""
    entry = xdr.TrustLineEntry(
        account_id=KEY.xdr_account_id(),
        asset=Asset(code, ISSUER).to_trust_line_asset_xdr_object(),
        balance=xdr.Int64(125),
        limit=xdr.Int64(2**63 - 1),
        flags=xdr.Uint32(flags),
        ext=extension(depth=depth),
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.TRUSTLINE, trust_line=entry).to_xdr_bytes()


def key_of(code: str = "USDC") -> bytes:
    """The key that ours makes."""
    return trustline_key(HOLDER, code=code, issuer=ISSUER)


@pytest.mark.parametrize("code", CODES)
def test_trustline_key_matches_the_sdk(code: str) -> None:
    key = xdr.LedgerKey(
        xdr.LedgerEntryType.TRUSTLINE,
        trust_line=xdr.LedgerKeyTrustLine(
            KEY.xdr_account_id(), Asset(code, ISSUER).to_trust_line_asset_xdr_object()
        ),
    )
    assert key_of(code) == key.to_xdr_bytes()


def test_trustline_is_read_with_each_extension_and_flag() -> None:
    for code, depth, flags in product(CODES, (0, 1, 2), (0, 1, 2, 4, 7)):
        read = read_trustline(trustline(code, flags=flags, depth=depth), key_of(code))
        assert read == Trustline(
            balance=BaseUnits(125),
            limit=BaseUnits(2**63 - 1),
            is_authorized=bool(flags & 1),
            keeps_offers=bool(flags & 2),
            is_clawback_enabled=bool(flags & 4),
            liabilities=Liabilities(3, 4) if depth else NO_LIABILITIES,
        ), (code, depth, flags)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        trustline()[:-4],
        trustline() + b"\0\0\0\0",
        trustline("A"),
        trustline()[:-4] + (2).to_bytes(4, "big"),
        trustline(depth=2)[:-12] + (3).to_bytes(4, "big") + bytes(8),
    ],
)
def test_trustline_of_another_key_or_form_is_none(data: bytes) -> None:
    assert read_trustline(data, key_of()) is None


@settings(max_examples=examples(200), deadline=None)
@given(damaged(st.just(trustline(depth=2, flags=7))))
def test_damaged_trustline_is_none_or_read_as_the_sdk_reads_it(data: bytes) -> None:
    read = read_trustline(data, key_of())
    if read is not None:
        line = xdr.LedgerEntryData.from_xdr_bytes(data).trust_line
        assert line is not None
        assert (read.balance, read.limit) == (line.balance.int64, line.limit.int64)
        assert read.is_authorized == bool(line.flags.uint32 & 1)
