"""The vectors of the console's readers of automation, made by the code that plans and authorizes.

`python -m support.sheet_vectors` (with `tests` on the path) prints them.
"""

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from farebox.automation.authority.build_spec import build_spec
from farebox.automation.authority.installation import (
    SessionContracts,
    install_session,
    open_mandate,
)
from farebox.automation.authority.modes import check_mode
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.run_entries import UnsignedRun, unsigned_run
from farebox.automation.plans.permission_sheet import write_permission_sheet
from farebox.automation.plans.policy_id import (
    compute_policy_id,
    mandate_address,
    short_policy_id,
)
from farebox.automation.plans.run_sheet import write_run_sheet
from farebox.automation.plans.session_spec import (
    AuthorityMode,
    EqualTo,
    InRange,
    IsActor,
    SessionCall,
    SessionSpec,
    TokenCap,
)
from farebox.automation.plans.session_spec_xdr import write_spec
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar import known_tokens
from farebox.stellar.auth_entries import CredentialKind
from farebox.stellar.invocations import Invocation
from farebox.stellar.scval import ScKind, ScNumber
from farebox.stellar.scval_writer import address_of
from support.payments import Json
from support.plans import (
    AQUARIUS,
    CALL,
    DCA,
    DELEGATE,
    DISBURSEMENT,
    EURC,
    KEEPER,
    OWNER,
    PAIR,
    REBALANCE,
    ROUTER,
    TARGET,
    USDC,
    WALLET,
    WINDOW,
    XLM,
    changed,
    contract,
    plan_of,
)
from support.run_vectors import LEGS, refused_runs, signed_runs
from support.sheet_rules import EVERY_RULE

CONTRACTS: Final = SessionContracts(contract(31), contract(32), contract(33), contract(34))
_TESTNET: Final = Network.TESTNET
_NONCE: Final = -1_234_567_890_123_456_789
_EXPIRY: Final = 54_321_120
_END: Final = 54_900_000
_RUNS: Final = 3
_GAP_S: Final = 86_400
_PLANS: Final[dict[str, tuple[str, Json]]] = {
    "a contract call": ("contract_call", CALL),
    "a keeper": ("contract_call", KEEPER),
    "dollar-cost averaging": ("dca", DCA),
    "dollar-cost averaging at Aquarius": ("dca", AQUARIUS),
    "a rebalance": ("rebalance", REBALANCE),
    "a rebalance with a strategy": ("rebalance", changed(REBALANCE, strategy=TARGET)),
    "a disbursement": ("disbursement", DISBURSEMENT),
    "a disbursement that is made once": ("disbursement", changed(DISBURSEMENT, mode="once")),
}
_OF_KNOWN_TOKENS: Final = ("dollar-cost averaging", "a disbursement")
_EVERY_RULE: Final = "every rule"
_SMALL: Final = SessionSpec(
    account=WALLET,
    mode=AuthorityMode.SESSION,
    delegate=DELEGATE,
    calls=(
        SessionCall(ROUTER, "swap", ()),
        SessionCall(
            USDC,
            "transfer",
            (IsActor(), EqualTo(address_of(PAIR)), InRange(0, 5)),
            amount=2,
            under=0,
        ),
    ),
    caps=(TokenCap(USDC, BaseUnits(5), BaseUnits(50)),),
    interval_s=60,
    max_uses=10,
    not_before=1_800_000_000,
    not_after=1_800_003_600,
)


def sheet_vectors() -> bytes:
    """Serialize the vectors; every XDR is base64."""
    vectors = {
        "sheets": [_sheet(*each) for each in specs()],
        "entries": list(_entries()),
        "refused": list(_refused()),
    }
    return json.dumps(vectors, indent=0).encode() + b"\n"


def specs() -> Iterator[tuple[str, Network, SessionSpec]]:
    """A spec of every kind in every mode that bounds it, and one with every rule."""
    for name, (kind, body) in _PLANS.items():
        for mode in AuthorityMode:
            try:
                spec = _spec(kind, body, mode)
            except AutomationRefused:
                continue  # this mode cannot bound such a plan
            yield f"{name}, {mode}", _TESTNET, spec
    for network in Network:
        for name in _OF_KNOWN_TOKENS:
            kind, body = _PLANS[name]
            text = _with_known_tokens(json.dumps(body), network)
            spec = _spec(kind, json.loads(text), AuthorityMode.MANDATE, network)
            yield f"{name}, known tokens of {network}", network, spec
    for mode in AuthorityMode:
        yield f"{_EVERY_RULE}, {mode}", _TESTNET, replace(EVERY_RULE, mode=mode)


