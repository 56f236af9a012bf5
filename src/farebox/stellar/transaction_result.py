"""The result of a transaction (TransactionResult): its codes and the fee."""

import base64
import binascii
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from farebox.stellar.xdr_reader import Malformed, XdrReader

_SUCCESS: Final = 0
_FAILED: Final = -1
_FEE_BUMP_SUCCESS: Final = 1
_FEE_BUMP_FAILED: Final = -13
_CODES: Final = MappingProxyType(
    {
        1: "txFEE_BUMP_INNER_SUCCESS",
        0: "txSUCCESS",
        -1: "txFAILED",
        -2: "txTOO_EARLY",
        -3: "txTOO_LATE",
        -4: "txMISSING_OPERATION",
        -5: "txBAD_SEQ",
        -6: "txBAD_AUTH",
        -7: "txINSUFFICIENT_BALANCE",
        -8: "txNO_ACCOUNT",
        -9: "txINSUFFICIENT_FEE",
        -10: "txBAD_AUTH_EXTRA",
        -11: "txINTERNAL_ERROR",
        -12: "txNOT_SUPPORTED",
        -13: "txFEE_BUMP_INNER_FAILED",
        -14: "txBAD_SPONSORSHIP",
        -15: "txBAD_MIN_SEQ_AGE_OR_GAP",
        -16: "txMALFORMED",
        -17: "txSOROBAN_INVALID",
        -18: "txFROZEN_KEY_ACCESSED",
    }
)
_OPERATION_INNER: Final = 0
_OPERATION_CODES: Final = MappingProxyType(
    {
        -1: "opBAD_AUTH",
        -2: "opNO_ACCOUNT",
        -3: "opNOT_SUPPORTED",
        -4: "opTOO_MANY_SUBENTRIES",
        -5: "opEXCEEDED_WORK_LIMIT",
        -6: "opTOO_MANY_SPONSORING",
    }
)
_INVOKE_HOST_FUNCTION: Final = 24
_CALL_SUCCESS: Final = 0
_CALL_CODES: Final = MappingProxyType(
    {
        0: "invokeSUCCESS",
        -1: "invokeMALFORMED",
        -2: "invokeTRAPPED",
        -3: "invokeRESOURCE_LIMIT_EXCEEDED",
        -4: "invokeENTRY_ARCHIVED",
        -5: "invokeINSUFFICIENT_REFUNDABLE_FEE",
    }
)
_HASH_BYTES: Final = 32
_MAX_OPERATIONS: Final = 100


@dataclass(frozen=True, slots=True)
class InnerResult:
    """The inner transaction of a fee bump."""

    hash: bytes
    code: str
    operation_code: str | None


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """The codes and the fee of a transaction.

    A code unknown to this version is the text of its number. `fee_charged` is in
    stroops; in a refusal for the fee it is the fee that would have been admitted.
    """

    fee_charged: int
    code: str
    operation_code: str | None  # of a single contract call; None for anything else
    inner: InnerResult | None

    @property
    def effective_code(self) -> str:
        """The inner transaction's code, where there is one, else the transaction's own."""
        return self.inner.code if self.inner else self.code

    @property
    def effective_operation_code(self) -> str | None:
        """The code of the one contract call, of the inner transaction where there is one."""
        return self.inner.operation_code if self.inner else self.operation_code

    @property
    def inner_hash(self) -> str | None:
        """The hash (hex) of the inner transaction of a fee bump."""
        return self.inner.hash.hex() if self.inner else None

    @property
    def is_success(self) -> bool:
        """Whether every operation took effect."""
        return self.effective_code == _CODES[_SUCCESS]


def read_transaction_result(text: str) -> TransactionResult | None:
    """Read the base64 text of a result; None when it is not one."""
    try:
        return _read(XdrReader(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError, Malformed):
        return None


def _read(reader: XdrReader) -> TransactionResult:
    fee_charged = reader.int64()
    code = _int32(reader)
    inner: InnerResult | None = None
    operation_code: str | None = None
    if code in {_FEE_BUMP_SUCCESS, _FEE_BUMP_FAILED}:
        inner, is_whole = _read_inner(reader)
    else:
        operation_code, is_whole = _read_operations(reader, code)
    if is_whole:
        reader.expect(0)
        reader.finish()
    return TransactionResult(
        fee_charged=fee_charged,
        code=_CODES.get(code, str(code)),
        operation_code=operation_code,
        inner=inner,
    )


def _read_inner(reader: XdrReader) -> tuple[InnerResult, bool]:
    inner_hash = reader.fixed(_HASH_BYTES)
    reader.int64()  # the inner transaction's own fee, which is not charged
    code = _int32(reader)
    if code in {_FEE_BUMP_SUCCESS, _FEE_BUMP_FAILED}:
        raise Malformed
    operation_code, is_whole = _read_operations(reader, code)
    if is_whole:
        reader.expect(0)
    return InnerResult(inner_hash, _CODES.get(code, str(code)), operation_code), is_whole


def _read_operations(reader: XdrReader, code: int) -> tuple[str | None, bool]:
    """The code of the one contract call, and whether the cursor stands behind all operations.

    The results of other operations are not read: none of our transactions has any.
    """
    if code not in {_SUCCESS, _FAILED}:
        return None, code in _CODES
    if reader.count(_MAX_OPERATIONS) != 1:
        return None, False
    operation = _int32(reader)
    if operation != _OPERATION_INNER:
        return _OPERATION_CODES.get(operation, str(operation)), operation in _OPERATION_CODES
    if reader.uint32() != _INVOKE_HOST_FUNCTION:
        return None, False
    call = _int32(reader)
    if call == _CALL_SUCCESS:
        reader.skip(_HASH_BYTES)
    return _CALL_CODES.get(call, str(call)), call in _CALL_CODES


def _int32(reader: XdrReader) -> int:
    value = reader.uint32()
    return value - 2**32 if value >= 2**31 else value
