"""The public SDK as a second opinion on the envelope reader: every field, or AssertionError."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from stellar_sdk import Address as SdkAddress
from stellar_sdk import MuxedAccount, xdr
from xdrlib3 import Unpacker

from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    AuthEntry,
    CredentialKind,
    KeySignatures,
    OpaqueSignature,
    Signature,
    Unsigned,
    authorization_digest,
)
from farebox.stellar.transfer_envelope import (
    MuxedParty,
    NotATransfer,
    TransferEnvelope,
    Unreadable,
    read_transfer_envelope,
)
from support.sdk_envelopes import sdk_digest
from support.sdk_value_oracle import assert_address_agrees

_AddressType = xdr.SCAddressType
_ValueType = xdr.SCValType
_PLAIN = (_AddressType.SC_ADDRESS_TYPE_ACCOUNT, _AddressType.SC_ADDRESS_TYPE_CONTRACT)


def sdk_reads(raw: bytes) -> xdr.TransactionEnvelope | None:
    """Decode an envelope by the SDK; None when it refuses."""
    try:
        return xdr.TransactionEnvelope.from_xdr_bytes(raw)
    except Exception:  # noqa: BLE001  # the SDK's refusals share no type
        return None


def assert_sdk_agrees(read: TransferEnvelope | NotATransfer | Unreadable, raw: bytes) -> None:
    """Hold our reading against the SDK's; a refusal of ours agrees with everything."""
    if isinstance(read, Unreadable):
        return
    with muxed_contracts_as_muxed_accounts() as positions:
        sdk = sdk_reads(raw)
    assert sdk is not None, "we accept what the SDK refuses"
    if positions:  # of the same layout, so the rest can be compared after the exchange
        exchanged = bytearray(raw)
        for position in positions:
            exchanged[position + 3] = 2
        other = read_transfer_envelope(bytes(exchanged))
        assert type(other) is type(read)
        assert_sdk_agrees(other, bytes(exchanged))
        return
    assert sdk.to_xdr_bytes() == raw, "we accept a second encoding of the same envelope"
    assert sdk.type == xdr.EnvelopeType.ENVELOPE_TYPE_TX
    assert sdk.v1 is not None
    _assert_transaction(read, sdk.v1)


@contextmanager
def muxed_contracts_as_muxed_accounts() -> Iterator[list[int]]:
    """Let the SDK read address arm 5, which it does not know, and note where it stood."""
    positions: list[int] = []

    def unpack(unpacker: Unpacker) -> xdr.SCAddressType:
        position = unpacker.get_position()
        arm = unpacker.unpack_int()
        if arm == 5:  # SC_ADDRESS_TYPE_MUXED_CONTRACT, protocol 30
            positions.append(position)
            arm = 2
        return _AddressType(arm)

    with patch.object(_AddressType, "unpack", unpack):
        yield positions


def _assert_transaction(
    read: TransferEnvelope | NotATransfer, sdk: xdr.TransactionV1Envelope
) -> None:
    tx = sdk.tx
    assert read.tx_source == MuxedAccount.from_xdr_object(tx.source_account).account_id
    assert len(tx.operations) == 1
    operation = tx.operations[0]
    source = operation.source_account
    assert read.operation_source == (
        None if source is None else MuxedAccount.from_xdr_object(source).account_id
    )
    invoke = operation.body.invoke_host_function_op
    assert invoke is not None
    call = invoke.host_function.invoke_contract
    assert call is not None
    assert read.contract == SdkAddress.from_xdr_sc_address(call.contract_address).address
    assert isinstance(read, TransferEnvelope) == _is_transfer(call)
    if isinstance(read, NotATransfer):
        assert read.function == call.function_name.sc_symbol
        return
    _assert_call(read, call)
    assert len(read.entries) == len(invoke.auth)
    for entry, sdk_entry in zip(read.entries, invoke.auth, strict=True):
        _assert_entry(entry, sdk_entry)
    assert read.has_resource_data == (tx.ext.soroban_data is not None)
    assert read.signature_count == len(sdk.signatures)


