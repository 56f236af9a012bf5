"""The signers of an account, and whether signatures reach its medium threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.account_entry import SignerKind, read_account_entry
from farebox.stellar.auth_entries import signature_verifies

_HINT_BYTES = 4


@dataclass(frozen=True, slots=True)
class AccountSigners:
    """The ed25519 signers with their weights, the master key included, and the medium threshold.

    Signers of other kinds cannot sign a challenge, and a key of weight 0 is no signer.
    """

    weights: Mapping[bytes, int]
    medium: int


def default_signers(account: Address) -> AccountSigners:
    """The signers of an account that is not on the ledger: its master key alone."""
    return AccountSigners(MappingProxyType({raw_key(account): 1}), 0)


def read_account_signers(data: bytes, account: Address) -> AccountSigners | None:
    """Read the signers from the ledger entry of `account`; None when `data` is not its XDR."""
    entry = read_account_entry(data, account)
    if entry is None:
        return None
    weights = {raw_key(account): entry.thresholds.master}
    for signer in entry.signers:
        if signer.kind is not SignerKind.ED25519:
            continue
        if signer.key in weights:
            return None
        weights[signer.key] = signer.weight
    positive = {key: weight for key, weight in weights.items() if weight > 0}
    return AccountSigners(MappingProxyType(positive), entry.thresholds.medium)


class SignatureVerdict(Enum):
    """Whether the signatures of a challenge authorize an account."""

    NO_SERVER_SIGNATURE = "no_server_signature"
    UNKNOWN_SIGNATURE = "unknown_signature"  # of no signer, or of a signer for the second time
    BELOW_THRESHOLD = "below_threshold"
    SUFFICIENT = "sufficient"


def find_signature(
    key: bytes, digest: bytes, signatures: Sequence[tuple[bytes, bytes]]
) -> tuple[bytes, bytes] | None:
    """Return the first signature of this key, as hint and signature; None without one."""
    hint = key[-_HINT_BYTES:]
    for each in signatures:
        if each[0] == hint and signature_verifies(key, each[1], digest):
            return each
    return None


def judge_signatures(
    digest: bytes,
    signatures: Sequence[tuple[bytes, bytes]],
    *,
    server: Address,
    signers: AccountSigners,
) -> SignatureVerdict:
    """Check every signature against the service's key and the account's signers.

    Each signature must be of one of them and each key counts once. The weights must reach the
    medium threshold, and at least 1 where the threshold is 0. The service's own signature weighs
    nothing, even where the account names it as a signer.
    """
    server_key = raw_key(server)
    server_signature = find_signature(server_key, digest, signatures)
    if server_signature is None:
        return SignatureVerdict.NO_SERVER_SIGNATURE
    remaining = list(signatures)
    remaining.remove(server_signature)
    total = 0
    for key, weight in signers.weights.items():
        signature = None if key == server_key else find_signature(key, digest, remaining)
        if signature is not None:
            remaining.remove(signature)
            total += weight
    if remaining:
        return SignatureVerdict.UNKNOWN_SIGNATURE
    is_sufficient = total >= max(1, signers.medium)
    return SignatureVerdict.SUFFICIENT if is_sufficient else SignatureVerdict.BELOW_THRESHOLD
