"""The challenge of a contract account (SEP-45): how one is made, and a stranger's text as one.

Two entries authorize one and the same call: ours is signed when the challenge is issued, and the
account adds its signature and how long that holds to the other. Nothing else may change.
"""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

from farebox.accounts.login import UnreadableChallenge
from farebox.kernel.addresses import Address
from farebox.kernel.ids import random_text
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import AuthEntry, read_entries
from farebox.stellar.signatures import every_signature_verifies
from farebox.stellar.signers import Relayer
from farebox.stellar.web_auth import (
    AuthorizedCall,
    build_call,
    is_plain_entry,
    join_entries,
    read_call,
    signed_entry,
    unsigned_entry,
    unsigned_form,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader, decode_base64

LIFE_LEDGERS: Final = 60
MAX_DOCUMENT_BYTES: Final = 16_384  # two entries, and the largest signature a wallet makes
_MAX_ITEMS: Final = 500
_NONCE_LENGTH: Final = 43  # of 62 characters: 256 bits
_NONCE: Final = re.compile(rf"[0-9A-Za-z]{{{_NONCE_LENGTH}}}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Domain:
    """For whom challenges are issued: what a wallet shows its holder, and who signs them."""

    home: str  # host, with the port where it is not the usual one
    web_auth: str
    signer: Relayer


@dataclass(frozen=True, slots=True)
class Ground:
    """Where they are proved: a network and the web-auth contract on it."""

    network: Network
    contract: Address


@dataclass(frozen=True, slots=True)
class Drawn:
    """A challenge just made."""

    document: str = field(repr=False)  # base64 XDR
    digest: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """A challenge of ours that came back; whether its account signed it is not judged yet."""

    account: Address
    digest: bytes  # of what was issued
    signed: AuthorizedCall
    expires_at_ledger: int  # the last ledger our own signature holds in


def draw(account: Address, domain: Domain, ground: Ground, *, latest_ledger: int) -> Drawn:
    """A challenge for a C… account that nobody has seen before and nobody can foresee."""
    expires = latest_ledger + LIFE_LEDGERS
    call = build_call(ground.contract, _arguments(account, domain, random_text(_NONCE_LENGTH)))
    asked = unsigned_entry(account, nonce=_number(), expires_at_ledger=expires, call=call)
    ours = signed_entry(
        domain.signer,
        nonce=_number(),
        expires_at_ledger=expires,
        call=call,
        network_id=ground.network.id,
    )
    raw = join_entries([asked, ours])
    return Drawn(base64.b64encode(raw).decode(), _digest(raw))


def read_answer(document: str, domain: Domain, ground: Ground) -> Answered:
    """A stranger's text as a challenge we could have issued, with or without the signature.

    Raises:
        UnreadableChallenge: it is not one; which of the rules it breaks is not told.
    """
    try:
        raw = decode_base64(document, max_bytes=MAX_DOCUMENT_BYTES)
        reader = XdrReader(raw, max_items=_MAX_ITEMS)
        entries = read_entries(reader)
        reader.finish()
        return _judge(entries, domain, ground)
    except Malformed:
        raise UnreadableChallenge from None


def _judge(entries: tuple[AuthEntry, ...], domain: Domain, ground: Ground) -> Answered:
    _demand(len(entries) == 2 and all(map(is_plain_entry, entries)))
    theirs, ours = entries  # in the order they were issued in
    _demand(theirs.root_call == ours.root_call)
    contract, arguments = read_call(ours.root_call)
    account = _account(theirs)
    nonce = arguments.get("nonce", "")
    _demand(contract == ground.contract and _NONCE.match(nonce) is not None)
    _demand(arguments == _arguments(account, domain, nonce))
    _demand(ours.address == domain.signer.address)
    _demand(every_signature_verifies(ours, ground.network.id))
    expires = ours.expires_at_ledger
    issued = join_entries([unsigned_form(theirs, expires_at_ledger=expires), ours.raw])
    return Answered(account, _digest(issued), AuthorizedCall(ours.root_call, entries), expires)


def _account(entry: AuthEntry) -> Address:
    if entry.address is None:
        raise Malformed
    return entry.address


def _demand(holds: bool) -> None:  # noqa: FBT001 - what is demanded is the whole call
    if not holds:
        raise Malformed


def _arguments(account: Address, domain: Domain, nonce: str) -> dict[str, str]:
    return {
        "account": account,
        "home_domain": domain.home,
        "nonce": nonce,
        "web_auth_domain": domain.web_auth,
        "web_auth_domain_account": domain.signer.address,
    }


def _number() -> int:
    """A nonce of an entry: any signed number of 64 bits."""
    return secrets.randbits(64) - 2**63


def _digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
