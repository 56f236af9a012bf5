"""What an owner signs to install and to revoke."""

from dataclasses import replace
from typing import Final

from farebox.automation.authority.installation import (
    SessionContracts,
    called_contracts,
    close_session,
    install_session,
    open_mandate,
    remove_session,
    revoke_mandate,
)
from farebox.automation.plans.policy_id import PolicyId, rule_name
from farebox.automation.plans.session_spec import (
    AuthorityMode,
    EqualTo,
    InRange,
    IsActor,
    SessionCall,
    SessionSpec,
    TokenCap,
)
from farebox.automation.plans.session_spec_xdr import spec_value
from farebox.kernel.amounts import BaseUnits
from farebox.stellar.invocations import Invocation, flatten, read_invocation, write_invocation
from farebox.stellar.scval import ScBytes, ScKind, ScMap, ScNumber, ScVec
from farebox.stellar.scval_writer import VOID, address_of, symbol_of
from support.plans import (
    DELEGATE,
    MANDATE,
    OWNER,
    PAIR,
    ROUTER,
    TARGET,
    USDC,
    WALLET,
    XLM,
    contract,
)

CONTRACTS: Final = SessionContracts(contract(31), contract(32), contract(33), contract(34))
PAID: Final = SessionCall(
    USDC, "transfer", (IsActor(), EqualTo(address_of(PAIR)), InRange(0, 5)), amount=2, under=0
)
SPEC: Final = SessionSpec(
    account=WALLET,
    mode=AuthorityMode.SESSION,
    delegate=DELEGATE,
    calls=(SessionCall(ROUTER, "swap", ()), PAID, SessionCall(ROUTER, "swap_back", ())),
    caps=(TokenCap(USDC, BaseUnits(5), BaseUnits(50)), TokenCap(XLM, BaseUnits(0), BaseUnits(0))),
    interval_s=60,
    max_uses=10,
    not_before=100,
    not_after=200,
)
POLICY: Final = PolicyId(bytes(range(32)))


def u32(value: int) -> ScNumber:
    """A number."""
    return ScNumber(ScKind.U32, value)


def test_installation_adds_one_rule_for_each_contract() -> None:
    tree = install_session(SPEC, POLICY, CONTRACTS, valid_until=500)
    assert (tree.contract, tree.function) == (CONTRACTS.installer, "install")
    name = ScBytes(ScKind.STRING, rule_name(POLICY).encode())
    assert tree.arguments == (
        address_of(WALLET),
        address_of(CONTRACTS.guard),
        address_of(CONTRACTS.verifier),
        spec_value(SPEC),
        name,
        u32(500),
    )
    key = ScBytes(ScKind.BYTES, DELEGATE)
    signer = ScVec((symbol_of("External"), address_of(CONTRACTS.verifier), key))
    assert tree.nested == tuple(
        Invocation(
            WALLET,
            "add_context_rule",
            (
                ScVec((symbol_of("CallContract"), address_of(called))),
                name,
                u32(500),
                ScVec((signer,)),
                ScMap(((address_of(CONTRACTS.guard), spec_value(SPEC)),)),
            ),
        )
        for called in (ROUTER, USDC)
    )
    assert read_invocation(write_invocation(tree)) == tree


def test_contracts_of_a_spec_are_listed_once_in_their_order() -> None:
    assert called_contracts(SPEC) == (ROUTER, USDC)


def test_opening_a_mandate_approves_what_it_may_spend_and_no_more() -> None:
    spec = replace(SPEC, account=OWNER, mode=AuthorityMode.MANDATE)
    tree = open_mandate(spec, CONTRACTS.factory, MANDATE, live_until=900)
    assert tree.arguments == (spec_value(spec), u32(900))
    parties = address_of(OWNER), address_of(MANDATE)
    approval = Invocation(USDC, "approve", (*parties, ScNumber(ScKind.I128, 50), u32(900)))
    assert flatten(tree) == (tree, approval)


def test_revocations_name_everything_that_was_given() -> None:
    removal = remove_session(SPEC, CONTRACTS.installer, [4, 5])
    assert removal.arguments == (address_of(WALLET), ScVec((u32(4), u32(5))))
    assert removal.nested == tuple(
        Invocation(WALLET, "remove_context_rule", (u32(each),)) for each in (4, 5)
    )
    closing = close_session(SPEC, POLICY, CONTRACTS.guard)
    assert closing.arguments == (address_of(WALLET), ScBytes(ScKind.BYTES, POLICY), VOID)
    close, approval = revoke_mandate(SPEC, MANDATE)
    assert (close.contract, close.function, close.arguments) == (MANDATE, "close", (VOID,))
    assert (approval.contract, approval.arguments[2]) == (USDC, ScNumber(ScKind.I128, 0))
    assert TARGET not in {each.contract for each in (close, approval)}
