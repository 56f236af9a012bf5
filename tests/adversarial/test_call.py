"""Cases 1.3: the operation and its contract call."""

from collections.abc import Callable
from typing import Final

import pytest
from stellar_sdk import (
    AccountMerge,
    Asset,
    CreateAccount,
    ExtendFootprintTTL,
    Keypair,
    MuxedAccount,
    Operation,
    Payment,
    RestoreFootprint,
    scval,
    xdr,
)

from farebox.x402.reasons import Reason
from support import payment_rules as rules
from support.envelopes import host_operation
from support.payments import Draft, wrapper
from support.promises import case, promise
from testing.contract_calls import (
    address,
    address_value,
    amount_value,
    invocation,
    invoke,
    transfer,
)

STRANGER: Final = Keypair.random().public_key
FUNCTIONS: Final = ["mint", "approve", "burn", "transfer_from", "Transfer", "transfer ", "", "t"]


@case("PV-045")
@pytest.mark.parametrize("count", [0, 2, 100])
def test_other_operation_count_than_one_is_a_wrong_operation(count: int) -> None:
    draft = rules.draft()
    bare = Payment(STRANGER, Asset.native(), "1").to_xdr_object()
    operations = ([draft.operation()] + [bare] * 99)[:count]
    rules.assert_refused(draft.request(draft.around(operations)), Reason.WRONG_OPERATION)


@case("PV-045")
def test_payment_with_another_operation_is_a_wrong_operation() -> None:
    draft = rules.draft()
    other = Payment(STRANGER, Asset.native(), "1").to_xdr_object()
    for operations in ([draft.operation()] * 2, [other, draft.operation()]):
        rules.assert_refused(draft.request(draft.around(operations)), Reason.WRONG_OPERATION)


