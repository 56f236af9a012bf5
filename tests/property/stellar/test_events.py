"""Events and values decode as in the SDK, damaged ones included."""

import base64
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Address as SdkAddress
from stellar_sdk import xdr

from farebox.stellar.events import ContractEvent, decode_contract_event, decode_diagnostic_event
from farebox.stellar.scval import read_value, skip_value
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.damaged_bytes import COPIES, damaged_copies
from support.examples import examples
from support.sdk_oracle import muxed_contracts_as_muxed_accounts
from support.sdk_value_oracle import assert_value_agrees
from support.sdk_values import contract, keys32, values

EVENTS = st.builds(
    lambda contract_id, kind, topics, data: xdr.ContractEvent(
        xdr.ExtensionPoint(0),
        None if contract_id is None else xdr.ContractID(xdr.Hash(contract_id)),
        kind,
        xdr.ContractEventBody(0, xdr.ContractEventV0(topics, data)),
    ),
    st.none() | keys32,
    st.sampled_from(xdr.ContractEventType),
    st.lists(values, max_size=4),
    values,
)
DIAGNOSTIC_EVENTS = st.builds(xdr.DiagnosticEvent, st.booleans(), EVENTS)


def _assert_event_agrees(ours: ContractEvent, theirs: xdr.ContractEvent) -> None:
    held = theirs.contract_id
    text = None
    if held is not None:
        text = SdkAddress.from_xdr_sc_address(contract(held.contract_id.hash)).address
    assert ours.contract == text
    assert ours.kind == theirs.type.value
    body = theirs.body.v0
    assert body is not None
    for topic, sdk_topic in zip(ours.topics, body.topics, strict=True):
        assert_value_agrees(topic, sdk_topic)
    assert_value_agrees(ours.data, body.data)


@settings(max_examples=examples(100), deadline=None)
@given(DIAGNOSTIC_EVENTS)
def test_event_decodes_as_in_the_sdk_alone_and_in_a_diagnostic_event(
    event: xdr.DiagnosticEvent,
) -> None:
    ours = decode_diagnostic_event(event.to_xdr())
    assert ours is not None
    assert ours.in_successful_call == event.in_successful_contract_call
    _assert_event_agrees(ours, event.event)
    alone = decode_contract_event(event.event.to_xdr())
    assert alone == replace(ours, in_successful_call=True)
    assert alone == decode_contract_event(event.event.to_xdr_bytes())


@settings(max_examples=examples(400 // COPIES), deadline=None)
@given(damaged_copies(DIAGNOSTIC_EVENTS.map(lambda event: event.to_xdr_bytes())))
def test_damaged_event_decodes_to_none_or_as_in_the_sdk(copies: list[bytes]) -> None:
    for raw in copies:
        _assert_none_or_agrees(raw)


def _assert_none_or_agrees(raw: bytes) -> None:
    ours = decode_diagnostic_event(base64.b64encode(raw).decode())
    if ours is None:
        return
    with muxed_contracts_as_muxed_accounts() as positions:
        theirs = xdr.DiagnosticEvent.from_xdr_bytes(raw)
    if not positions:
        assert theirs.to_xdr_bytes() == raw
        assert ours.in_successful_call == theirs.in_successful_contract_call
        _assert_event_agrees(ours, theirs.event)


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_decoding_never_raises(encoded: bytes | str) -> None:
    decode_contract_event(encoded)
    decode_diagnostic_event(encoded)


@settings(max_examples=examples(320 // COPIES), deadline=None)
@given(damaged_copies(values.map(lambda value: value.to_xdr_bytes())))
def test_skip_value_consumes_what_read_value_consumes(copies: list[bytes]) -> None:
    for raw in copies:
        read, skipped = XdrReader(raw), XdrReader(raw)
        assert _refuses(read_value, read) == _refuses(skip_value, skipped)
        assert read.at == skipped.at or _refuses(read_value, XdrReader(raw))


def _refuses(move: object, reader: XdrReader) -> bool:
    assert callable(move)
    try:
        move(reader)
    except Malformed:
        return True
    return False
