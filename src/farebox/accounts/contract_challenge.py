"""Build and read SEP-45 challenges, for contract accounts (C…).

Two entries authorize the same call: the service signs its own when the challenge is issued, and
the account adds its signature and the expiry ledger to the other. Nothing else may change.
"""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Final

from farebox.accounts.web_auth_scheme import UnreadableChallenge
from farebox.kernel.addresses import Address
from farebox.kernel.ids import random_text
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import AuthEntry, every_signature_verifies, read_entries
from farebox.stellar.entry_writer import draw_nonce, unsigned_entry, unsigned_form
from farebox.stellar.signers import SigningAccount
from farebox.stellar.transactions import AuthorizedCall
from farebox.stellar.web_auth import (
    build_call,
    is_plain_entry,
    join_entries,
    read_call,
    signed_entry,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

LIFE_LEDGERS: Final = 60
MAX_DOCUMENT_BYTES: Final = 16_384  # two entries with the largest signature a wallet makes
_MAX_ITEMS: Final = 500
_NONCE_LENGTH: Final = 43  # of 62 characters: 256 bits
_NONCE: Final = re.compile(rf"[0-9A-Za-z]{{{_NONCE_LENGTH}}}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class WebAuthDomain:
    """The domains that a challenge names, and the account that signs it."""

    home: str  # host, with the port where it is not the default one
    web_auth: str
    signer: SigningAccount


@dataclass(frozen=True, slots=True)
class WebAuthContract:
    """A network and the web-auth contract on it."""

    network: Network
    address: Address


@dataclass(frozen=True, slots=True)
class BuiltChallenge:
    """A new challenge."""

    document: str = field(repr=False)  # base64 XDR
    digest: bytes


@dataclass(frozen=True, slots=True)
class SignedContractChallenge:
    """A challenge of ours that came back; the account's signature is not verified yet."""

    account: Address
    digest: bytes  # of the issued challenge
    signed: AuthorizedCall
    expires_at_ledger: int  # of the service's signature, inclusive


def build_contract_challenge(
    account: Address, domain: WebAuthDomain, contract: WebAuthContract, *, latest_ledger: int
) -> BuiltChallenge:
    """Build a challenge with a random nonce for a C… account."""
    expires = latest_ledger + LIFE_LEDGERS
    call = build_call(contract.address, _arguments(account, domain, random_text(_NONCE_LENGTH)))
    theirs = unsigned_entry(account, nonce=draw_nonce(), expires_at_ledger=expires, call=call)
    ours = signed_entry(
        domain.signer,
        nonce=draw_nonce(),
        expires_at_ledger=expires,
        call=call,
        network_id=contract.network.id,
    )
    raw = join_entries([theirs, ours])
    return BuiltChallenge(base64.b64encode(raw).decode(), _digest(raw))


def read_contract_challenge(
    document: str, domain: WebAuthDomain, contract: WebAuthContract
) -> SignedContractChallenge:
    """Read a challenge that we could have issued from untrusted text, signed or not.

    Raises:
        UnreadableChallenge: it is not one; the violated rule is not disclosed.
    """
    try:
        raw = decode_base64(document, max_bytes=MAX_DOCUMENT_BYTES)
        reader = XdrReader(raw, max_items=_MAX_ITEMS)
        entries = read_entries(reader)
        reader.finish()
        return _validate(entries, domain, contract)
    except Malformed:
        raise UnreadableChallenge from None


def _validate(
    entries: tuple[AuthEntry, ...], domain: WebAuthDomain, expected: WebAuthContract
) -> SignedContractChallenge:
    _require(len(entries) == 2 and all(map(is_plain_entry, entries)))
    theirs, ours = entries  # in the order they were issued in
    _require(theirs.root_call == ours.root_call)
    contract, arguments = read_call(ours.root_call)
    account = _account(theirs)
    nonce = arguments.get("nonce", "")
    _require(contract == expected.address and _NONCE.match(nonce) is not None)
    _require(arguments == _arguments(account, domain, nonce))
    _require(ours.address == domain.signer.address)
    _require(every_signature_verifies(ours, expected.network.id))
    expires = ours.expires_at_ledger
    issued = join_entries([unsigned_form(theirs, expires_at_ledger=expires), ours.raw])
    return SignedContractChallenge(
        account, _digest(issued), AuthorizedCall(ours.root_call, entries), expires
    )


def _account(entry: AuthEntry) -> Address:
    if entry.address is None:
        raise Malformed
    return entry.address


def _require(condition: bool) -> None:  # noqa: FBT001 - the condition is the whole call
    if not condition:
        raise Malformed


def _arguments(account: Address, domain: WebAuthDomain, nonce: str) -> dict[str, str]:
    return {
        "account": account,
        "home_domain": domain.home,
        "nonce": nonce,
        "web_auth_domain": domain.web_auth,
        "web_auth_domain_account": domain.signer.address,
    }


def _digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