@case("PV-046")
@pytest.mark.parametrize(
    "operation",
    [
        Payment(STRANGER, Asset.native(), "1"),
        CreateAccount(STRANGER, "1"),
        AccountMerge(STRANGER),
        ExtendFootprintTTL(1_000),
        RestoreFootprint(),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_classic_operation_is_a_wrong_operation(operation: Operation) -> None:
    draft = rules.draft()
    raw = draft.around([operation.to_xdr_object()])
    rules.assert_refused(draft.request(raw), Reason.WRONG_OPERATION)


@case("PV-047")
@pytest.mark.parametrize("kind", ["upload", "create", "create with arguments"])
def test_host_function_that_is_not_a_call_is_a_wrong_operation(kind: str) -> None:
    draft = rules.draft()
    operation = host_operation(_host_function(kind), [draft.entry()])
    rules.assert_refused(draft.request(draft.around([operation])), Reason.WRONG_OPERATION)


def _host_function(kind: str) -> xdr.HostFunction:
    if kind == "upload":
        upload = xdr.HostFunctionType.HOST_FUNCTION_TYPE_UPLOAD_CONTRACT_WASM
        return xdr.HostFunction(upload, wasm=b"\0asm")
    preimage = xdr.ContractIDPreimage(
        xdr.ContractIDPreimageType.CONTRACT_ID_PREIMAGE_FROM_ADDRESS,
        from_address=xdr.ContractIDPreimageFromAddress(address(STRANGER), xdr.Uint256(bytes(32))),
    )
    built_in = xdr.ContractExecutableType.CONTRACT_EXECUTABLE_STELLAR_ASSET
    executable = xdr.ContractExecutable(built_in)
    if kind == "create":
        return xdr.HostFunction(
            xdr.HostFunctionType.HOST_FUNCTION_TYPE_CREATE_CONTRACT,
            create_contract=xdr.CreateContractArgs(preimage, executable),
        )
    return xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_CREATE_CONTRACT_V2,
        create_contract_v2=xdr.CreateContractArgsV2(preimage, executable, []),
    )


@case("PV-048")
@promise("verify:checks-contract")
def test_call_of_another_contract_is_a_wrong_asset() -> None:
    draft = rules.draft()
    native = Asset.native().contract_id(draft.network.passphrase)
    paid_in_native = draft.but(asset=native)
    body = wrapper(draft.terms(), draft.terms(), paid_in_native.envelope())
    rules.assert_refused(body, Reason.WRONG_ASSET)


@case("PV-049")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_call_of_another_function_is_a_wrong_function_name(function: str) -> None:
    draft = rules.draft()
    call = invoke(address(draft.asset), function, *draft.call().args)
    envelope = draft.envelope(draft.entry(invocation(call)), call=call)
    rules.assert_refused(draft.request(envelope), Reason.WRONG_FUNCTION_NAME)


def _two(draft: Draft) -> list[xdr.SCVal]:
    return draft.call().args[:2]


def _four(draft: Draft) -> list[xdr.SCVal]:
    return [*draft.call().args, scval.to_uint64(7)]


def _none(draft: Draft) -> list[xdr.SCVal]:
    del draft
    return []


def _turned(draft: Draft) -> list[xdr.SCVal]:
    return draft.call().args[::-1]


def _other_integer(draft: Draft) -> list[xdr.SCVal]:
    return [*draft.call().args[:2], scval.to_uint128(draft.amount)]


def _text_for_address(draft: Draft) -> list[xdr.SCVal]:
    return [scval.to_string(draft.payer), *draft.call().args[1:]]


@case("PV-050")
@pytest.mark.parametrize(
    "arguments", [_two, _four, _none, _turned, _other_integer, _text_for_address]
)
def test_call_with_other_arguments_is_a_wrong_function(
    arguments: Callable[[Draft], list[xdr.SCVal]],
) -> None:
    draft = rules.draft()
    call = invoke(address(draft.asset), "transfer", *arguments(draft))
    envelope = draft.envelope(draft.entry(invocation(call)), call=call)
    rules.assert_refused(draft.request(envelope), Reason.WRONG_FUNCTION_NAME)


@case("PV-052")
@promise("verify:checks-recipient")
@pytest.mark.parametrize("mux_id", [0, 1, 2**64 - 1])
def test_muxed_form_of_recipient_is_a_wrong_recipient(mux_id: int) -> None:
    draft = rules.draft()
    muxed = MuxedAccount(draft.pay_to, mux_id).account_muxed
    assert muxed is not None
    call = transfer(draft.asset, draft.payer, muxed, draft.amount)
    envelope = draft.envelope(draft.entry(invocation(call)), call=call)
    rules.assert_refused(draft.request(envelope), Reason.WRONG_RECIPIENT, payer=draft.payer)


@case("PV-053")
@pytest.mark.parametrize("argument", ["the same", "another id", "plain"])
def test_muxed_recipient_in_terms_is_refused_for_any_call(argument: str) -> None:
    draft = rules.draft()
    muxed = MuxedAccount(draft.pay_to, 7).account_muxed
    other = MuxedAccount(draft.pay_to, 8).account_muxed
    assert muxed is not None
    assert other is not None
    pay_to = {"the same": muxed, "another id": other, "plain": draft.pay_to}[argument]
    call = transfer(draft.asset, draft.payer, pay_to, draft.amount)
    envelope = draft.envelope(draft.entry(invocation(call)), call=call)
    body = draft.request(envelope, payTo=muxed)
    rules.assert_refused(body, Reason.MUXED_RECIPIENT)


@case("PV-053")
def test_muxed_contract_as_recipient_is_refused() -> None:
    muxed_contract = "WA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAAAWWC"
    body = rules.draft().request(payTo=muxed_contract)
    rules.assert_refused(body, Reason.MUXED_RECIPIENT)


@case("PV-057")
@promise("verify:checks-amount", "signature:binds-the-amount")
@pytest.mark.parametrize("difference", [1, -1, 2**64, -20_000])
def test_call_with_another_amount_is_a_wrong_amount(difference: int) -> None:
    draft = rules.draft()
    other = draft.but(amount=draft.amount + difference)
    body = wrapper(draft.terms(), draft.terms(), other.envelope())
    rules.assert_refused(body, Reason.WRONG_AMOUNT, payer=draft.payer)


@case("PV-058")
@promise("verify:checks-recipient", "signature:binds-the-recipient")
def test_call_with_another_recipient_is_a_wrong_recipient() -> None:
    draft = rules.draft()
    for pay_to in (STRANGER, draft.asset, draft.payer):
        body = wrapper(draft.terms(), draft.terms(), draft.but(pay_to=pay_to).envelope())
        rules.assert_refused(body, Reason.WRONG_RECIPIENT, payer=draft.payer)


@case("PV-059")
def test_call_of_address_that_is_not_a_contract_is_refused() -> None:
    draft = rules.draft()
    muxed = MuxedAccount(draft.payer, 7).account_muxed
    assert muxed is not None
    arguments = (
        address_value(draft.payer),
        address_value(draft.pay_to),
        amount_value(draft.amount),
    )
    for callee in (STRANGER, muxed):
        call = invoke(address(callee), "transfer", *arguments)
        envelope = draft.envelope(draft.entry(invocation(call)), call=call)
        rules.assert_refused(draft.request(envelope), Reason.MALFORMED, Reason.WRONG_ASSET)
