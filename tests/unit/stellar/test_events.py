"""Transfer events and other token movements, in every form in which tokens emit them."""

import pytest
from stellar_sdk import xdr

from farebox.kernel.addresses import account_address, contract_address
from farebox.stellar.events import (
    MAX_EVENT_BYTES,
    ContractEvent,
    EventKind,
    MuxId,
    TransferEvent,
    decode_contract_event,
    decode_diagnostic_event,
    looks_like_token_movement,
    read_transfer_event,
)
from farebox.stellar.scval import AddressKind, ScAddress, ScBytes, ScKind
from support.raw_envelopes import NONE, ONE, u32
from support.sdk_values import (
    account,
    address_value,
    blob,
    claimable_balance,
    contract,
    i128,
    mapping,
    muxed,
    nested,
    nonce_key,
    pool,
    string,
    symbol,
    u64,
    vector,
    void,
)

TOKEN, ALICE, BOB = b"\x0a" * 32, b"\x0b" * 32, b"\x0c" * 32
FROM, TO = address_value(account(ALICE)), address_value(contract(BOB))
TOPICS = (symbol(b"transfer"), FROM, TO)
NAMED = (*TOPICS, string(b"USDC:GA..."))
AMOUNT, MUX = symbol(b"amount"), symbol(b"to_muxed_id")
CONTRACT = xdr.ContractEventType.CONTRACT


def _sdk_event(
    *topics: xdr.SCVal,
    data: xdr.SCVal,
    kind: xdr.ContractEventType = CONTRACT,
    contract_id: bytes | None = TOKEN,
) -> xdr.ContractEvent:
    return xdr.ContractEvent(
        xdr.ExtensionPoint(0),
        None if contract_id is None else xdr.ContractID(xdr.Hash(contract_id)),
        kind,
        xdr.ContractEventBody(0, xdr.ContractEventV0(list(topics), data)),
    )


def _event(*topics: xdr.SCVal, data: xdr.SCVal, **fields: object) -> ContractEvent:
    sdk = _sdk_event(*topics, data=data, **fields)  # type: ignore[arg-type]  # passed on
    event = decode_contract_event(sdk.to_xdr())
    assert event is not None
    return event


@pytest.mark.parametrize("topics", [TOPICS, NAMED])
@pytest.mark.parametrize(
    ("data", "amount", "muxed_id"),
    [
        (i128(7), 7, None),
        (i128(-(2**127)), -(2**127), None),
        (mapping((AMOUNT, i128(7)), (MUX, u64(2**64 - 1))), 7, 2**64 - 1),
        (mapping((AMOUNT, i128(7)), (MUX, blob(BOB))), 7, BOB),
        (mapping((AMOUNT, i128(7)), (MUX, string(b"memo"))), 7, b"memo"),
    ],
)
def test_transfer_event_is_read_with_either_topic_count_and_data_form(
    topics: tuple[xdr.SCVal, ...], data: xdr.SCVal, amount: int, muxed_id: MuxId | None
) -> None:
    event = _event(*topics, data=data)
    assert looks_like_token_movement(event)
    assert read_transfer_event(event) == TransferEvent(
        contract_address(TOKEN), account_address(ALICE), contract_address(BOB), amount, muxed_id
    )


@pytest.mark.parametrize(
    ("topics", "data"),
    [
        ((), i128(1)),
        (TOPICS[:1], i128(1)),
        (TOPICS[:2], i128(1)),
        ((*NAMED, string(b"more")), i128(1)),
        ((*TOPICS, symbol(b"USDC")), i128(1)),
        ((symbol(b"mint"), *TOPICS[1:]), i128(1)),
        ((string(b"transfer"), *TOPICS[1:]), i128(1)),
        ((symbol(b"transfer"), string(b"G"), TO), i128(1)),
        ((symbol(b"transfer"), FROM, void()), i128(1)),
        (TOPICS, u64(1)),
        (TOPICS, void()),
        (TOPICS, mapping()),
        (TOPICS, mapping((AMOUNT, i128(1)))),
        (TOPICS, mapping((MUX, u64(1)), (AMOUNT, i128(1)))),
        (TOPICS, mapping((AMOUNT, u64(1)), (MUX, u64(1)))),
        (TOPICS, mapping((AMOUNT, i128(1)), (MUX, void()))),
        (TOPICS, mapping((AMOUNT, i128(1)), (MUX, i128(1)))),
        (TOPICS, mapping((AMOUNT, i128(1)), (MUX, symbol(b"x")))),
        (TOPICS, mapping((AMOUNT, i128(1)), (MUX, u64(1)), (symbol(b"z"), void()))),
    ],
)
def test_malformed_transfer_event_is_none(topics: tuple[xdr.SCVal, ...], data: xdr.SCVal) -> None:
    assert read_transfer_event(_event(*topics, data=data)) is None


@pytest.mark.parametrize("name", [b"transfer", b"mint", b"burn", b"clawback", b"approve"])
@pytest.mark.parametrize("form", [symbol, string])
def test_event_named_like_a_token_movement_looks_like_one(name: bytes, form: object) -> None:
    assert callable(form)
    assert looks_like_token_movement(_event(form(name), data=void()))
    assert looks_like_token_movement(_event(form(name), data=void(), contract_id=None))


