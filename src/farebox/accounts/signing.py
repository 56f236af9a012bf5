"""Whether the signatures under a challenge speak for an account."""

from collections.abc import Sequence
from enum import Enum

from farebox.kernel.addresses import Address, raw_key
from farebox.stellar.account_signers import AccountSigners
from farebox.stellar.signatures import signature_verifies

_HINT_BYTES = 4


class Said(Enum):
    """What the signatures come to."""

    NOT_OURS = "not_ours"  # the service itself has not signed
    STRANGE = "strange"  # one of them is no signer's, or a signer's for the second time
    TOO_LIGHT = "too_light"  # the account asks for more
    ENOUGH = "enough"


def is_signed_by(
    key: bytes, digest: bytes, signatures: Sequence[tuple[bytes, bytes]]
) -> tuple[bytes, bytes] | None:
    """The first signature that is of this key; None without one."""
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
) -> Said:
    """Hold every signature against the service's key and the account's signers.

    Each signature must be of one of them and each key counts once. The weights must reach the
    medium threshold and at least one, whatever the threshold is. The service's own signature
    weighs nothing, even where the account names it as a signer.
    """
    ours = raw_key(server)
    own = is_signed_by(ours, digest, signatures)
    if own is None:
        return Said.NOT_OURS
    left = list(signatures)
    left.remove(own)
    reached = 0
    for key, weight in signers.weights.items():
        found = None if key == ours else is_signed_by(key, digest, left)
        if found is not None:
            left.remove(found)
            reached += weight
    if left:
        return Said.STRANGE
    return Said.ENOUGH if reached >= max(1, signers.medium) else Said.TOO_LIGHT
