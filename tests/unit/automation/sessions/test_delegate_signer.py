"""The delegate signs the runs of its plan, and nothing else, whatever field differs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.planned_calls import RunContext, resolve
from farebox.automation.plans.plan import transactions_per_run
from farebox.automation.plans.policy_id import PolicyId, compute_policy_id
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.plans.stored_plan import PlanCounters, StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.account_kinds import AccountKind
from farebox.automation.sessions.delegate_signer import (
    DelegateSigner,
    RunNotSigned,
    RunToSign,
    SessionRules,
)
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.invocations import Invocation
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of, write_value
from support.automation import DELEGATES, draft_plan
from support.plans import (
    DCA,
    DISBURSEMENT,
    MANDATE,
    OWNER,
    PAIR,
    PAYEES,
    ROUTER,
    START,
    TARGET,
    USDC,
    WALLET,
    WINDOW,
    XLM,
    plan_of,
)

NOW: Final = LedgerReading(1_000, START + timedelta(minutes=5), 5.0, 0.0)
NET: Final = Network.TESTNET
SIGNER: Final = DelegateSigner(NET, DELEGATES)
RULES: Final = SessionRules(AccountKind.OZ_C, TARGET, {ROUTER: 3, USDC: 4})
NONCE: Final = 77


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and the run of it that its delegate signs."""

    plan: StoredPlan
    run: RunToSign


def a_case(mode: AuthorityMode, kind: PlanKind = PlanKind.DCA, body: Any = None) -> Case:
    account = WALLET if mode is AuthorityMode.SESSION else OWNER
    plan = plan_of(kind, body or DCA, account)
    pools = {(USDC, XLM): PAIR}
    planned = plan_calls(plan, ResolvedPlan(router=ROUTER, pools=pools), mode)
    draft = draft_plan(now=START, account=account)
    spec = build_spec(
        plan,
        planned,
        account=account,
        mode=mode,
        delegate=draft.terms.delegate,
        window=WINDOW,
        interval_s=60,
        runs=3,
    )
    raw = write_spec(spec)
    terms = draft.but(
        mode=mode,
        kind=kind,
        session_spec=raw,
        policy_id=compute_policy_id(NET, raw),
        legs=transactions_per_run(plan),
    ).terms
    stored = StoredPlan(
        terms, ProposalState.ACTIVE, PlanCounters(), delegate_key=Secret(draft.sealed_key)
    )
    actor = account if mode is AuthorityMode.SESSION else MANDATE
    context = RunContext(
        actor, 2, int(NOW.close_at.timestamp()), row=0, min_out=100_000_000, amount=None
    )
    tree = resolve(planned, context)
    return Case(stored, RunToSign(terms.id, 2, 0, tree, NOW.sequence + 24))


def sign_mandate(case: Case) -> Invocation:
    return SIGNER.sign_mandate_run(case.plan, case.run, NOW, mandate=MANDATE)


def sign_session(case: Case, kind: AccountKind = AccountKind.OZ_C) -> bytes:
    rules = replace(RULES, kind=kind)
    return SIGNER.sign_session_run(case.plan, case.run, NOW, rules=rules, nonce=NONCE).raw


def test_mandate_run_carries_the_delegates_signature_of_its_very_arguments() -> None:
    case = a_case(AuthorityMode.MANDATE)
    call = sign_mandate(case)
    index, until, calls, signature = (
        xdr.SCVal.from_xdr_bytes(write_value(each)) for each in call.arguments
    )
    assert (scval.from_uint32(index), scval.from_uint32(until)) == (2, NOW.sequence + 24)
    ids = [scval.to_address(MANDATE), scval.to_bytes(case.plan.terms.policy_id)]
    signed = scval.to_vec([*ids, index, until, calls]).to_xdr_bytes()
    preimage = b"x402.automation.run.v1\0" + NET.id + signed
    key = Keypair.from_public_key(StrKey.encode_ed25519_public_key(case.plan.terms.delegate))
    key.verify(hashlib.sha256(preimage).digest(), scval.from_bytes(signature))


@pytest.mark.parametrize("kind", [AccountKind.OZ_B, AccountKind.OZ_C, AccountKind.OZ_D])
def test_session_entry_has_the_rules_in_the_order_of_the_tree(kind: AccountKind) -> None:
    raw = sign_session(a_case(AuthorityMode.SESSION), kind)
    entry = xdr.SorobanAuthorizationEntry.from_xdr_bytes(raw)
    assert entry.credentials.address is not None
    assert entry.credentials.address.nonce.int64 == NONCE
    payload = scval.from_struct(entry.credentials.address.signature)
    assert [scval.from_uint32(each) for each in scval.from_vec(payload["context_rule_ids"])] == [
        3,
        4,
    ]


def test_generations_sign_different_digests() -> None:
    case = a_case(AuthorityMode.SESSION)
    assert sign_session(case, AccountKind.OZ_C) == sign_session(case, AccountKind.OZ_B)
    assert sign_session(case, AccountKind.OZ_C) != sign_session(case, AccountKind.OZ_D)


def argument(at: int, value: Any) -> Callable[[Invocation], Invocation]:
    """A change of one argument of the root call."""
    return lambda tree: replace(
        tree, arguments=(*tree.arguments[:at], value, *tree.arguments[at + 1 :])
    )


def below(change: Callable[[Invocation], Invocation]) -> Callable[[Invocation], Invocation]:
    """A change of the nested call."""
    return lambda tree: replace(tree, nested=(change(tree.nested[0]),))


