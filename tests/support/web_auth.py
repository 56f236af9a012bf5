"""The web-auth contract on a ledger, and the signing of a wallet by the SDK."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, xdr
from stellar_sdk.auth import authorize_entry

from farebox.accounts.contract_challenge import WebAuthContract, WebAuthDomain
from farebox.kernel.addresses import parse_account, parse_contract
from farebox.kernel.networks import Network
from farebox.stellar.signers import SigningAccount, parse_secret_seed
from support.contracts import wasm_of
from support.ledger import Ledger
from testing.entries import Signature, address_of, in_bytes, last_ledger

HOME: Final = "farebox.example"
WEB_AUTH: Final = "api.farebox.example"
Entries = list[xdr.SorobanAuthorizationEntry]


@dataclass(frozen=True, slots=True)
class WebAuth:
    """The contract on a ledger and the account that signs challenges there."""

    contract: str
    signer: Keypair

    def domain(self) -> WebAuthDomain:
        """Return the domain that issues the challenges."""
        return WebAuthDomain(HOME, WEB_AUTH, relayer_of(self.signer))

    def ground(self, network: Network) -> WebAuthContract:
        """Return the contract that proves the challenges on a network."""
        contract = parse_contract(self.contract)
        assert contract is not None
        return WebAuthContract(network, contract)


def relayer_of(key: Keypair) -> SigningAccount:
    """A key of the SDK as one of ours."""
    seed, address = parse_secret_seed(key.secret), parse_account(key.public_key)
    assert seed is not None
    assert address is not None
    return SigningAccount(address, seed)


async def web_auth(ledger: Ledger, wasm: bytes | None = None) -> WebAuth:
    """The contract (or another in its place) deployed, and a signing account with coin."""
    deployer = await ledger.account()
    contract = await ledger.deploy(deployer, wasm or wasm_of("web_auth"))
    return WebAuth(contract, await ledger.account())


def entries_of(document: str) -> Entries:
    """The entries of a challenge, as the SDK reads them."""
    return xdr.SorobanAuthorizationEntries.from_xdr(document).soroban_authorization_entries


def document_of(entries: Entries) -> str:
    """Encode entries as a challenge document."""
    return xdr.SorobanAuthorizationEntries(entries).to_xdr()


def sign_challenge(
    document: str, account: str, key: Keypair, network: Network, *, until: int | None = None
) -> str:
    """The challenge with the entry of `account` signed by a wallet's key, as a wallet does it.

    `until` is the last ledger of its validity; None: the one of the entry.
    """
    return _signed(document, account, in_bytes(key), network, until)


def _signed(
    document: str,
    account: str,
    sign: Signature,
    network: Network,
    until: int | None,
) -> str:
    entries = entries_of(document)
    for at, entry in enumerate(entries):
        if address_of(entry) == account:
            entries[at] = authorize_entry(
                entry, sign, until or last_ledger(entry), network.passphrase
            )
    return document_of(entries)


def flips(document: str, every: int) -> Iterator[tuple[int, str]]:
    """Flip one bit every `every` bytes; yield each position with the changed document."""
    raw = base64.b64decode(document)
    for at in range(0, len(raw), every):
        turned = bytearray(raw)
        turned[at] ^= 1 << (at % 8)
        yield at, base64.b64encode(bytes(turned)).decode()
