"""The ledger entry of a classic account: balance, reserves, thresholds and signers."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.kernel.addresses import Address, encode_strkey, raw_key
from farebox.kernel.amounts import Stroops
from farebox.stellar.rpc import AccountState
from farebox.stellar.xdr_reader import Malformed, XdrReader
from farebox.stellar.xdr_writer import opaque

_ACCOUNT: Final = 0  # LedgerEntryType, and the arm of its key
_ED25519: Final = 0  # PublicKeyType
_RESERVE: Final = 5_000_000  # stroops an entry, on every public network for years
_OWN_ENTRIES: Final = 2  # an account itself counts as two
_MAX_SIGNERS: Final = 20
_MAX_WEIGHT: Final = 255
_DOMAIN_BYTES: Final = 32
_KEY_BYTES: Final = 32
_MAX_PAYLOAD_BYTES: Final = 64


class SignerKind(IntEnum):
    """The arms of SignerKey."""

    ED25519 = 0
    PRE_AUTH_TX = 1
    HASH_X = 2
    SIGNED_PAYLOAD = 3


_VERSIONS: Final = (6 << 3, 19 << 3, 23 << 3, 15 << 3)  # of their text forms: G…, T…, X…, P…


@dataclass(frozen=True, slots=True)
class AccountSigner:
    """A signer besides the master key; `payload` is that of a signed payload, else empty."""

    kind: SignerKind
    key: bytes  # 32: a public key or a hash
    weight: int
    payload: bytes = b""

    @property
    def text(self) -> str:
        """The signer as text: G…, T… (transaction), X… (hash) or P… (signed payload)."""
        payload = opaque(self.payload) if self.kind is SignerKind.SIGNED_PAYLOAD else b""
        return encode_strkey(self.key + payload, _VERSIONS[self.kind])


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The weight of the master key, and the weights that operations of each level need."""

    master: int
    low: int
    medium: int
    high: int


@dataclass(frozen=True, slots=True)
class Liabilities:
    """The amounts that the account's offers may buy and sell, in base units."""

    buying: int = 0
    selling: int = 0


NO_LIABILITIES: Final = Liabilities()


@dataclass(frozen=True, slots=True)
class AccountEntry:
    """A classic account; `sequence` is the last number it used."""

    balance: Stroops
    sequence: int
    thresholds: Thresholds
    signers: tuple[AccountSigner, ...]
    subentries: int  # of the account: trustlines, offers, signers, data
    liabilities: Liabilities = NO_LIABILITIES
    sponsored: int = 0  # reserves that others hold for it
    sponsoring: int = 0  # reserves that it holds for others

    @property
    def minimum_balance(self) -> Stroops:
        """The stroops that its entries reserve."""
        entries = _OWN_ENTRIES + self.subentries + self.sponsoring - self.sponsored
        return Stroops(entries * _RESERVE)


def account_key(account: Address) -> bytes:
    """The ledger key (XDR) of a G… account."""
    return struct.pack(">II", _ACCOUNT, _ED25519) + raw_key(account)


def read_account_entry(data: bytes, account: Address) -> AccountEntry | None:
    """Read the whole entry of `account`; None when `data` is not that, or of an unknown form."""
    reader = XdrReader(data)
    try:
        if not reader.take(account_key(account)):
            return None
        entry = _read_entry(reader)
        reader.finish()
    except Malformed:
        return None
    return entry


def read_account(data: bytes, account: Address, *, as_of_ledger: int) -> AccountState | None:
    """Read balance and sequence number of `account`; None when `data` is not that account's entry.

    They are read from entries of an unknown form too, whose reserves are then 0.
    """
    reader = XdrReader(data)
    try:
        if not reader.take(account_key(account)):
            return None
        balance, sequence = reader.int64(), reader.int64()
    except Malformed:
        return None
    if balance < 0 or sequence < 0:
        return None
    whole = read_account_entry(data, account)
    reserved = 0 if whole is None else whole.minimum_balance + whole.liabilities.selling
    return AccountState(sequence, Stroops(balance), as_of_ledger, Stroops(reserved))


def read_liabilities(reader: XdrReader) -> Liabilities:
    """The liabilities at the cursor.

    Raises:
        Malformed: there are none.
    """
    return Liabilities(buying=reader.int64(), selling=reader.int64())


def _read_entry(reader: XdrReader) -> AccountEntry:
    balance, sequence, subentries = reader.int64(), reader.int64(), reader.uint32()
    if balance < 0 or sequence < 0:
        raise Malformed
    _skip_optional_key(reader)  # the inflation destination
    reader.skip(4)  # flags
    reader.opaque(_DOMAIN_BYTES)
    thresholds = Thresholds(*reader.fixed(4))
    signers = tuple(_read_signer(reader) for _ in range(reader.count(_MAX_SIGNERS)))
    liabilities, sponsored, sponsoring = _read_extensions(reader)
    return AccountEntry(
        balance=Stroops(balance),
        sequence=sequence,
        thresholds=thresholds,
        signers=signers,
        subentries=subentries,
        liabilities=liabilities,
        sponsored=sponsored,
        sponsoring=sponsoring,
    )


def _read_signer(reader: XdrReader) -> AccountSigner:
    arm = reader.uint32()
    if arm > SignerKind.SIGNED_PAYLOAD:
        raise Malformed
    key = reader.fixed(_KEY_BYTES)
    payload = reader.opaque(_MAX_PAYLOAD_BYTES) if arm == SignerKind.SIGNED_PAYLOAD else b""
    weight = reader.uint32()
    if weight > _MAX_WEIGHT:
        raise Malformed
    return AccountSigner(SignerKind(arm), key, weight, payload)


def _read_extensions(reader: XdrReader) -> tuple[Liabilities, int, int]:
    """Liabilities, sponsored and sponsoring reserves; each extension is inside the one before."""
    if not _has_extension(reader, 1):
        return NO_LIABILITIES, 0, 0
    liabilities = read_liabilities(reader)
    if not _has_extension(reader, 2):
        return liabilities, 0, 0
    sponsored, sponsoring = reader.uint32(), reader.uint32()
    for _ in range(reader.count(_MAX_SIGNERS)):
        _skip_optional_key(reader)  # the sponsor of a signer
    if _has_extension(reader, 3):
        reader.expect(0)
        reader.skip(4 + 8)  # ledger and time of the sequence number
    return liabilities, sponsored, sponsoring


def _has_extension(reader: XdrReader, version: int) -> bool:
    arm = reader.uint32()
    if arm not in (0, version):
        raise Malformed
    return arm == version


def _skip_optional_key(reader: XdrReader) -> None:
    if reader.flag():
        reader.expect(_ED25519)
        reader.skip(_KEY_BYTES)
