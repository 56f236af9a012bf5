"""Stellar Asset Contracts: a contract's id alone proves its asset (CAP-46-6)."""

import hashlib
import re
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from farebox.kernel.addresses import Address, contract_address, parse_account, raw_key
from farebox.kernel.networks import Network

_CONTRACT_ID: Final = (8).to_bytes(4, "big")  # ENVELOPE_TYPE_CONTRACT_ID
_FROM_ASSET: Final = (1).to_bytes(4, "big")
_NATIVE: Final = (0).to_bytes(4, "big")
_ALPHANUM4: Final = (1).to_bytes(4, "big")
_ALPHANUM12: Final = (2).to_bytes(4, "big")
_ED25519: Final = (0).to_bytes(4, "big")
_CODE: Final = re.compile(r"[A-Za-z0-9]{1,12}\Z", re.ASCII)


@lru_cache(maxsize=1024)
def asset_contract(name: str, network: Network) -> Address | None:
    """The contract of a classic asset, by its name as the contract's events carry it.

    `name` is `native` or `CODE:ISSUER`; None when it is neither. An id made from an asset can
    belong to no other contract, so an event that names the asset whose id its contract has proves
    that the contract is the asset's own.
    """
    asset = _asset_xdr(name)
    return None if asset is None else _contract_of(asset, network)


def credit_contract(code: str, issuer: Address, network: Network) -> Address:
    """The asset contract of an asset that an account issues; `code` has 1 to 12 characters."""
    return _contract_of(credit_xdr(code, issuer), network)


def native_contract(network: Network) -> Address:
    """The asset contract of the network's own coin."""
    return _contract_of(_NATIVE, network)


def _contract_of(asset: bytes, network: Network) -> Address:
    preimage = _CONTRACT_ID + network.id + _FROM_ASSET + asset
    return contract_address(hashlib.sha256(preimage).digest())


def _asset_xdr(name: str) -> bytes | None:
    if name == "native":
        return _NATIVE
    code, _, issuer = name.partition(":")
    account = parse_account(issuer)
    if account is None or not _CODE.match(code):
        return None
    return credit_xdr(code, account)


def credit_xdr(code: str, issuer: Address) -> bytes:
    """An asset that an account issues (XDR); `code` has 1 to 12 characters."""
    kind, width = (_ALPHANUM4, 4) if len(code) <= 4 else (_ALPHANUM12, 12)
    return kind + code.encode().ljust(width, b"\0") + _ED25519 + raw_key(issuer)


# Circle's USDC is the one asset known by its name.
USDC_CODE: Final = "USDC"
USDC_ISSUERS: Final = MappingProxyType(
    {
        Network.TESTNET: Address("GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"),
        Network.PUBNET: Address("GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"),
    }
)


def usdc_contract(network: Network) -> Address:
    """The asset contract of USDC."""
    return credit_contract(USDC_CODE, USDC_ISSUERS[network], network)
