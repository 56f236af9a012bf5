"""Session specs: the rules of the contracts, the XDR both ways, the ids that they have."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farebox.automation.plans.policy_id import (
    MandateCall,
    PolicyId,
    calls_value,
    close_digest,
    compute_policy_id,
    intent_hash,
    mandate_address,
    rule_name,
    run_digest,
    short_policy_id,
)
from farebox.automation.plans.session_spec import (
    AnyValue,
    AuthorityMode,
    EqualTo,
    InRange,
    IsActor,
    MinRate,
    OracleFloor,
    RowColumn,
    SessionCall,
    SessionSpec,
    TimeWithin,
    TokenCap,
    check_spec,
)
from farebox.automation.plans.session_spec_xdr import read_spec, write_spec
from farebox.automation.refusal import AutomationRefused
from farebox.automation.schedules.schedule import CronSchedule
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.stellar.contract_operations import contract_of
from farebox.stellar.scval import ScMap, ScNumber, ScVec, read_value
from farebox.stellar.scval_writer import address_of, write_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.damaged_bytes import damaged
from support.examples import examples
from support.plans import (
    DCA,
    DELEGATE,
    ORACLE,
    PAIR,
    ROUTER,
    USDC,
    WALLET,
    XLM,
    changed,
    session_specs,
)
from support.promises import promise
from support.table_rows import in_row

VECTORS: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[4] / "contracts" / "policy_id_vectors.json").read_text()
)
PAID: Final = SessionCall(
    USDC, "transfer", (IsActor(), EqualTo(address_of(PAIR)), InRange(0, 5)), amount=2, under=0
)
SWAP: Final = SessionCall(ROUTER, "swap", (InRange(1, 5), MinRate(0, 2, 1), TimeWithin(600)))
SPEC: Final = SessionSpec(
    account=WALLET,
    mode=AuthorityMode.SESSION,
    delegate=DELEGATE,
    calls=(SWAP, PAID),
    caps=(TokenCap(USDC, BaseUnits(5), BaseUnits(50)),),
    interval_s=60,
    max_uses=10,
    not_before=100,
    not_after=200,
)
FLOOR: Final = OracleFloor(0, ORACLE, USDC, XLM, 100, 60)


def with_rules(call: SessionCall, **places: Any) -> SessionCall:
    """A call with another rule in some places: `a0` is the first."""
    rules = list(call.rules)
    for place, rule in places.items():
        rules[int(place[1:])] = rule
    return replace(call, rules=tuple(rules))


def with_calls(*calls: SessionCall) -> SessionSpec:
    """The spec with other calls."""
    return replace(SPEC, calls=calls)


ROWS: Final = replace(
    PAID,
    rules=(IsActor(), RowColumn(0), RowColumn(1)),
    rows=((address_of(PAIR), address_of(USDC)), (address_of(XLM), address_of(USDC))),
    under=None,
)


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        with_calls(ROWS),
        with_calls(with_rules(SWAP, a1=FLOOR), PAID),
        with_calls(SWAP, *[PAID] * 7),
        replace(SPEC, caps=(TokenCap(USDC, BaseUnits(0), BaseUnits(0)),)),
        replace(SPEC, calls=(SWAP,), caps=()),
    ],
)
def test_spec_that_the_contracts_take_is_taken(spec: SessionSpec) -> None:
    check_spec(spec)


BEYOND_LIMITS: Final = [
    with_calls(),
    with_calls(SWAP, *[PAID] * 8),
    replace(SPEC, caps=SPEC.caps * 9),
    replace(SPEC, interval_s=0),
    replace(SPEC, max_uses=0),
    replace(SPEC, not_after=100),
    replace(SPEC, delegate=bytes(31)),
]
UNFIT: Final = [
    replace(SPEC, caps=SPEC.caps * 2),
    replace(SPEC, caps=()),
    replace(SPEC, caps=(TokenCap(USDC, BaseUnits(6), BaseUnits(5)),)),
    replace(SPEC, caps=(TokenCap(USDC, BaseUnits(-1), BaseUnits(5)),)),
    with_calls(PAID),
    with_calls(SWAP, PAID, replace(PAID, under=1)),
    with_calls(SWAP, replace(PAID, under=2)),
    with_calls(SWAP, replace(PAID, amount=None)),
    with_calls(SWAP, replace(PAID, amount=1)),
    with_calls(SWAP, replace(PAID, contract=XLM)),
    with_calls(SWAP, replace(PAID, function="burn")),
    with_calls(SWAP, replace(PAID, function="mint", amount=3)),
    with_calls(SWAP, with_rules(PAID, a1=AnyValue())),
    with_calls(replace(SWAP, contract=WALLET), PAID),
    with_calls(replace(SWAP, rules=(AnyValue(),) * 13), PAID),
    with_calls(with_rules(SWAP, a0=InRange(2, 1)), PAID),
    with_calls(with_rules(SWAP, a2=TimeWithin(0)), PAID),
    with_calls(with_rules(SWAP, a2=TimeWithin(86_401)), PAID),
    with_calls(with_rules(SWAP, a1=MinRate(1, 2, 1)), PAID),
    with_calls(with_rules(SWAP, a1=MinRate(3, 2, 1)), PAID),
    with_calls(with_rules(SWAP, a1=MinRate(0, 0, 1)), PAID),
    with_calls(with_rules(SWAP, a1=MinRate(0, 1, 0)), PAID),
    with_calls(with_rules(SWAP, a0=AnyValue()), PAID),
    with_calls(with_rules(SWAP, a1=replace(FLOOR, bps=10_000)), PAID),
    with_calls(with_rules(SWAP, a1=replace(FLOOR, buy=USDC)), PAID),
    with_calls(with_rules(SWAP, a1=replace(FLOOR, scale_denominator=0)), PAID),
    with_calls(replace(ROWS, rows=())),
    with_calls(replace(ROWS, rows=ROWS.rows[:1] * 2)),
    with_calls(replace(ROWS, rows=(ROWS.rows[0][:1],))),
    with_calls(with_rules(ROWS, a2=RowColumn(0))),
    with_calls(with_rules(ROWS, a2=RowColumn(2))),
    with_calls(SWAP, replace(PAID, rows=ROWS.rows)),
]


@pytest.mark.parametrize(
    ("specs", "code"), [(BEYOND_LIMITS, ErrorCode.LIMIT_EXCEEDED), (UNFIT, ErrorCode.SPEC_MISMATCH)]
)
def test_spec_that_the_contracts_refuse_is_refused(
    specs: list[SessionSpec], code: ErrorCode
) -> None:
    for spec in specs:
        with in_row(spec):
            with pytest.raises(AutomationRefused) as refused:
                check_spec(spec)
            assert refused.value.code is code


@given(session_specs)
def test_written_spec_is_read_back(spec: SessionSpec) -> None:
    assert read_spec(write_spec(spec)) == spec


@given(damaged(session_specs.map(write_spec)))
def test_damaged_spec_is_refused_or_has_these_very_bytes(raw: bytes) -> None:
    try:
        spec = read_spec(raw)
    except Malformed:
        return
    assert write_spec(spec) == raw


def test_spec_with_another_member_order_is_refused() -> None:
    value = read_value(XdrReader(write_spec(SPEC)))
    assert isinstance(value, ScMap)
    assert value.entries is not None
    swapped = (value.entries[1], value.entries[0], *value.entries[2:])
    for entries in (swapped, value.entries[:-1], (*value.entries, value.entries[-1])):
        with pytest.raises(Malformed):
            read_spec(write_value(ScMap(entries)))


def _network(vector: dict[str, Any]) -> Network:
    return next(each for each in Network if each.passphrase == vector["network_passphrase"])


def _calls(raw: bytes) -> list[MandateCall]:
    found = read_value(XdrReader(raw))
    assert isinstance(found, ScVec)
    calls = []
    for item in found.items or ():
        assert isinstance(item, ScMap)
        (_, arguments), (_, index) = item.entries or ()
        assert isinstance(arguments, ScVec)
        assert isinstance(index, ScNumber)
        calls.append(MandateCall(index.value, arguments.items or ()))
    return calls


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_ids_and_digests_are_those_of_the_contracts(vector: dict[str, Any]) -> None:
    network, raw = _network(vector), base64.b64decode(vector["spec_xdr"])
    spec = read_spec(raw)
    check_spec(spec)
    assert write_spec(spec) == raw
    policy_id = compute_policy_id(network, raw)
    assert policy_id.hex() == vector["policy_id"]
    assert short_policy_id(policy_id) == vector["short"]
    assert rule_name(policy_id) == vector["rule_name"]
    assert len(rule_name(policy_id)) <= 20
    contract = Address(vector["contract"])
    calls_xdr = base64.b64decode(vector["calls_xdr"])
    calls = _calls(calls_xdr)
    assert write_value(calls_value(calls)) == calls_xdr
    digest = run_digest(
        network,
        contract,
        policy_id,
        run_index=vector["run_index"],
        valid_until=vector["valid_until"],
        calls=calls,
    )
    assert digest.hex() == vector["run_digest"]
    assert close_digest(network, contract, policy_id).hex() == vector["close_digest"]


def test_there_are_vectors_of_both_networks_and_modes() -> None:
    assert len(VECTORS) >= 10
    assert len({_network(vector) for vector in VECTORS}) == 2
    modes = {read_spec(base64.b64decode(vector["spec_xdr"])).mode for vector in VECTORS}
    assert {AuthorityMode.SESSION, AuthorityMode.MANDATE} <= modes


@promise("automation:policy-id")
@settings(max_examples=examples(25))  # a digest of bytes that `test_written_spec_is_read_back` has
@given(spec=session_specs, other=session_specs, network=st.sampled_from(Network))
def test_policy_id_differs_with_every_member_and_network(
    spec: SessionSpec, other: SessionSpec, network: Network
) -> None:
    own = compute_policy_id(network, write_spec(spec))
    assert (compute_policy_id(network, write_spec(other)) == own) == (spec == other)
    for foreign in Network:
        assert (compute_policy_id(foreign, write_spec(spec)) == own) == (foreign is network)


def test_mandate_has_the_address_of_its_policy_at_the_factory() -> None:
    policy_id = PolicyId(bytes(range(32)))
    found = mandate_address(Network.TESTNET, ROUTER, policy_id)
    assert found == contract_of(Network.TESTNET, ROUTER, policy_id)
    assert found != mandate_address(Network.PUBNET, ROUTER, policy_id)


def test_intent_is_the_same_for_equal_plans_and_no_others() -> None:
    weekly = CronSchedule("0 8 * * 1", "UTC")

    def intent(**changes: Any) -> bytes:
        members: dict[str, Any] = {
            "network": Network.TESTNET,
            "account": WALLET,
            "kind": "dca",
            "mode": "session",
            "schedule": weekly,
            "spec": DCA,
        }
        return intent_hash(**(members | changes))

    assert intent() == intent(spec=dict(reversed(DCA.items())))
    others = [
        intent(spec=changed(DCA, amountIn="1")),
        intent(schedule=CronSchedule("0 9 * * 1", "UTC")),
        intent(mode="mandate"),
        intent(kind="rebalance"),
        intent(account=USDC),
        intent(network=Network.PUBNET),
    ]
    assert len({intent(), *others}) == 7
