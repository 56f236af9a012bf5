"""Reading a transfer envelope, and the reason for each one that is refused."""

import pytest
from stellar_sdk import xdr

from farebox.kernel.addresses import account_address, contract_address
from farebox.stellar.auth_entries import KeySignatures, Unsigned
from farebox.stellar.scval import AddressKind, ScAddress
from farebox.stellar.transfer_envelope import (
    MuxedParty,
    NotATransfer,
    TransferEnvelope,
    Unreadable,
    read_transfer_envelope,
)
from farebox.x402.reasons import Reason
from support.raw_envelopes import NONE, ONE, SOURCE, raw_envelope, u32
from support.sdk_envelopes import ASSET, PAYEE, PAYER, payment, transfer_call
from support.sdk_values import (
    account,
    address_value,
    claimable_balance,
    contract,
    i128,
    muxed,
    pool,
    string,
    u64,
)

MALFORMED = Unreadable(Reason.MALFORMED)
WRONG_OPERATION = Unreadable(Reason.WRONG_OPERATION)
ASSET_TEXT = contract_address(b"\x0a" * 32)
PAYER_ADDRESS = account(PAYER.raw_public_key())
PAYEE_ADDRESS = account(PAYEE.raw_public_key())


def _call(*args: xdr.SCVal, function: bytes = b"transfer") -> bytes:
    return xdr.InvokeContractArgs(ASSET, xdr.SCSymbol(function), list(args)).to_xdr_bytes()


TRANSFER_ARGUMENTS = (address_value(PAYER_ADDRESS), address_value(PAYEE_ADDRESS), i128(1))
TO_MUXED_CONTRACT = (  # address arm 5, which the SDK cannot write
    ASSET.to_xdr_bytes()
    + u32(8)
    + b"transfer"
    + u32(3)
    + address_value(PAYER_ADDRESS).to_xdr_bytes()
    + (u32(18) + u32(5) + (9).to_bytes(8, "big") + b"\x0d" * 32)
    + i128(1).to_xdr_bytes()
)


def test_plain_payment_is_read_whole() -> None:
    read = read_transfer_envelope(payment(10_000))
    assert isinstance(read, TransferEnvelope)
    assert read.tx_source == PAYER.public_key
    assert read.operation_source is None
    assert read.contract == ASSET_TEXT
    assert read.payer == PAYER.public_key
    assert read.pay_to == PAYEE.public_key
    assert read.amount == 10_000
    (entry,) = read.entries
    assert (entry.address, entry.nonce, entry.expires_at_ledger) == (PAYER.public_key, -7, 1_000)
    assert entry.is_contract_call
    assert not entry.has_subinvocations
    assert entry.root_call == read.call
    assert (read.has_resource_data, read.signature_count) == (False, 0)


def test_repr_of_an_envelope_hides_signature_and_authorization() -> None:
    read = read_transfer_envelope(payment())
    assert isinstance(read, TransferEnvelope)
    (entry,) = read.entries
    assert isinstance(entry.signature, KeySignatures)
    ((_, signature),) = entry.signature.pairs
    for hidden in (signature, entry.raw, entry.invocation, entry.root_call, read.call):
        assert repr(hidden)[2:40] not in repr(read)
    assert entry.raw in payment()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0",
        bytes(3),
        bytes(200),
        raw_envelope(envelope_type=u32(0)),  # version 0
        raw_envelope(envelope_type=u32(5)),  # fee bump
        raw_envelope(envelope_type=u32(3)),
        raw_envelope(source=u32(1) + bytes(32)),
        raw_envelope(preconditions=u32(3)),
        raw_envelope(memo=u32(5)),
        raw_envelope(memo=ONE + u32(2) + b"\xff\xfe\0\0"),  # a text that is not UTF-8
        raw_envelope(operation_count=u32(101)),
        raw_envelope(operation_type=u32(27)),
        raw_envelope(operation_type=u32(99)),
        raw_envelope(function_type=u32(4)),
        raw_envelope(call=u32(9) + bytes(64)),
        raw_envelope(resources=u32(2)),
        raw_envelope(rest=bytes(8)),
        raw_envelope(entries=u32(17)),
    ],
)
def test_other_than_a_version_1_envelope_of_known_arms_is_malformed(raw: bytes) -> None:
    assert read_transfer_envelope(raw) == MALFORMED


