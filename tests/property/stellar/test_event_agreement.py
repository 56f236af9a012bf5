"""Events, values and resource data are read as the SDK reads them, damaged ones included."""

import base64

from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Address as SdkAddress
from stellar_sdk import xdr

from farebox.stellar.events import (
    ContractEvent,
    decode_contract_event,
    decode_diagnostic_event,
)
from farebox.stellar.scval import read_value, skip_value
from farebox.stellar.soroban_data import Resources, read_resources
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.damage import damaged
from support.sdk_ledger_keys import resource_datas
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


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_a_contract_event_is_read_as_the_sdk_reads_it(event: xdr.ContractEvent) -> None:
    ours = decode_contract_event(event.to_xdr())
    assert ours is not None
    assert ours.in_successful_call
    assert ours == decode_contract_event(event.to_xdr_bytes())
    _assert_event_agrees(ours, event)


@settings(max_examples=100, deadline=None)
@given(DIAGNOSTIC_EVENTS)
def test_a_diagnostic_event_is_read_as_the_sdk_reads_it(event: xdr.DiagnosticEvent) -> None:
    ours = decode_diagnostic_event(event.to_xdr())
    assert ours is not None
    assert ours.in_successful_call == event.in_successful_contract_call
    _assert_event_agrees(ours, event.event)


@settings(max_examples=400, deadline=None)
@given(damaged(DIAGNOSTIC_EVENTS.map(lambda event: event.to_xdr_bytes())))
def test_a_damaged_event_is_none_or_read_as_the_sdk_reads_it(raw: bytes) -> None:
    ours = decode_diagnostic_event(base64.b64encode(raw).decode())
    if ours is None:
        return
    with muxed_contracts_as_muxed_accounts() as positions:
        theirs = xdr.DiagnosticEvent.from_xdr_bytes(raw)
    if not positions:
        assert theirs.to_xdr_bytes() == raw
        assert ours.in_successful_call == theirs.in_successful_contract_call
        _assert_event_agrees(ours, theirs.event)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_no_bytes_and_no_text_make_decoding_raise(encoded: bytes | str) -> None:
    decode_contract_event(encoded)
    decode_diagnostic_event(encoded)


@settings(max_examples=300, deadline=None)
@given(damaged(values.map(lambda value: value.to_xdr_bytes())))
def test_a_value_is_skipped_exactly_when_and_as_far_as_it_is_read(raw: bytes) -> None:
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


def _read_resources(raw: bytes) -> Resources | None:
    reader = XdrReader(raw)
    try:
        resources = read_resources(reader)
        reader.finish()
    except Malformed:
        return None
    return resources


def _of_sdk(data: xdr.SorobanTransactionData) -> Resources:
    extension, held = data.ext.resource_ext, data.resources
    return Resources(
        read_only_keys=len(held.footprint.read_only),
        read_write_keys=len(held.footprint.read_write),
        archived_entries=len(extension.archived_soroban_entries) if extension else 0,
        instructions=held.instructions.uint32,
        disk_read_bytes=held.disk_read_bytes.uint32,
        write_bytes=held.write_bytes.uint32,
        resource_fee=data.resource_fee.int64,
    )


@settings(max_examples=100, deadline=None)
@given(resource_datas)
def test_resource_data_is_read_as_the_sdk_reads_it(data: xdr.SorobanTransactionData) -> None:
    assert _read_resources(data.to_xdr_bytes()) == _of_sdk(data)


@settings(max_examples=300, deadline=None)
@given(damaged(resource_datas.map(lambda data: data.to_xdr_bytes())))
def test_damaged_resource_data_is_refused_or_read_as_the_sdk_reads_it(raw: bytes) -> None:
    ours = _read_resources(raw)
    if ours is None:
        return
    with muxed_contracts_as_muxed_accounts() as positions:
        theirs = xdr.SorobanTransactionData.from_xdr_bytes(raw)
    assert positions or theirs.to_xdr_bytes() == raw
    assert ours == _of_sdk(theirs)
