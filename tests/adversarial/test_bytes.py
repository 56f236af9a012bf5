"""Cases 1.2: the bytes of the transaction."""

import asyncio
import base64
import time
from typing import Any, Final

import msgspec
import pytest
from stellar_sdk import Keypair, scval, xdr

from farebox.x402.reasons import Reason
from support import payment_rules as rules
from support.envelopes import (
    call_operation,
    decorated,
    fee_bumped,
    sealed,
    spliced,
    text_memo,
    transaction,
    version_0,
)
from support.payments import Draft
from support.promises import case
from support.stage import Stage
from testing.contract_calls import (
    address,
    amount_value,
    invocation,
    invoke,
    nested_vector,
    wide_vector,
)
from testing.entries import unsigned_entry

PLACEHOLDER: Final = scval.to_symbol("placeholder")
CPU_LIMIT_S: Final = 0.5  # five times what the case allows: the machine is shared
STALL_LIMIT_S: Final = 1.0
BODY_LIMIT: Final = 256 * 1024


@case("PV-032")
@pytest.mark.parametrize("text", ["", "AAAA", "AA", "not base64!", "AAAA\n", "ＡＡＡＡ", "=" * 8])
def test_text_that_is_not_an_envelope_is_malformed(text: str) -> None:
    body = rules.draft().request()
    body["paymentPayload"]["payload"]["transaction"] = text
    rules.assert_refused(body, Reason.MALFORMED)


@case("PV-032")
@pytest.mark.parametrize("value", [None, 7, [], {}, True])
def test_transaction_that_is_not_text_is_malformed(value: object) -> None:
    body = rules.draft().request()
    body["paymentPayload"]["payload"]["transaction"] = value
    rules.assert_refused(body, Reason.MALFORMED)
    del body["paymentPayload"]["payload"]["transaction"]
    rules.assert_refused(body, Reason.MALFORMED)


