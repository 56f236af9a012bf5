"""The identity of a token, from the ledger and not from a seller's text."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.addresses import Address, parse_account
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.contract_instance import AssetCode, ContractCode, ExternalCode, WasmCode


class TokenKind(StrEnum):
    """The kind of contract at a token's address."""

    ASSET_CONTRACT = "asset_contract"  # the Stellar Asset Contract of one classic asset
    WASM = "wasm"  # other code, which may do anything
    EXTERNAL = "external"  # code that its owner may replace without a change of the token's entry
    ABSENT = "absent"  # no contract, when it was looked up


@dataclass(frozen=True, slots=True)
class Token:
    """A token's identity. `code` without an issuer is the native asset."""

    kind: TokenKind
    code: str | None = None
    issuer: Address | None = None
    wasm_hash: bytes | None = None
    owner: Address | None = None


_NATIVE_CODE: Final = "XLM"


def identify_token(code: ContractCode | None, address: Address, network: Network) -> Token:
    """Identify the token that runs this code at this address.

    An asset contract's address is derived from its asset: an asset name that does not derive the
    address is not trusted.
    """
    match code:
        case WasmCode(wasm_hash):
            return Token(TokenKind.WASM, wasm_hash=wasm_hash)
        case ExternalCode(owner):
            return Token(TokenKind.EXTERNAL, owner=owner)
        case AssetCode(name) if name is not None and asset_contract(name, network) == address:
            return _asset(name)
        case AssetCode():
            return Token(TokenKind.ASSET_CONTRACT)
        case _:
            return Token(TokenKind.ABSENT)


def _asset(name: str) -> Token:
    code, _, issuer = name.partition(":")
    if not issuer:
        return Token(TokenKind.ASSET_CONTRACT, code=_NATIVE_CODE)
    return Token(TokenKind.ASSET_CONTRACT, code=code, issuer=parse_account(issuer))