def i128(number: int) -> ScNumber:
    return ScNumber(ScKind.I128, number)


TREES: Final[dict[str, Callable[[Invocation], Invocation]]] = {
    "contract": lambda tree: replace(tree, contract=TARGET),
    "function": lambda tree: replace(tree, function="swap"),
    "amount": argument(0, i128(50_000_001)),
    "minimum": argument(1, i128(99_999_999)),
    "path": argument(2, address_of(USDC)),
    "recipient": argument(3, address_of(PAYEES[0])),
    "deadline": argument(4, ScNumber(ScKind.U64, int(NOW.close_at.timestamp()) + 601)),
    "one argument less": lambda tree: replace(tree, arguments=tree.arguments[:-1]),
    "second payment": lambda tree: replace(tree, nested=tree.nested * 2),
    "payee below": below(argument(1, address_of(TARGET))),
    "amount below": below(argument(2, i128(50_000_001))),
    "token below": below(lambda tree: replace(tree, contract=XLM)),
    "root is the payment": lambda tree: tree.nested[0],
}


@pytest.mark.parametrize("mode", [AuthorityMode.MANDATE, AuthorityMode.SESSION])
@pytest.mark.parametrize("changed", TREES)
def test_run_with_a_changed_call_is_not_signed(mode: AuthorityMode, changed: str) -> None:
    case = a_case(mode)
    sign: Callable[[Case], object] = sign_mandate if mode is AuthorityMode.MANDATE else sign_session
    sign(case)
    other = replace(case, run=replace(case.run, tree=TREES[changed](case.run.tree)))
    with pytest.raises(RunNotSigned) as refused:
        sign(other)
    assert refused.value.code == "outside_spec"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"last_ledger": NOW.sequence + 25}, "expiry_out_of_range"),
        ({"last_ledger": NOW.sequence}, "expiry_out_of_range"),
        ({"proposal_id": "auto_other"}, "run_of_another_plan"),
        ({"leg_index": 1}, "run_of_another_plan"),
    ],
)
def test_run_with_another_bound_or_plan_is_not_signed(change: dict[str, Any], code: str) -> None:
    case = a_case(AuthorityMode.MANDATE)
    with pytest.raises(RunNotSigned) as refused:
        sign_mandate(replace(case, run=replace(case.run, **change)))
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"policy_id": PolicyId(bytes(32))}, "policy_differs"),
        ({"delegate": bytes(32)}, "policy_differs"),
        ({"account": PAYEES[0]}, "policy_differs"),
        ({"mode": AuthorityMode.SESSION}, "mode_differs"),
        ({"network": Network.PUBNET}, "no_session_spec"),
        ({"session_spec": None}, "no_session_spec"),
        ({"session_spec": b"\0"}, "policy_differs"),
    ],
)
def test_plan_whose_row_was_changed_signs_nothing(change: dict[str, Any], code: str) -> None:
    case = a_case(AuthorityMode.MANDATE)
    plan = replace(case.plan, terms=replace(case.plan.terms, **change))
    with pytest.raises(RunNotSigned) as refused:
        sign_mandate(replace(case, plan=plan))
    assert refused.value.code == code


def test_spec_of_another_plan_signs_nothing_even_with_its_policy_id() -> None:
    """Who changes a row consistently still lacks the delegate of the other spec."""
    case, other = a_case(AuthorityMode.MANDATE), a_case(AuthorityMode.MANDATE)
    moved = replace(
        case.plan.terms,
        session_spec=other.plan.terms.session_spec,
        policy_id=other.plan.terms.policy_id,
    )
    with pytest.raises(RunNotSigned) as refused:
        sign_mandate(replace(case, plan=replace(case.plan, terms=moved)))
    assert refused.value.code == "policy_differs"


def test_leg_of_a_disbursement_pays_its_own_row() -> None:
    case = a_case(AuthorityMode.MANDATE, PlanKind.DISBURSEMENT, DISBURSEMENT)
    sign_mandate(case)
    with pytest.raises(RunNotSigned) as refused:
        sign_mandate(replace(case, run=replace(case.run, leg_index=1)))
    assert refused.value.code == "another_leg"


def test_session_run_without_a_rule_or_of_an_unknown_account_is_not_signed() -> None:
    case = a_case(AuthorityMode.SESSION)
    for rules, code in (
        (replace(RULES, rule_ids={ROUTER: 3}), "rule_missing"),
        (replace(RULES, kind=AccountKind.UNKNOWN), "account_unsupported"),
        (replace(RULES, kind=AccountKind.PASSKEY_1), "account_unsupported"),
    ):
        with pytest.raises(RunNotSigned) as refused:
            SIGNER.sign_session_run(case.plan, case.run, NOW, rules=rules, nonce=NONCE)
        assert refused.value.code == code


def test_shredded_key_signs_neither_runs_nor_closings() -> None:
    case = a_case(AuthorityMode.MANDATE)
    assert len(SIGNER.sign_close(case.plan, Address(MANDATE)).reveal()) == 64
    shredded = replace(case, plan=replace(case.plan, delegate_key=None))
    with pytest.raises(RunNotSigned) as refused:
        sign_mandate(shredded)
    assert refused.value.code == "key_shredded"
    with pytest.raises(RunNotSigned):
        SIGNER.sign_close(shredded.plan, Address(MANDATE))
