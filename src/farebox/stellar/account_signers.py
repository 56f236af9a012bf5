"""Who speaks for an account: the keys and weights of its ledger entry, and what they must reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.account_entry import account_key
from farebox.stellar.xdr_reader import Malformed, XdrReader

MAX_WEIGHT: Final = 255
_ED25519: Final = 0  # SignerKeyType, as of PublicKeyType
_PRE_AUTH_TX: Final = 1
_HASH_X: Final = 2
_SIGNED_PAYLOAD: Final = 3
_KEY_BYTES: Final = 32
_MAX_PAYLOAD_BYTES: Final = 64
_MAX_SIGNERS: Final = 20
_DOMAIN_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class AccountSigners:
    """The ed25519 keys that weigh something, the account's own among them; `medium` threshold.

    Other kinds of signers cannot sign a message, and a key of no weight is no signer.
    """

    weights: Mapping[bytes, int]
    medium: int


def signers_of_absent(account: Address) -> AccountSigners:
    """Of an account that is not on the ledger: its own key, alone."""
    return AccountSigners(MappingProxyType({raw_key(account): 1}), 0)


def read_account_signers(data: bytes, account: Address) -> AccountSigners | None:
    """What the ledger entry of `account` says; None when `data` is not that entry.

    What follows the signers is left unread: it differs from one protocol to the next.
    """
    reader = XdrReader(data)
    try:
        if not reader.take(account_key(account)):
            return None
        reader.skip(8 + 8 + 4)  # balance, sequence number, number of entries
        if reader.flag():
            reader.expect(_ED25519)  # where inflation once went
            reader.skip(_KEY_BYTES)
        reader.skip(4)  # flags
        reader.opaque(_DOMAIN_BYTES)
        master, _, medium, _ = reader.fixed(4)
        weights = {raw_key(account): master}
        for _ in range(reader.count(_MAX_SIGNERS)):
            kind, key, weight = _signer(reader)
            if kind != _ED25519:
                continue
            if key in weights:
                return None
            weights[key] = weight
    except Malformed:
        return None
    heavy = {key: weight for key, weight in weights.items() if weight > 0}
    return AccountSigners(MappingProxyType(heavy), medium)


def _signer(reader: XdrReader) -> tuple[int, bytes, int]:
    kind = reader.uint32()
    if kind not in (_ED25519, _PRE_AUTH_TX, _HASH_X, _SIGNED_PAYLOAD):
        raise Malformed
    key = reader.fixed(_KEY_BYTES)
    if kind == _SIGNED_PAYLOAD:
        reader.opaque(_MAX_PAYLOAD_BYTES)
    weight = reader.uint32()
    if weight > MAX_WEIGHT:
        raise Malformed
    return kind, key, weight
