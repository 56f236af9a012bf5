"""What a token is that listings are paid in: as the ledger has it, not as anybody says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.addresses import Address, parse_account
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import asset_contract
from farebox.stellar.contract_instance import AssetCode, ContractCode, ExternalCode, WasmCode


class TokenKind(StrEnum):
    """What runs under a token's address."""

    ASSET_CONTRACT = "asset_contract"  # the network's own code, for one classic asset
    WASM = "wasm"  # code of its own: may do anything
    EXTERNAL = "external"  # code that its owner may swap without a trace in the token
    ABSENT = "absent"  # nothing, when it was looked up


@dataclass(frozen=True, slots=True)
class Token:
    """A token's identity. `code` without an issuer is the native asset."""

    kind: TokenKind
    code: str | None = None
    issuer: Address | None = None
    wasm_hash: bytes | None = None
    owner: Address | None = None


_NATIVE_CODE: Final = "XLM"


def token_of(code: ContractCode | None, address: Address, network: Network) -> Token:
    """The token that runs this code under this address.

    An asset contract is told by its id, which no other contract can have: a name that the id was
    not made from is not repeated.
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


def token_body(token: Token) -> dict[str, object]:
    """The token as a listing shows it."""
    members = {
        "code": token.code,
        "issuer": token.issuer,
        "wasmHash": token.wasm_hash.hex() if token.wasm_hash else None,
        "owner": token.owner,
    }
    return {
        "kind": token.kind.value,
        **{name: value for name, value in members.items() if value is not None},
    }