def _is_transfer(call: xdr.InvokeContractArgs) -> bool:
    if call.function_name.sc_symbol != b"transfer" or len(call.args) != 3:
        return False
    payer, pay_to, amount = call.args
    recipients = (*_PLAIN, _AddressType.SC_ADDRESS_TYPE_MUXED_ACCOUNT)
    return (
        payer.address is not None
        and payer.address.type in _PLAIN
        and pay_to.address is not None
        and pay_to.address.type in recipients
        and amount.i128 is not None
    )


def _assert_call(read: TransferEnvelope, call: xdr.InvokeContractArgs) -> None:
    payer, pay_to, amount = call.args
    assert read.call == call.to_xdr_bytes()
    assert payer.address is not None
    assert read.payer == SdkAddress.from_xdr_sc_address(payer.address).address
    assert pay_to.address is not None
    if isinstance(read.pay_to, MuxedParty):
        assert_address_agrees(read.pay_to.address, pay_to.address)
    else:
        assert read.pay_to == SdkAddress.from_xdr_sc_address(pay_to.address).address
    assert amount.i128 is not None
    assert read.amount == amount.i128.hi.int64 * 2**64 + amount.i128.lo.uint64


def _assert_entry(entry: AuthEntry, sdk: xdr.SorobanAuthorizationEntry) -> None:
    assert entry.raw == sdk.to_xdr_bytes()
    kinds = list(CredentialKind)
    assert entry.kind == kinds[sdk.credentials.type.value]
    function = sdk.root_invocation.function
    held = (
        function.contract_fn
        or function.create_contract_host_fn
        or function.create_contract_v2_host_fn
    )
    assert held is not None
    assert entry.root_call == held.to_xdr_bytes()
    assert entry.is_contract_call == (function.contract_fn is not None)
    assert entry.has_subinvocations == bool(sdk.root_invocation.sub_invocations)
    owned = _owned(sdk.credentials)
    if owned is None:
        assert (entry.address, entry.signature) == (None, Unsigned())
        return
    is_plain = owned.address.type in _PLAIN
    text = SdkAddress.from_xdr_sc_address(owned.address).address if is_plain else None
    assert entry.address == text
    assert entry.nonce == owned.nonce.int64
    assert entry.expires_at_ledger == owned.signature_expiration_ledger.uint32
    assert entry.signature == _signature(owned)
    for network in Network:
        assert authorization_digest(entry, network.id) == sdk_digest(sdk, network)


def _owned(credentials: xdr.SorobanCredentials) -> xdr.SorobanAddressCredentials | None:
    shared = credentials.address_with_delegates
    return (
        credentials.address
        or credentials.address_v2
        or (shared.address_credentials if shared else None)
    )


def _signature(owned: xdr.SorobanAddressCredentials) -> Signature:
    if owned.signature.type == _ValueType.SCV_VOID:
        return Unsigned()
    if owned.address.type != _AddressType.SC_ADDRESS_TYPE_ACCOUNT or owned.signature.vec is None:
        return OpaqueSignature()
    pairs = [_pair(item) for item in owned.signature.vec.sc_vec]
    known = [pair for pair in pairs if pair is not None]
    return KeySignatures(tuple(known)) if len(known) == len(pairs) else OpaqueSignature()


def _pair(item: xdr.SCVal) -> tuple[bytes, bytes] | None:
    held = [] if item.map is None else item.map.sc_map
    names = [entry.key.sym.sc_symbol if entry.key.sym else None for entry in held]
    blobs = [entry.val.bytes.sc_bytes if entry.val.bytes else b"" for entry in held]
    if names != [b"public_key", b"signature"] or [len(b) for b in blobs] != [32, 64]:
        return None
    return blobs[0], blobs[1]
