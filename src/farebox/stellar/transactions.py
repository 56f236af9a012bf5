"""The operator's own transactions around a client's call, whose bytes are copied unchanged."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from nacl.signing import SigningKey

from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import AuthEntry

_SIMULATED_FEE: Final = 100  # stroops; simulation looks at no fee

_TX: Final = (2).to_bytes(4, "big")  # ENVELOPE_TYPE_TX
_FEE_BUMP: Final = (5).to_bytes(4, "big")  # ENVELOPE_TYPE_TX_FEE_BUMP
_NONE: Final = bytes(4)
_ONE: Final = (1).to_bytes(4, "big")
_ED25519: Final = bytes(4)
_SIGNATURE_LENGTH: Final = (64).to_bytes(4, "big")
_INVOCATION_HEAD: Final = bytes.fromhex(
    "00000001"  # one operation
    "00000000"  # with the transaction's source
    "00000018"  # that invokes a host function
    "00000000"  # which calls a contract
)


class AuthorizedInvocation(Protocol):
    """A contract call and its authorization entries."""

    @property
    def call(self) -> bytes: ...
    @property
    def entries(self) -> Sequence[AuthEntry]: ...


@dataclass(frozen=True, slots=True)
class AuthorizedCall:
    """A call and the entries that go with it, as a transaction carries them."""

    call: bytes = field(repr=False)
    entries: tuple[AuthEntry, ...]


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A transaction without its envelope."""

    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A signed envelope and its transaction hash."""

    hash: str  # lower-case hex; of a fee bump the outer one
    envelope_base64: Secret[str]
    size_bytes: int  # of the envelope, as the network counts and charges it
    inner_hash: str | None = None  # of the transaction inside a fee bump


def build_settlement(
    envelope: AuthorizedInvocation,
    *,
    source: Address,
    sequence: int,
    fee: int,
    max_time: int,
    soroban_data: bytes,
    min_time: int = 0,
) -> UnsignedTransaction:
    """The client's call and entries with the operator's source, bounds, fee and resources.

    `fee` is in stroops with the resource fee included, the times are Unix seconds, `soroban_data`
    is the resource data of our own simulation. The client's memo, preconditions and operation
    source are not carried over.

    Raises:
        OverflowError: a number does not fit its field.
    """
    head = transaction_head(
        source, fee=fee, sequence=sequence, max_time=max_time, min_time=min_time
    )
    return UnsignedTransaction(head + _body(envelope) + _ONE + soroban_data)


def simulation_envelope(envelope: AuthorizedInvocation, *, source: Address, sequence: int) -> str:
    """The settlement before it has fee, bounds and resources, in base64 and unsigned."""
    return unsigned_envelope(_body(envelope), source=source, sequence=sequence)


def transaction_head(
    source: Address, *, fee: int, sequence: int, max_time: int, min_time: int = 0
) -> bytes:
    """A transaction (XDR) up to its memo; `fee` in stroops for all of it, times in Unix seconds.

    Raises:
        OverflowError: a number does not fit its field.
    """
    bounds = _ONE + min_time.to_bytes(8, "big") + max_time.to_bytes(8, "big")
    return _transaction_start(source, fee, sequence) + bounds


def unsigned_envelope(body: bytes, *, source: Address, sequence: int) -> str:
    """The envelope of memo and operations (XDR) without bounds, resources and signature."""
    raw = _TX + _transaction_start(source, _SIMULATED_FEE, sequence) + _NONE + body + _NONE + _NONE
    return base64.b64encode(raw).decode()


def transaction_hash(unsigned: UnsignedTransaction, network_id: bytes) -> bytes:
    """The transaction hash (32 bytes), which the source signs."""
    return hashlib.sha256(network_id + _TX + unsigned.raw).digest()


def unsigned_bytes(unsigned: UnsignedTransaction) -> bytes:
    """The envelope (XDR) of a transaction that nobody has signed yet, for a wallet to sign."""
    return _TX + unsigned.raw + _NONE


def sign(
    unsigned: UnsignedTransaction,
    key: Secret[SigningKey],
    network_id: bytes,
    *others: Secret[SigningKey],
) -> SignedTransaction:
    """Sign the transaction with `key` and `others`, in this order, and put it in its envelope."""
    digest = transaction_hash(unsigned, network_id)
    raw = _TX + unsigned.raw + _signatures((key, *others), digest)
    return SignedTransaction(digest.hex(), _encoded(raw), len(raw))


def fee_bump(
    inner: SignedTransaction,
    *,
    fee_source: Address,
    fee: int,
    key: Secret[SigningKey],
    network_id: bytes,
) -> SignedTransaction:
    """Wrap `inner` unchanged in a fee bump of `fee` stroops that `fee_source` pays and signs."""
    envelope = base64.b64decode(inner.envelope_base64.reveal())
    bumped = _ED25519 + raw_key(fee_source) + fee.to_bytes(8, "big", signed=True) + envelope + _NONE
    digest = hashlib.sha256(network_id + _FEE_BUMP + bumped).digest()
    raw = _FEE_BUMP + bumped + _signatures((key,), digest)
    return SignedTransaction(digest.hex(), _encoded(raw), len(raw), inner_hash=inner.hash)


def _transaction_start(source: Address, fee: int, sequence: int) -> bytes:
    numbers = fee.to_bytes(4, "big") + sequence.to_bytes(8, "big", signed=True)
    return _ED25519 + raw_key(source) + numbers


def _body(envelope: AuthorizedInvocation) -> bytes:
    entries = envelope.entries
    parts = [_NONE, _INVOCATION_HEAD, envelope.call, len(entries).to_bytes(4, "big")]
    parts += [entry.raw for entry in entries]
    return b"".join(parts)


def _signatures(keys: Sequence[Secret[SigningKey]], digest: bytes) -> bytes:
    return len(keys).to_bytes(4, "big") + b"".join(_signature(key.reveal(), digest) for key in keys)


def _signature(key: SigningKey, digest: bytes) -> bytes:
    hint = key.verify_key.encode()[-4:]
    return hint + _SIGNATURE_LENGTH + key.sign(digest).signature


def _encoded(raw: bytes) -> Secret[str]:
    return Secret(base64.b64encode(raw).decode())