@pytest.mark.parametrize(
    "raw",
    [
        raw_envelope(operation_count=NONE),
        raw_envelope(operation_count=u32(2)),
        raw_envelope(operation_count=u32(100)),
        *(raw_envelope(operation_type=u32(arm)) for arm in range(27) if arm != 24),
        *(raw_envelope(function_type=u32(arm)) for arm in (1, 2, 3)),
    ],
)
def test_envelope_without_exactly_one_contract_call_is_the_wrong_operation(raw: bytes) -> None:
    assert read_transfer_envelope(raw) == WRONG_OPERATION


@pytest.mark.parametrize(
    ("call", "function"),
    [
        *(
            (_call(*TRANSFER_ARGUMENTS, function=name), name)
            for name in (b"mint", b"approve", b"burn", b"transfer_from", b"Transfer", b"transfer ")
        ),
        (_call(*TRANSFER_ARGUMENTS, function=b"\xff\xfe"), b"\xff\xfe"),
        (_call(*TRANSFER_ARGUMENTS[:2]), b"transfer"),
        (_call(*TRANSFER_ARGUMENTS, i128(1)), b"transfer"),
        (_call(), b"transfer"),
        (_call(i128(1), *TRANSFER_ARGUMENTS[1:]), b"transfer"),
        (_call(TRANSFER_ARGUMENTS[0], string(b"\xff"), i128(1)), b"transfer"),
        (_call(*TRANSFER_ARGUMENTS[:2], u64(1)), b"transfer"),
        (_call(*TRANSFER_ARGUMENTS[:2], string(b"1")), b"transfer"),
        (_call(address_value(muxed(1, bytes(32))), *TRANSFER_ARGUMENTS[1:]), b"transfer"),
        (_call(TRANSFER_ARGUMENTS[0], address_value(pool(bytes(32))), i128(1)), b"transfer"),
        (
            _call(TRANSFER_ARGUMENTS[0], address_value(claimable_balance(bytes(32))), i128(1)),
            b"transfer",
        ),
    ],
)
def test_call_other_than_a_transfer_has_its_contract_and_function(
    call: bytes, function: bytes
) -> None:
    assert read_transfer_envelope(raw_envelope(call=call)) == NotATransfer(
        account_address(PAYER.raw_public_key()), None, ASSET_TEXT, function
    )


@pytest.mark.parametrize(
    ("call", "recipient"),
    [
        (
            transfer_call(ASSET, PAYER_ADDRESS, muxed(7, b"\x0d" * 32), 1).to_xdr_bytes(),
            ScAddress(AddressKind.MUXED_ACCOUNT, b"\x0d" * 32, 7),
        ),
        (TO_MUXED_CONTRACT, ScAddress(AddressKind.MUXED_CONTRACT, b"\x0d" * 32, 9)),
    ],
)
def test_muxed_recipient_is_not_read_as_its_plain_account(
    call: bytes, recipient: ScAddress
) -> None:
    read = read_transfer_envelope(raw_envelope(call=call))
    assert isinstance(read, TransferEnvelope)
    assert read.pay_to == MuxedParty(recipient)
    assert recipient.plain is None


LEDGER_BOUNDS = ONE + bytes(8)
SIGNER_KEYS = [
    *(u32(arm) + bytes(32) for arm in (0, 1, 2)),
    u32(3) + bytes(32) + u32(2) + b"ab\0\0",
]