@pytest.mark.parametrize(
    "topics", [(), (symbol(b"Transfer"),), (symbol(b"swap"),), (blob(b"transfer"),), (void(), FROM)]
)
def test_event_with_another_name_is_no_token_movement(topics: tuple[xdr.SCVal, ...]) -> None:
    assert not looks_like_token_movement(_event(*topics, data=i128(1)))


@pytest.mark.parametrize("kind", [xdr.ContractEventType.SYSTEM, xdr.ContractEventType.DIAGNOSTIC])
def test_system_and_diagnostic_events_are_no_token_movement(kind: xdr.ContractEventType) -> None:
    event = _event(*TOPICS, data=i128(1), kind=kind)
    assert event.kind == kind.value
    assert not looks_like_token_movement(event)
    assert read_transfer_event(event) is None


def test_transfer_event_without_a_contract_has_no_asset() -> None:
    transfer = read_transfer_event(_event(*TOPICS, data=i128(1), contract_id=None))
    assert transfer is not None
    assert transfer.asset is None


@pytest.mark.parametrize("address", [muxed(1, ALICE), claimable_balance(ALICE), pool(ALICE)])
def test_transfer_party_is_none_unless_an_account_or_contract(address: xdr.SCAddress) -> None:
    odd = address_value(address)
    paid = read_transfer_event(_event(TOPICS[0], FROM, odd, data=i128(1)))
    assert paid is not None
    assert (paid.sender, paid.recipient) == (account_address(ALICE), None)
    paying = read_transfer_event(_event(TOPICS[0], odd, TO, data=i128(1)))
    assert paying is not None
    assert (paying.sender, paying.recipient) == (None, contract_address(BOB))


def test_protocol_30_addresses_and_values_are_decoded() -> None:
    muxed_contract = u32(18) + u32(5) + (9).to_bytes(8, "big") + BOB
    tag = u32(22) + u32(3) + b"v12\0"
    head = NONE + ONE + TOKEN + ONE + NONE
    event = decode_contract_event(head + u32(2) + muxed_contract + tag + ONE)
    assert event is not None
    assert event.topics == (
        ScAddress(AddressKind.MUXED_CONTRACT, BOB, 9),
        ScBytes(ScKind.EXECUTABLE_TAG, b"v12"),
    )
    transfer = head + u32(3) + TOPICS[0].to_xdr_bytes() + FROM.to_xdr_bytes() + muxed_contract
    read = decode_contract_event(transfer + i128(1).to_xdr_bytes())
    assert read is not None
    assert read_transfer_event(read) == TransferEvent(
        contract_address(TOKEN), account_address(ALICE), None, 1, None
    )


def test_diagnostic_event_has_the_success_of_its_call() -> None:
    inner = _sdk_event(*TOPICS, data=i128(1))
    for succeeded in (True, False):
        event = decode_diagnostic_event(xdr.DiagnosticEvent(succeeded, inner).to_xdr())
        assert event is not None
        assert event.in_successful_call is succeeded
        assert event.kind is EventKind.CONTRACT


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        ONE + NONE * 20,  # an extension
        NONE + u32(2) + NONE * 20,  # a contract that is half there
        NONE + NONE + u32(3) + NONE * 3,  # a fourth kind
        NONE + NONE + ONE + ONE + NONE + ONE,  # a second version of the body
        NONE + NONE + ONE + NONE + u32(17) + ONE * 18,  # too many topics
        NONE + NONE + ONE + NONE + NONE + u32(23),  # an unknown value
        NONE + NONE + ONE + NONE + NONE + u32(18) + u32(6) + bytes(64),  # an unknown address
        NONE + NONE + ONE + NONE + NONE + ONE + ONE,  # more than an event
        NONE + NONE + ONE + NONE + NONE + nested(33).to_xdr_bytes(),
        NONE + NONE + ONE + NONE + NONE + u32(19) + u32(3) + bytes(64),  # unknown code
        NONE + NONE + ONE + NONE + NONE + u32(18) + u32(3) + ONE + bytes(32),  # a new balance id
    ],
)
def test_malformed_event_is_none(raw: bytes) -> None:
    assert decode_contract_event(raw) is None
    assert decode_diagnostic_event(ONE + raw) is None


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!", "é", "AAAAAA==\n", "A" * 10_000_000])
def test_text_that_is_no_event_is_none(text: str) -> None:
    assert decode_contract_event(text) is None
    assert decode_diagnostic_event(text) is None


def test_event_larger_than_the_limit_is_none() -> None:
    small = _sdk_event(*TOPICS, data=vector(nonce_key(1), blob(bytes(40_000))))
    assert decode_contract_event(small.to_xdr()) is not None
    large = _sdk_event(*TOPICS, data=blob(bytes(MAX_EVENT_BYTES)))
    assert decode_contract_event(large.to_xdr()) is None
    assert decode_contract_event(large.to_xdr_bytes()) is None
