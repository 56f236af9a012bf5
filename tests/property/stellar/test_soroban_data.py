"""Soroban resource data decodes as in the SDK, damaged data included."""

from hypothesis import given, settings
from stellar_sdk import xdr

from farebox.stellar.soroban_data import Resources, read_resources
from farebox.stellar.xdr_reader import Malformed, XdrReader
from support.damaged_bytes import COPIES, damaged_copies
from support.examples import examples
from support.sdk_ledger_keys import resource_datas
from support.sdk_oracle import muxed_contracts_as_muxed_accounts


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


@settings(max_examples=examples(100), deadline=None)
@given(resource_datas)
def test_resource_data_decodes_as_in_the_sdk(data: xdr.SorobanTransactionData) -> None:
    assert _read_resources(data.to_xdr_bytes()) == _of_sdk(data)


@settings(max_examples=examples(320 // COPIES), deadline=None)
@given(damaged_copies(resource_datas.map(lambda data: data.to_xdr_bytes())))
def test_damaged_resource_data_is_refused_or_decodes_as_in_the_sdk(copies: list[bytes]) -> None:
    for raw in copies:
        _assert_refused_or_agrees(raw)


def _assert_refused_or_agrees(raw: bytes) -> None:
    ours = _read_resources(raw)
    if ours is None:
        return
    with muxed_contracts_as_muxed_accounts() as positions:
        theirs = xdr.SorobanTransactionData.from_xdr_bytes(raw)
    assert positions or theirs.to_xdr_bytes() == raw
    assert ours == _of_sdk(theirs)