@case("PV-032")
def test_truncated_envelope_is_malformed() -> None:
    draft = rules.draft()
    raw = draft.envelope().to_xdr_bytes()
    for size in (4, 44, len(raw) // 2, len(raw) - 4, len(raw) - 1):
        rules.assert_refused(draft.request(raw[:size]), Reason.MALFORMED)


@case("PV-034")
@pytest.mark.parametrize("more", [b"\0", bytes(4), b"\xff" * 64])
def test_trailing_bytes_are_malformed(more: bytes) -> None:
    draft = rules.draft()
    raw = draft.envelope().to_xdr_bytes()
    rules.assert_refused(draft.request(raw + more), Reason.MALFORMED)


@case("PV-036")
@pytest.mark.parametrize("depth", [200, 300, 10_000])
@pytest.mark.parametrize("place", ["argument", "signature", "authorized argument"])
def test_value_nested_too_deep_is_malformed(place: str, depth: int) -> None:
    draft = rules.draft()
    raw = _with_placeholder(draft, place).to_xdr_bytes()
    deep = spliced(raw, PLACEHOLDER.to_xdr_bytes(), nested_vector(depth))
    rules.assert_refused(draft.request(deep), Reason.MALFORMED)


def _with_placeholder(draft: Draft, place: str) -> xdr.TransactionEnvelope:
    if place == "argument":
        call = invoke(address(draft.asset), "transfer", PLACEHOLDER)
        return draft.envelope(draft.entry(), call=call)
    if place == "authorized argument":
        root = invocation(invoke(address(draft.asset), "transfer", PLACEHOLDER))
        return draft.envelope(draft.entry(root))
    entry = unsigned_entry(
        invocation(draft.call()),
        address(draft.asset),
        nonce=draft.nonce,
        expires_at_ledger=draft.expires_at_ledger,
        signature=PLACEHOLDER,
    )
    return draft.envelope(entry)


@case("PV-037")
def test_authorization_tree_of_depth_1000_is_refused_cheaply() -> None:
    draft = rules.draft()
    inner = invocation(_smallest_call(draft)).to_xdr_bytes()
    head = inner[:-4] + (1).to_bytes(4)  # the same node, with one branch below it
    raw = draft.envelope(draft.entry(invocation(draft.call(), _leaf()))).to_xdr_bytes()
    deep = spliced(raw, _leaf().to_xdr_bytes(), head * 1_000 + inner)
    _refused_cheaply(draft.request(deep))


@case("PV-037")
def test_widest_authorization_tree_of_a_body_is_refused_cheaply() -> None:
    draft = rules.draft()
    small = invocation(_smallest_call(draft))
    wide = draft.envelope(draft.entry(invocation(draft.call(), *[small] * 3_000)))
    _refused_cheaply(draft.request(wide))


@case("PV-037")
async def test_authorization_tree_of_width_10000_exceeds_body_limit(stage: Stage) -> None:
    draft = await stage.draft()
    small = invocation(_smallest_call(draft)).to_xdr_bytes()
    text = base64.b64encode(small * 10_000)
    assert len(text) > BODY_LIMIT
    await stage.assert_http_refusal(b'"' + text + b'"', 413, Reason.BODY_TOO_LARGE)


def _leaf() -> xdr.SorobanAuthorizedInvocation:
    return invocation(invoke(address(Keypair.from_raw_ed25519_seed(bytes(32)).public_key), "leaf"))


def _smallest_call(draft: Draft) -> xdr.InvokeContractArgs:
    return invoke(address(draft.asset), "")


def _refused_cheaply(body: Any) -> None:
    """Refused by rule, and judging it takes little of the processor."""
    raw = msgspec.json.encode(body)
    spent = []
    for _ in range(3):
        before = time.process_time()
        rules.assert_refused(raw)
        spent.append(time.process_time() - before)
    assert min(spent) < CPU_LIMIT_S


@case("PV-038")
@pytest.mark.parametrize("place", ["operations", "entries", "arguments", "vector", "signatures"])
def test_length_beyond_body_limit_is_malformed_without_allocation(place: str) -> None:
    draft = rules.draft()
    body = draft.request(_with_huge_length(draft, place))
    rules.assert_refused(body, Reason.MALFORMED, Reason.WRONG_OPERATION)
    _refused_cheaply(body)


def _with_huge_length(draft: Draft, place: str) -> bytes:
    one, many = (1).to_bytes(4), b"\xff" * 4
    operation = draft.operation().to_xdr_bytes()
    raw = draft.envelope().to_xdr_bytes()
    entry = draft.entry().to_xdr_bytes()
    match place:
        case "operations":
            return spliced(raw, one + operation, many + operation)
        case "entries":
            return spliced(raw, one + entry, many + entry)
        case "signatures":
            return raw[:-4] + many
        case "arguments":
            amount = amount_value(draft.amount).to_xdr_bytes()
            name = b"transfer"
            at = raw.index(name) + len(name)
            assert amount in raw
            return raw[:at] + many + raw[at + 4 :]
        case _:
            held = invoke(address(draft.asset), "transfer", wide_vector(1))
            whole = draft.envelope(draft.entry(), call=held).to_xdr_bytes()
            vector = wide_vector(1).to_xdr_bytes()
            return spliced(whole, vector, vector[:8] + many + vector[12:])


@case("PV-039")
async def test_concurrent_bodies_of_tiny_elements_delay_no_other_request(stage: Stage) -> None:
    draft = await stage.draft()
    full = invoke(address(draft.asset), "transfer", wide_vector(45_000))
    body = draft.request(draft.envelope(draft.entry(), call=full))
    await stage.assert_refused(body, by_rule=True)
    crowd = asyncio.gather(*(stage.verify(body) for _ in range(50)))
    longest = 0.0
    while not crowd.done():
        before, spent = time.monotonic(), time.process_time()
        assert (await stage.client.get("/health/live")).status == 200
        await asyncio.sleep(0)
        # a stall of our own takes the processor all the while; the machine's own stalls do not
        stall = min(time.monotonic() - before, time.process_time() - spent)
        longest = max(longest, stall)
    assert all(verdict["isValid"] is False for verdict in await crowd)
    assert longest < STALL_LIMIT_S


@case("PV-040")
def test_version_0_envelope_is_malformed() -> None:
    draft = rules.draft()
    old = version_0(transaction([draft.operation()]))
    rules.assert_refused(draft.request(old), Reason.MALFORMED)


@case("PV-041")
def test_fee_bump_envelope_is_malformed() -> None:
    draft = rules.draft()
    bumped = fee_bumped(draft.envelope(), draft.payer)
    rules.assert_refused(draft.request(bumped), Reason.MALFORMED)


@case("PV-042")
@pytest.mark.parametrize("arm", ["credentials", "operation", "host function", "address", "value"])
def test_unknown_union_arm_is_malformed(arm: str) -> None:
    draft = rules.draft()
    raw = _with_unknown_arm(draft, arm)
    rules.assert_refused(draft.request(raw), Reason.MALFORMED)


def _with_unknown_arm(draft: Draft, arm: str) -> bytes:
    raw = draft.envelope().to_xdr_bytes()
    asset = address(draft.asset).to_xdr_bytes()
    entry, call = draft.entry().to_xdr_bytes(), draft.call().to_xdr_bytes()
    amount = amount_value(draft.amount).to_xdr_bytes()
    match arm:
        case "credentials":
            return _renumbered(raw, entry[:40], 7)
        case "operation":  # its type and the kind of its host function stand before the call
            at = raw.index(call) - 8
            return raw[:at] + (99).to_bytes(4) + raw[at + 4 :]
        case "host function":
            at = raw.index(call) - 4
            return raw[:at] + (99).to_bytes(4) + raw[at + 4 :]
        case "address":
            return raw.replace(asset, (9).to_bytes(4) + asset[4:])
        case _:
            return raw.replace(amount, (99).to_bytes(4) + amount[4:])


def _renumbered(raw: bytes, start: bytes, arm: int) -> bytes:
    return spliced(raw, start, arm.to_bytes(4) + start[4:])


@case("PV-043")
def test_function_name_that_is_not_utf_8_is_a_wrong_function() -> None:
    draft = rules.draft()
    call = invoke(address(draft.asset), b"trans\xff\xfe", *draft.call().args)
    envelope = draft.envelope(draft.entry(invocation(call)), call=call)
    rules.assert_refused(draft.request(envelope), Reason.WRONG_FUNCTION_NAME, Reason.MALFORMED)


@case("PV-043")
@pytest.mark.parametrize("kind", ["string", "symbol"])
def test_argument_that_is_not_utf_8_is_refused(kind: str) -> None:
    draft = rules.draft()
    value = scval.to_string(b"\xff\xfe") if kind == "string" else scval.to_symbol("aa")
    call = invoke(address(draft.asset), "transfer", *draft.call().args[:2], value)
    raw = draft.envelope(draft.entry(), call=call).to_xdr_bytes()
    if kind == "symbol":
        raw = spliced(raw, value.to_xdr_bytes(), value.to_xdr_bytes().replace(b"aa", b"\xff\xfe"))
    rules.assert_refused(draft.request(raw), Reason.WRONG_FUNCTION_NAME, Reason.MALFORMED)


@case("PV-043")
def test_memo_that_is_not_utf_8_is_malformed() -> None:
    draft = rules.draft()
    raw = draft.around([draft.operation()], memo=text_memo(b"\xff\xfe"))
    rules.assert_refused(draft.request(raw), Reason.MALFORMED)


@case("PV-044")
@pytest.mark.parametrize("count", [1, 20])
async def test_envelope_signatures_of_client_are_not_submitted(stage: Stage, count: int) -> None:
    draft = await stage.draft()
    tx = transaction([draft.operation()])
    strangers = [decorated(Keypair.random(), bytes(32)) for _ in range(count)]
    await stage.assert_settles(draft.request(sealed(tx, strangers)))
    (sent,) = [c for c in stage.node().calls if c.method == "sendTransaction"]
    envelope = xdr.TransactionEnvelope.from_xdr(sent.params["transaction"])
    inner = envelope.v1 or (envelope.fee_bump and envelope.fee_bump.tx.inner_tx.v1)
    assert inner
    assert len(inner.signatures) == 1
    assert inner.signatures[0] not in strangers


@case("PV-044")
def test_envelope_with_too_many_signatures_is_malformed() -> None:
    draft = rules.draft()
    stranger = decorated(Keypair.random(), bytes(32)).to_xdr_bytes()
    raw = draft.envelope().to_xdr_bytes()[:-4] + (21).to_bytes(4) + stranger * 21
    rules.assert_refused(draft.request(raw), Reason.MALFORMED)


def test_operation_with_too_few_argument_bytes_is_malformed() -> None:
    draft = rules.draft()
    bare = call_operation(draft.call(), ()).to_xdr_bytes()
    raw = draft.without_entries().to_xdr_bytes()
    rules.assert_refused(draft.request(spliced(raw, bare, bare[:-8])), Reason.MALFORMED)
