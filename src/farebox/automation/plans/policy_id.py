"""The deterministic ids and digests of a plan (3.2 of the design); the contracts compute the same.

Every digest is the SHA-256 of a label, a zero byte, the network's id, and the XDR of an SCVal.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NewType

import msgspec

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.contract_operations import contract_of
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import address_of, struct_of, write_value

PolicyId = NewType("PolicyId", bytes)  # 32

_POLICY: Final = b"x402.automation.policy.v1"
_RUN: Final = b"x402.automation.run.v1"
_CLOSE: Final = b"x402.automation.close.v1"
_INTENT: Final = b"x402.automation.intent.v1"
_SHORT: Final = 20
_RULE_NAME: Final = 16  # with its prefix 19 bytes: a context rule's name has 20 at most


@dataclass(frozen=True, slots=True)
class MandateCall:
    """One call of a mandate's run: its index in the spec's calls, and its arguments."""

    call: int
    arguments: tuple[ScValue, ...]


def compute_policy_id(network: Network, spec_xdr: bytes) -> PolicyId:
    """The policy id of a `SessionSpec` in its XDR."""
    return PolicyId(_digest(_POLICY, network, spec_xdr))


def mandate_address(network: Network, factory: Address, policy_id: PolicyId) -> Address:
    """The address of the mandate instance of a policy, known before it exists."""
    return contract_of(network, factory, policy_id)


def run_digest(
    network: Network,
    mandate: Address,
    policy_id: PolicyId,
    *,
    run_index: int,
    valid_until: int,
    calls: Sequence[MandateCall],
) -> bytes:
    """The 32 bytes that the delegate signs for a run of a mandate.

    `valid_until` is the last ledger in which it may land; the first of `calls` is the root.
    """
    parts = (
        address_of(mandate),
        ScBytes(ScKind.BYTES, policy_id),
        ScNumber(ScKind.U32, run_index),
        ScNumber(ScKind.U32, valid_until),
        calls_value(calls),
    )
    return _digest(_RUN, network, write_value(ScVec(parts)))


def close_digest(network: Network, contract: Address, policy_id: PolicyId) -> bytes:
    """The 32 bytes that the delegate signs to close a session for ever, at its guard or mandate."""
    parts = (address_of(contract), ScBytes(ScKind.BYTES, policy_id))
    return _digest(_CLOSE, network, write_value(ScVec(parts)))


def calls_value(calls: Sequence[MandateCall]) -> ScVec:
    """The SCVal of a run's calls, an argument of the mandate's `run`."""
    return ScVec(tuple(_call_value(call) for call in calls))


def short_policy_id(policy_id: PolicyId) -> str:
    """The policy id for people: `pol_` and 20 characters."""
    return f"pol_{_base32(policy_id)[:_SHORT]}"


def rule_name(policy_id: PolicyId) -> str:
    """The name of the policy's context rules on a smart account."""
    return f"x4:{_base32(policy_id)[:_RULE_NAME]}"


def intent_hash(
    network: Network, account: Address, kind: str, *, mode: str, schedule: object, spec: object
) -> bytes:
    """32 bytes that two equal plans share, whatever their delegates and the time of proposing.

    `schedule` and `spec` are the checked values of the proposal that msgspec encodes.
    """
    plan = {
        "account": account,
        "kind": kind,
        "mode": mode,
        "schedule": schedule,
        "spec": spec,
    }
    return _digest(_INTENT, network, msgspec.json.encode(plan, order="sorted"))


def _call_value(call: MandateCall) -> ScMap:
    return struct_of(args=ScVec(call.arguments), call=ScNumber(ScKind.U32, call.call))


def _digest(label: bytes, network: Network, body: bytes) -> bytes:
    return hashlib.sha256(label + b"\0" + network.id + body).digest()


def _base32(policy_id: PolicyId) -> str:
    return base64.b32encode(policy_id).decode().rstrip("=").lower()