def _with_known_tokens(text: str, network: Network | None) -> str:
    if network is None:
        return text
    text = text.replace(USDC, known_tokens.USDC[network].contract)
    return text.replace(XLM, known_tokens.NATIVE[network].contract)


def _spec(
    kind: str, body: Json, mode: AuthorityMode, network: Network | None = None
) -> SessionSpec:
    account = WALLET if mode is AuthorityMode.SESSION else OWNER
    usdc, xlm = (Address(_with_known_tokens(token, network)) for token in (USDC, XLM))
    plan = plan_of(kind, body, account)
    check_mode(plan, account, mode)
    resolved = ResolvedPlan(
        values=(address_of(account), address_of(usdc), ScNumber(ScKind.I128, 500)),
        router=ROUTER,
        pools={(usdc, xlm): PAIR, (xlm, usdc): PAIR, (usdc, EURC): PAIR},
    )
    return build_spec(
        plan,
        plan_calls(plan, resolved, mode),
        account=account,
        mode=mode,
        delegate=DELEGATE,
        window=WINDOW,
        interval_s=_GAP_S,
        runs=_RUNS,
    )


def _sheet(name: str, network: Network, spec: SessionSpec) -> dict[str, Any]:
    raw = write_spec(spec)
    policy = compute_policy_id(network, raw)
    return {
        "name": name,
        "network": network.value,
        "spec": _text(raw),
        "policyId": policy.hex(),
        "policyName": short_policy_id(policy),
        "sentences": list(write_permission_sheet(network, raw)),
    }


def _entries() -> Iterator[dict[str, Any]]:
    """Entries of plans that are installed or opened, and of runs that are signed ahead."""
    for name, network, spec in specs():
        is_signed = spec.mode in (AuthorityMode.SESSION, AuthorityMode.MANDATE)
        if is_signed and not name.startswith(_EVERY_RULE):
            yield _installation(name, network, spec)
    for mode in (AuthorityMode.SESSION, AuthorityMode.MANDATE):
        spec, kind = _spec("contract_call", CALL, mode), CredentialKind.ADDRESS_V2
        yield _installation(f"a contract call, {mode}", _TESTNET, spec, kind)
    for name, spec, run in signed_runs():
        yield _run(name, spec, run)


def _tree(network: Network, spec: SessionSpec) -> tuple[Invocation, dict[str, Address]]:
    """What the owner signs for a spec, and the contracts that take part."""
    policy = compute_policy_id(network, write_spec(spec))
    if spec.mode is AuthorityMode.SESSION:
        names = {
            "installer": CONTRACTS.installer,
            "guard": CONTRACTS.guard,
            "verifier": CONTRACTS.verifier,
        }
        return install_session(spec, policy, CONTRACTS, valid_until=_END), names
    mandate = mandate_address(network, CONTRACTS.factory, policy)
    names = {"factory": CONTRACTS.factory, "mandate": mandate}
    return open_mandate(spec, CONTRACTS.factory, mandate, live_until=_END), names


def _unsigned(
    network: Network,
    account: Address,
    tree: Invocation,
    kind: CredentialKind = CredentialKind.ADDRESS,
) -> UnsignedRun:
    return unsigned_run(network, account, tree, nonce=_NONCE, expires_at_ledger=_EXPIRY, kind=kind)


def _expected(network: Network, spec: SessionSpec) -> dict[str, Any]:
    """What the page shows beside an entry."""
    raw = write_spec(spec)
    return {
        "mode": spec.mode.value,
        "network": network.value,
        "account": spec.account,
        "nonce": str(_NONCE),
        "expirationLedger": _EXPIRY,
        "policyId": compute_policy_id(network, raw).hex(),
        "policySpecXdr": _text(raw) if spec.mode is AuthorityMode.PRESIGNED else "",
    }


def _installation(
    name: str, network: Network, spec: SessionSpec, kind: CredentialKind = CredentialKind.ADDRESS
) -> dict[str, Any]:
    """An entry and the hash of its preimage, and the name of the sheet of its spec."""
    tree, contracts = _tree(network, spec)
    signed = _unsigned(network, spec.account, tree, kind)
    return {
        "name": f"{name}, {kind}",
        "sheet": name,
        "entry": _text(signed.entry),
        "payload": signed.payload.hex(),
        "expected": _expected(network, spec),
        "contracts": contracts,
        "validUntilLedger": _END,
    }


