"""What is signed for a run: an account's entry, or the digest of a mandate (3.8, 3.13, 3.15)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from farebox.automation.authority.planned_calls import PlannedCalls, RunContext, resolve
from farebox.automation.authority.spec_check import AllowedRun
from farebox.automation.plans.policy_id import MandateCall, calls_value
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import CredentialKind, authorization_preimage, read_entry
from farebox.stellar.entry_writer import unsigned_tree
from farebox.stellar.invocations import Invocation, flatten, write_invocation
from farebox.stellar.scval import ScBytes, ScKind, ScNumber


@dataclass(frozen=True, slots=True)
class UnsignedRun:
    """The entry by which an account authorizes one run, not signed yet.

    `preimage` is the HashIDPreimage (XDR): classic accounts sign its SHA-256, and smart accounts
    what their own library makes of it.
    """

    entry: bytes = field(repr=False)
    preimage: bytes = field(repr=False)
    nonce: int
    expires_at_ledger: int

    @property
    def payload(self) -> bytes:
        """The 32 bytes that the network asks the account to authorize."""
        return hashlib.sha256(self.preimage).digest()


@dataclass(frozen=True, slots=True)
class PresignedSlot:
    """A run whose entry is signed ahead: its nonce, and the last ledger of its window."""

    run_index: int
    leg_index: int
    nonce: int
    expires_at_ledger: int


def unsigned_run(
    network: Network,
    account: Address,
    run: Invocation,
    *,
    nonce: int,
    expires_at_ledger: int,
    kind: CredentialKind = CredentialKind.ADDRESS,
) -> UnsignedRun:
    """Write the entry by which `account` authorizes a run's tree and nothing else."""
    entry = unsigned_tree(
        account,
        nonce=nonce,
        expires_at_ledger=expires_at_ledger,
        invocation=write_invocation(run),
        kind=kind,
    )
    preimage = authorization_preimage(read_entry(entry), network.id)
    return UnsignedRun(entry, preimage, nonce, expires_at_ledger)


def presigned_runs(
    network: Network, account: Address, planned: PlannedCalls, slots: Sequence[PresignedSlot]
) -> tuple[UnsignedRun, ...]:
    """The entries of a plan that is signed ahead, which has passed `check_presigned`.

    No entry has a first ledger: whoever holds them all may use them all at once.
    """
    return tuple(
        unsigned_run(
            network,
            account,
            resolve(planned, RunContext(account, slot.run_index, 0, row=slot.leg_index)),
            nonce=slot.nonce,
            expires_at_ledger=slot.expires_at_ledger,
        )
        for slot in slots
    )


def mandate_calls(run: Invocation, allowed: AllowedRun) -> tuple[MandateCall, ...]:
    """The calls of a mandate's run, by their indexes in the spec; `judge_run` has allowed it."""
    pairs = zip(allowed.calls, flatten(run), strict=True)
    return tuple(MandateCall(index, call.arguments) for index, call in pairs)


def mandate_run(
    mandate: Address,
    calls: Sequence[MandateCall],
    *,
    run_index: int,
    valid_until: int,
    signature: Secret[bytes],
) -> Invocation:
    """The call of a mandate's `run`, which needs no authorization entry.

    `signature` (64 bytes) is the delegate's, of `run_digest` over the same values.
    """
    arguments = (
        ScNumber(ScKind.U32, run_index),
        ScNumber(ScKind.U32, valid_until),
        calls_value(calls),
        ScBytes(ScKind.BYTES, signature.reveal()),
    )
    return Invocation(mandate, "run", arguments)
