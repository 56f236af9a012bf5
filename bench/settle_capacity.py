"""The resources of a settlement, the limits of a ledger, and the limit that binds first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean
from typing import Final

from stellar_sdk import xdr

from bench.settle_ledger import Landed, inner_envelope
from farebox.stellar.network_settings import LedgerLimits
from testing.machine import RunFailed

_CLASSIC: Final = frozenset({xdr.LedgerEntryType.ACCOUNT, xdr.LedgerEntryType.TRUSTLINE})
_SIGNATURE: Final = 4 + 4 + 64  # hint, length, signature


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that one transaction declares, as far as a ledger limits them."""

    transactions: int
    transaction_bytes: int
    instructions: int
    disk_read_entries: int
    write_entries: int
    write_bytes: int


def usage_of(landed: Sequence[Landed]) -> Usage:
    """Return the largest use of each resource among fifty transactions."""
    found = [_usage(each.envelope) for each in landed[:50] if each.is_success]
    if not found:
        raise RunFailed("nothing landed whose size could be read")
    return Usage(*(max(getattr(each, name) for each in found) for name in Usage.__slots__))


def admitted(limits: LedgerLimits, use: Usage) -> int:
    """Return how many such transactions fit in one ledger; instructions count in one cluster.

    Payments to one seller write one entry, so they run sequentially.
    """
    return min(int(getattr(limits, name)) // int(getattr(use, name)) for name in Usage.__slots__)


def fill(
    landed: Iterable[Landed], ledgers: Sequence[int], limits: LedgerLimits
) -> dict[str, float]:
    """Return the used share of each limit, mean over the ledgers."""
    used: dict[int, Counter[str]] = defaultdict(Counter)
    for each in landed:
        use = _usage(each.envelope)
        used[each.ledger].update({name: getattr(use, name) for name in Usage.__slots__})
    return {
        name: round(mean(used[ledger][name] / getattr(limits, name) for ledger in ledgers), 4)
        for name in Usage.__slots__
    }


def _usage(envelope: bytes) -> Usage:
    data = _soroban_data(inner_envelope(envelope))
    footprint = data.resources.footprint
    keys = [*footprint.read_only, *footprint.read_write]
    return Usage(
        transactions=1,
        transaction_bytes=len(envelope),
        instructions=data.resources.instructions.uint32,
        disk_read_entries=sum(key.type in _CLASSIC for key in keys),
        write_entries=len(footprint.read_write),
        write_bytes=data.resources.write_bytes.uint32,
    )


@lru_cache(maxsize=1)
def _soroban_data(inner: bytes) -> xdr.SorobanTransactionData:
    return _transaction(inner).tx.ext.soroban_data or _no_data()


def _no_data() -> xdr.SorobanTransactionData:
    raise RunFailed("a settlement without resource data landed")


def _transaction(inner: bytes) -> xdr.TransactionV1Envelope:
    envelope = xdr.TransactionEnvelope.from_xdr_bytes(inner).v1
    if envelope is None:
        raise RunFailed("an envelope of another version landed")
    return envelope


def envelope_parts(landed: Sequence[Landed]) -> dict[str, int]:
    """Return the bytes of one settlement's envelope, by part."""
    raw = landed[-1].envelope
    inner = inner_envelope(raw)
    envelope = _transaction(inner)
    call = envelope.tx.operations[0].body.invoke_host_function_op
    data = envelope.tx.ext.soroban_data
    if call is None or data is None:
        raise RunFailed("a settlement that is no contract call landed")
    footprint = len(data.resources.footprint.to_xdr_bytes())
    parts = {
        "fee_bump": len(raw) - len(inner),
        "call": len(call.host_function.to_xdr_bytes()),
        "authorization": sum(len(each.to_xdr_bytes()) for each in call.auth),
        "footprint": footprint,
        "other_resource_data": len(data.to_xdr_bytes()) - footprint,
        "signatures": len(envelope.signatures) * _SIGNATURE,
    }
    return {"bytes": len(raw), **parts, "header": len(raw) - sum(parts.values())}