def _run(name: str, spec: SessionSpec, run: Invocation) -> dict[str, Any]:
    signed = _unsigned(_TESTNET, spec.account, run)
    sheet = write_run_sheet(_TESTNET, spec.account, run, expires_at_ledger=_EXPIRY)
    return {
        "name": name,
        "entry": _text(signed.entry),
        "payload": signed.payload.hex(),
        "expected": _expected(_TESTNET, spec),
        "permissions": list(sheet),
    }


def _refused() -> Iterator[dict[str, Any]]:
    """Entries that the console must not have signed, each with one thing that is wrong."""
    for mode, changes in (
        (AuthorityMode.SESSION, _session_changes),
        (AuthorityMode.MANDATE, _mandate_changes),
    ):
        spec = replace(_SMALL, mode=mode)
        tree, _ = _tree(_TESTNET, spec)
        expected = _expected(_TESTNET, spec)
        for name, bad in changes(tree, spec):
            entry = _unsigned(_TESTNET, spec.account, bad).entry
            yield {"name": f"{mode}: {name}", "entry": _text(entry), "expected": expected}
    expected = _expected(_TESTNET, LEGS)
    for name, bad in refused_runs():
        entry = _unsigned(_TESTNET, WALLET, bad).entry
        yield {"name": f"presigned: {name}", "entry": _text(entry), "expected": expected}


def _common_changes(tree: Invocation) -> Iterator[tuple[str, Invocation]]:
    last, extra = tree.nested[-1], Invocation(USDC, "transfer", tree.arguments[:1])
    yield "one call less", replace(tree, nested=tree.nested[:-1])
    yield "one call twice", replace(tree, nested=(*tree.nested, last))
    yield "one call more", replace(tree, nested=(*tree.nested, extra))
    yield (
        "a call below a call",
        replace(tree, nested=(*tree.nested[:-1], replace(last, nested=(extra,)))),
    )
    yield "another function", replace(tree, function="close")
    yield "an argument more", replace(tree, arguments=(*tree.arguments, address_of(USDC)))
    for place, value in enumerate(last.arguments):
        values = list(last.arguments)
        values[place] = address_of(TARGET) if value != address_of(TARGET) else address_of(USDC)
        bad = replace(last, arguments=tuple(values))
        yield (
            f"another argument {place + 1} of the call below",
            replace(tree, nested=(*tree.nested[:-1], bad)),
        )


def _session_changes(tree: Invocation, spec: SessionSpec) -> Iterator[tuple[str, Invocation]]:
    yield from _common_changes(tree)
    policy = compute_policy_id(_TESTNET, write_spec(spec))
    other = replace(spec, max_uses=spec.max_uses + 1)
    yield "the spec of another plan", install_session(other, policy, CONTRACTS, valid_until=_END)
    other = replace(spec, account=TARGET)
    yield "the spec of another account", install_session(other, policy, CONTRACTS, valid_until=_END)
    other = replace(spec, mode=AuthorityMode.MANDATE)
    yield "the spec of another mode", install_session(other, policy, CONTRACTS, valid_until=_END)
    wide = install_session(spec, policy, CONTRACTS, valid_until=_END + 1)
    yield "rules that end later than the installer is told", replace(tree, nested=wide.nested)
    yield "the rules in another order", replace(tree, nested=tree.nested[::-1])
    other_name = type(policy)(bytes(32))
    yield (
        "the rules of another name",
        install_session(spec, other_name, CONTRACTS, valid_until=_END),
    )


def _mandate_changes(tree: Invocation, spec: SessionSpec) -> Iterator[tuple[str, Invocation]]:
    yield from _common_changes(tree)
    yield (
        "an approval for another contract",
        open_mandate(spec, CONTRACTS.factory, TARGET, live_until=_END),
    )
    owner, spender, _, end = tree.nested[0].arguments
    arguments = owner, spender, ScNumber(ScKind.I128, 2**100), end
    yield "a larger approval", replace(tree, nested=(replace(tree.nested[0], arguments=arguments),))


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


if __name__ == "__main__":
    sys.stdout.buffer.write(sheet_vectors())
