"""Transaction results, decoded as the SDK encodes them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import xdr
from stellar_sdk.xdr import TransactionResultCode as Code

from farebox.stellar.transaction_result import read_transaction_result

LISTED = {Code.txSUCCESS, Code.txFAILED}
BUMPS = {Code.txFEE_BUMP_INNER_SUCCESS, Code.txFEE_BUMP_INNER_FAILED}
PLAIN = sorted(set(Code) - LISTED - BUMPS)


def call_result(code: xdr.InvokeHostFunctionResultCode) -> xdr.OperationResult:
    done = code is xdr.InvokeHostFunctionResultCode.INVOKE_HOST_FUNCTION_SUCCESS
    invoke = xdr.InvokeHostFunctionResult(code, xdr.Hash(bytes(32)) if done else None)
    return xdr.OperationResult(
        xdr.OperationResultCode.opINNER,
        tr=xdr.OperationResultTr(
            xdr.OperationType.INVOKE_HOST_FUNCTION, invoke_host_function_result=invoke
        ),
    )


def result_of(
    code: Code,
    *,
    fee: int = 100,
    operations: list[xdr.OperationResult] | None = None,
    inner: xdr.InnerTransactionResultPair | None = None,
) -> xdr.TransactionResult:
    result = xdr.TransactionResultResult(code, inner_result_pair=inner, results=operations)
    return xdr.TransactionResult(xdr.Int64(fee), result, xdr.TransactionResultExt(0))


def pair_of(
    code: Code, operations: list[xdr.OperationResult] | None = None
) -> xdr.InnerTransactionResultPair:
    result = xdr.InnerTransactionResultResult(code, results=operations)
    inner = xdr.InnerTransactionResult(xdr.Int64(0), result, xdr.InnerTransactionResultExt(0))
    return xdr.InnerTransactionResultPair(xdr.Hash(b"\7" * 32), inner)


@pytest.mark.parametrize("code", PLAIN, ids=lambda code: code.name)
def test_result_code_without_operations_has_the_networks_name(code: Code) -> None:
    result = read_transaction_result(result_of(code, fee=7).to_xdr())
    assert result is not None
    assert (result.code, result.effective_code, result.fee_charged) == (code.name, code.name, 7)
    assert result.operation_code is None
    assert not result.is_success


@pytest.mark.parametrize("call", list(xdr.InvokeHostFunctionResultCode), ids=lambda c: c.name)
def test_result_of_a_single_call_has_its_operation_code(
    call: xdr.InvokeHostFunctionResultCode,
) -> None:
    done = call is xdr.InvokeHostFunctionResultCode.INVOKE_HOST_FUNCTION_SUCCESS
    code = Code.txSUCCESS if done else Code.txFAILED
    result = read_transaction_result(result_of(code, operations=[call_result(call)]).to_xdr())
    assert result is not None
    assert result.is_success is done
    assert result.operation_code == call.name.replace("INVOKE_HOST_FUNCTION_", "invoke")


@pytest.mark.parametrize("code", [c for c in xdr.OperationResultCode if c.value])
def test_result_of_an_operation_that_never_ran_has_its_code(code: xdr.OperationResultCode) -> None:
    operation = xdr.OperationResult(code)
    result = read_transaction_result(result_of(Code.txFAILED, operations=[operation]).to_xdr())
    assert result is not None
    assert result.operation_code == code.name


def test_result_of_other_operations_has_no_operation_code() -> None:
    payment = xdr.OperationResult(
        xdr.OperationResultCode.opINNER,
        tr=xdr.OperationResultTr(
            xdr.OperationType.PAYMENT,
            payment_result=xdr.PaymentResult(xdr.PaymentResultCode.PAYMENT_SUCCESS),
        ),
    )
    for operations in ([payment], [payment, payment], []):
        result = read_transaction_result(result_of(Code.txSUCCESS, operations=operations).to_xdr())
        assert result is not None
        assert (result.is_success, result.operation_code) == (True, None)


def test_fee_bump_result_has_the_inner_result() -> None:
    trapped = call_result(xdr.InvokeHostFunctionResultCode.INVOKE_HOST_FUNCTION_TRAPPED)
    bump = result_of(Code.txFEE_BUMP_INNER_FAILED, fee=345, inner=pair_of(Code.txFAILED, [trapped]))
    result = read_transaction_result(bump.to_xdr())
    assert result is not None
    assert result.inner is not None
    assert (result.code, result.inner.hash) == ("txFEE_BUMP_INNER_FAILED", b"\7" * 32)
    assert (result.effective_code, result.effective_operation_code) == ("txFAILED", "invokeTRAPPED")
    assert result.fee_charged == 345


def test_fee_bump_result_has_the_code_of_a_refused_inner_transaction() -> None:
    bump = result_of(Code.txFEE_BUMP_INNER_FAILED, inner=pair_of(Code.txBAD_SEQ))
    result = read_transaction_result(bump.to_xdr())
    assert result is not None
    assert result.effective_code == "txBAD_SEQ"


def test_fee_bump_result_around_another_operation_has_the_inner_code() -> None:
    payment = xdr.OperationResult(
        xdr.OperationResultCode.opINNER,
        tr=xdr.OperationResultTr(
            xdr.OperationType.BUMP_SEQUENCE,
            bump_seq_result=xdr.BumpSequenceResult(
                xdr.BumpSequenceResultCode.BUMP_SEQUENCE_SUCCESS
            ),
        ),
    )
    bump = result_of(Code.txFEE_BUMP_INNER_SUCCESS, inner=pair_of(Code.txSUCCESS, [payment]))
    result = read_transaction_result(bump.to_xdr())
    assert result is not None
    assert (result.is_success, result.effective_operation_code) == (True, None)


def test_unknown_result_code_is_kept_as_its_number() -> None:
    raw = (5).to_bytes(8, "big") + (-99).to_bytes(4, "big", signed=True) + b"more bytes"
    result = read_transaction_result(encoded(raw))
    assert result is not None
    assert (result.code, result.is_success) == ("-99", False)


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    "text",
    ["", "AAAA", "not base64!", "é", encoded(bytes(11)), encoded(bytes(12))],
    ids=["empty", "short", "no base64", "no ASCII", "no code", "no count"],
)
def test_malformed_result_is_none(text: str) -> None:
    assert read_transaction_result(text) is None


def test_truncated_or_extended_result_is_none() -> None:
    for whole in (
        result_of(Code.txBAD_SEQ),
        result_of(Code.txFEE_BUMP_INNER_FAILED, inner=pair_of(Code.txBAD_SEQ)),
        result_of(
            Code.txSUCCESS,
            operations=[call_result(xdr.InvokeHostFunctionResultCode.INVOKE_HOST_FUNCTION_SUCCESS)],
        ),
    ):
        raw = whole.to_xdr_bytes()
        assert read_transaction_result(encoded(raw)) is not None
        assert read_transaction_result(encoded(raw + bytes(4))) is None
        for cut in range(len(raw)):
            assert read_transaction_result(encoded(raw[:cut])) is None


def test_fee_bump_result_inside_a_fee_bump_is_none() -> None:
    raw = bytes(8) + (1).to_bytes(4, "big") + bytes(32) + bytes(8) + (1).to_bytes(4, "big")
    assert read_transaction_result(encoded(raw + bytes(60))) is None


@given(st.binary(max_size=120))
def test_read_transaction_result_raises_for_no_bytes(raw: bytes) -> None:
    read_transaction_result(encoded(raw))
