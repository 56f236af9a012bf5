"""The delegate key of a plan: made here, sealed at once, and opened only for one signature (3.16).

It has no account on the ledger and holds nothing. Only 32-byte digests that functions of this
package make of a run, a receipt or a closing are signed with it, each under a label of its own.
"""

from typing import Protocol

from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.sealed_columns import DELEGATE_PURPOSE
from farebox.kernel.caller import OwnerId
from farebox.kernel.secret import Secret
from farebox.stellar.signers import new_seed, public_key_of, sign_with_seed


class BytesSealer(Protocol):
    """Seals bytes for one record, as the vault's `ByteSealer` does."""

    def seal(self, value: Secret[bytes], *, owner: str, purpose: str, record: str) -> bytes: ...

    def open(self, sealed: bytes, *, owner: str, purpose: str, record: str) -> Secret[bytes]: ...


class DelegateKeys:
    """Makes delegate keys, and signs with them."""

    def __init__(self, sealer: BytesSealer) -> None:
        self._sealer = sealer

    def make(self, owner: OwnerId, proposal_id: str) -> tuple[bytes, bytes]:
        """Make the key of a new plan: its public key (32 bytes), and the secret one sealed."""
        seed = new_seed()
        sealed = self._sealer.seal(seed, owner=owner, purpose=DELEGATE_PURPOSE, record=proposal_id)
        return public_key_of(seed), sealed

    def sign(self, plan: StoredPlan, digest: bytes) -> bytes | None:
        """The signature (64 bytes) of a digest; None once the plan's key is shredded.

        Raises:
            SealBroken: the key cannot be opened.
        """
        if plan.delegate_key is None:
            return None
        terms, sealed = plan.terms, plan.delegate_key.reveal()
        seed = self._sealer.open(
            sealed, owner=terms.owner, purpose=DELEGATE_PURPOSE, record=terms.id
        )
        return sign_with_seed(seed, digest)