@pytest.mark.parametrize(
    "parts",
    [
        {"memo": ONE + u32(2) + b"hi\0\0"},
        {"memo": u32(2) + bytes(8)},
        {"memo": u32(3) + bytes(32)},
        {"memo": u32(4) + bytes(32)},
        {"preconditions": ONE + bytes(16)},
        {"preconditions": u32(2) + NONE * 3 + bytes(12) + NONE},
        {"preconditions": u32(2) + (ONE + bytes(16)) + LEDGER_BOUNDS * 2 + bytes(12) + NONE},
        *(
            {"preconditions": u32(2) + NONE * 3 + bytes(12) + ONE + signer}
            for signer in SIGNER_KEYS
        ),
    ],
)
def test_memo_and_preconditions_are_skipped(parts: dict[str, bytes]) -> None:
    assert read_transfer_envelope(raw_envelope(**parts)) == read_transfer_envelope(raw_envelope())


def test_called_contract_is_an_account_or_contract_address() -> None:
    named = transfer_call(PAYEE_ADDRESS, PAYER_ADDRESS, PAYEE_ADDRESS, 1)
    read = read_transfer_envelope(raw_envelope(call=named.to_xdr_bytes()))
    assert isinstance(read, TransferEnvelope)
    assert read.contract == PAYEE.public_key
    for address in (muxed(1, bytes(32)), claimable_balance(bytes(32)), pool(bytes(32))):
        call = transfer_call(address, PAYER_ADDRESS, PAYEE_ADDRESS, 1).to_xdr_bytes()
        assert read_transfer_envelope(raw_envelope(call=call)) == MALFORMED


@pytest.mark.parametrize("amount", [0, 1, -1, 2**127 - 1, -(2**127)])
def test_amount_is_read_for_every_i128(amount: int) -> None:
    read = read_transfer_envelope(payment(amount))
    assert isinstance(read, TransferEnvelope)
    assert read.amount == amount


@pytest.mark.parametrize(("count", "readable"), [(0, True), (1, True), (20, True), (21, False)])
def test_envelope_signatures_are_counted_up_to_twenty(count: int, readable: bool) -> None:
    signature = b"hint" + u32(64) + bytes(64)
    read = read_transfer_envelope(raw_envelope(signatures=u32(count) + signature * count))
    if not readable:
        assert read == MALFORMED
        return
    assert isinstance(read, TransferEnvelope)
    assert read.signature_count == count


def test_muxed_source_is_read_as_its_account() -> None:
    muxed_source = u32(0x100) + bytes(8) + PAYEE.raw_public_key()
    read = read_transfer_envelope(
        raw_envelope(source=muxed_source, operation_source=ONE + muxed_source)
    )
    assert isinstance(read, TransferEnvelope)
    assert (read.tx_source, read.operation_source) == (PAYEE.public_key, PAYEE.public_key)
    plain = read_transfer_envelope(raw_envelope(operation_source=ONE + SOURCE))
    assert isinstance(plain, TransferEnvelope)
    assert plain.operation_source == PAYER.public_key


def test_contract_is_read_as_payer_and_recipient() -> None:
    call = transfer_call(ASSET, contract(b"\x0c" * 32), contract(b"\x0d" * 32), 1)
    read = read_transfer_envelope(raw_envelope(call=call.to_xdr_bytes(), entries=NONE))
    assert isinstance(read, TransferEnvelope)
    assert read.payer == contract_address(b"\x0c" * 32)
    assert read.pay_to == contract_address(b"\x0d" * 32)
    assert read.entries == ()


def test_source_account_credentials_have_no_address_and_no_signature() -> None:
    read = read_transfer_envelope(payment())
    assert isinstance(read, TransferEnvelope)
    bare = raw_envelope(entries=ONE + NONE + read.entries[0].invocation)
    again = read_transfer_envelope(bare)
    assert isinstance(again, TransferEnvelope)
    (entry,) = again.entries
    assert (entry.address, entry.signature) == (None, Unsigned())
