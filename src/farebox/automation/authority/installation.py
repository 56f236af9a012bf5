"""What the owner signs to install or revoke a session, as trees of calls (3.13 and 3.15).

The signed entry of an installation has exactly one of these trees; nothing here is a secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.automation.plans.policy_id import PolicyId, rule_name
from farebox.automation.plans.session_spec import SessionSpec
from farebox.automation.plans.session_spec_xdr import spec_value
from farebox.kernel.addresses import Address
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScValue, ScVec
from farebox.stellar.scval_writer import VOID, address_of, symbol_of

_APPROVE: Final = "approve"


@dataclass(frozen=True, slots=True)
class SessionContracts:
    """The contracts of a network that sessions and mandates are made of."""

    guard: Address
    verifier: Address  # of ed25519 signatures, of the smart accounts' library
    installer: Address
    factory: Address


def install_session(
    spec: SessionSpec, policy_id: PolicyId, contracts: SessionContracts, *, valid_until: int
) -> Invocation:
    """The tree of `SessionInstaller.install`: below it one `add_context_rule` for each contract.

    `valid_until` is the last ledger of the rules.
    """
    account, name = address_of(spec.account), ScBytes(ScKind.STRING, rule_name(policy_id).encode())
    end = ScNumber(ScKind.U32, valid_until)
    delegate = ScBytes(ScKind.BYTES, spec.delegate)
    signer = ScVec((symbol_of("External"), address_of(contracts.verifier), delegate))
    policies = ScMap(((address_of(contracts.guard), spec_value(spec)),))
    rules = tuple(
        Invocation(
            spec.account,
            "add_context_rule",
            (
                ScVec((symbol_of("CallContract"), address_of(contract))),
                name,
                end,
                ScVec((signer,)),
                policies,
            ),
        )
        for contract in called_contracts(spec)
    )
    arguments = (
        account,
        address_of(contracts.guard),
        address_of(contracts.verifier),
        spec_value(spec),
        name,
        end,
    )
    return Invocation(contracts.installer, "install", arguments, rules)


def remove_session(spec: SessionSpec, installer: Address, rule_ids: Sequence[int]) -> Invocation:
    """The tree of `SessionInstaller.remove`: below it one `remove_context_rule` for each rule."""
    ids = tuple(ScNumber(ScKind.U32, each) for each in rule_ids)
    removals = tuple(Invocation(spec.account, "remove_context_rule", (each,)) for each in ids)
    return Invocation(installer, "remove", (address_of(spec.account), ScVec(ids)), removals)


def open_mandate(
    spec: SessionSpec, factory: Address, mandate: Address, *, live_until: int
) -> Invocation:
    """The tree of `MandateFactory.open`: below it the approval of each token that may be spent."""
    end = ScNumber(ScKind.U32, live_until)
    approvals = tuple(
        _approval(spec, cap.token, mandate, cap.total, end) for cap in spec.caps if cap.total
    )
    return Invocation(factory, "open", (spec_value(spec), end), approvals)


def close_session(spec: SessionSpec, policy_id: PolicyId, guard: Address) -> Invocation:
    """The call by which the account closes its session at the guard, for ever."""
    arguments = (address_of(spec.account), ScBytes(ScKind.BYTES, policy_id), VOID)
    return Invocation(guard, "close", arguments)


def revoke_mandate(spec: SessionSpec, mandate: Address) -> tuple[Invocation, ...]:
    """The calls by which the owner revokes a mandate: its closing, and each approval set to 0.

    Each of them needs a transaction of its own, and any of them stops the mandate.
    """
    none = ScNumber(ScKind.U32, 0)
    approvals = (_approval(spec, cap.token, mandate, 0, none) for cap in spec.caps if cap.total)
    return Invocation(mandate, "close", (VOID,)), *approvals


def called_contracts(spec: SessionSpec) -> tuple[Address, ...]:
    """The contracts that a spec calls, each once, in its order: each has a context rule."""
    return tuple(dict.fromkeys(call.contract for call in spec.calls))


def _approval(
    spec: SessionSpec, token: Address, mandate: Address, amount: int, end: ScValue
) -> Invocation:
    parties = address_of(spec.account), address_of(mandate)
    return Invocation(token, _APPROVE, (*parties, ScNumber(ScKind.I128, amount), end))
