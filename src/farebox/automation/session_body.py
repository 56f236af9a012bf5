"""The session of a plan as JSON: what every mode has alike, and the spec beside its XDR."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from farebox.automation.plan_body import (
    CapBody,
    DelegateBody,
    InstallBody,
    InvocationBody,
    PlanSessionBody,
    RevokeBody,
    SessionContractBody,
    SessionLimitsBody,
)
from farebox.automation.plans.permission_sheet import write_permission_sheet
from farebox.automation.plans.session_spec import (
    VERSION,
    AnyValue,
    ArgumentRule,
    EqualTo,
    InRange,
    IsAccount,
    IsActor,
    MinRate,
    OracleFloor,
    RowColumn,
    SessionCall,
    SessionSpec,
    TimeWithin,
)
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.value_text import show_value
from farebox.kernel.addresses import account_address
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScValue
from farebox.stellar.scval_writer import write_value

ED25519: Final = "ed25519"
_BARE: Final[Mapping[type[ArgumentRule], str]] = {
    AnyValue: "any",
    IsAccount: "account",
    IsActor: "actor",
}
NONE: Final = "none"  # the state of a plan without a session


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What a mode adds to a session; `generation` is the kind of the account.

    `state` as in the sessions' table, `none` for a plan that installs nothing.
    """

    state: str
    generation: str
    install: InstallBody | None = None
    revoke: RevokeBody | None = None
    verifier: str | None = None
    valid_until_ledger: int | None = None
    contracts: Sequence[SessionContractBody] = field(default=())
    warnings: Sequence[str] = field(default=())


def session_body(plan: StoredPlan, facts: SessionFacts) -> PlanSessionBody:
    """Render the session of a plan, whose row has its spec.

    Raises:
        ValueError: it has none.
        Malformed: the spec cannot be read.
    """
    terms = plan.terms
    if terms.session_spec is None:
        raise ValueError("the plan has no spec")
    spec = read_spec(terms.session_spec)
    return PlanSessionBody(
        mode=terms.mode,
        state=facts.state,
        network=terms.network,
        network_passphrase=terms.network.passphrase,
        account=terms.account,
        account_generation=facts.generation,
        policy_id=terms.policy_id.hex(),
        policy_spec=spec_json(spec),
        policy_spec_xdr=base64.b64encode(terms.session_spec).decode(),
        permissions=list(write_permission_sheet(terms.network, terms.session_spec)),
        delegate=DelegateBody(
            ED25519, terms.delegate.hex(), account_address(terms.delegate), facts.verifier
        ),
        limits=limits_body(spec, terms.run_limit, valid_until_ledger=facts.valid_until_ledger),
        install=facts.install,
        revoke=facts.revoke,
        contracts=list(facts.contracts),
        warnings=list(facts.warnings),
    )


def limits_body(
    spec: SessionSpec, runs: int, *, valid_until_ledger: int | None = None
) -> SessionLimitsBody:
    """Render the bounds of a spec."""
    return SessionLimitsBody(
        run_limit=runs,
        authorization_limit=spec.max_uses,
        min_interval_seconds=spec.interval_s,
        not_before=datetime.fromtimestamp(spec.not_before, UTC),
        not_after=datetime.fromtimestamp(spec.not_after, UTC),
        valid_until_ledger=valid_until_ledger,
        caps=[CapBody(each.token, str(each.per_run), str(each.total)) for each in spec.caps],
    )


def invocation_body(call: Invocation) -> InvocationBody:
    """Render a call, without those below it."""
    return InvocationBody(call.contract, call.function, [_xdr(each) for each in call.arguments])


def spec_json(spec: SessionSpec) -> dict[str, Any]:
    """The spec as JSON: its XDR, member by member. Values are text and XDR."""
    return {
        "version": VERSION,
        "account": spec.account,
        "mode": spec.mode,
        "delegate": spec.delegate.hex(),
        "calls": [_call_json(call) for call in spec.calls],
        "caps": [
            {"token": cap.token, "perRun": str(cap.per_run), "total": str(cap.total)}
            for cap in spec.caps
        ],
        "intervalSeconds": spec.interval_s,
        "maxUses": spec.max_uses,
        "notBefore": spec.not_before,
        "notAfter": spec.not_after,
    }


def _call_json(call: SessionCall) -> Mapping[str, Any]:
    return {
        "contract": call.contract,
        "function": call.function,
        "arguments": [_rule_json(rule) for rule in call.rules],
        "amount": call.amount,
        "rows": [[_value_json(value) for value in row] for row in call.rows],
        "under": call.under,
    }


def _rule_json(rule: ArgumentRule) -> Mapping[str, Any]:
    match rule:
        case AnyValue() | IsAccount() | IsActor():
            return {"rule": _BARE[type(rule)]}
        case EqualTo(value):
            return {"rule": "equal"} | _value_json(value)
        case RowColumn(column):
            return {"rule": "row", "column": column}
        case InRange(least, most):
            return {"rule": "range", "least": str(least), "most": str(most)}
        case TimeWithin(seconds):
            return {"rule": "timeWithin", "seconds": seconds}
        case MinRate() | OracleFloor():
            return _floor_json(rule)
        case _:
            assert_never(rule)


def _floor_json(rule: MinRate | OracleFloor) -> Mapping[str, Any]:
    if isinstance(rule, MinRate):
        rate = {"numerator": str(rule.numerator), "denominator": str(rule.denominator)}
        return {"rule": "minRate", "ofArgument": rule.in_argument, **rate}
    return {
        "rule": "oracleFloor",
        "ofArgument": rule.in_argument,
        "oracle": rule.oracle,
        "sell": rule.sell,
        "buy": rule.buy,
        "bps": rule.bps,
        "maxAgeSeconds": rule.max_age_s,
        "scaleNumerator": str(rule.scale_numerator),
        "scaleDenominator": str(rule.scale_denominator),
    }


def _value_json(value: ScValue) -> dict[str, Any]:
    return {"value": show_value(value), "xdr": _xdr(value)}


def _xdr(value: ScValue) -> str:
    return base64.b64encode(write_value(value)).decode()
