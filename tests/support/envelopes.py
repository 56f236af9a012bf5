"""Transactions around a call: the shape a buyer sends, and other shapes."""

from collections.abc import Sequence
from typing import Final

from stellar_sdk import Keypair, MuxedAccount, xdr

from support.sdk_envelopes import NO_MEMO
from testing.contract_calls import ZERO_ACCOUNT

NO_CONDITIONS: Final = xdr.Preconditions(xdr.PreconditionType.PRECOND_NONE)
_V1: Final = xdr.EnvelopeType.ENVELOPE_TYPE_TX
_Body = xdr.OperationType


def call_operation(
    call: xdr.InvokeContractArgs,
    entries: Sequence[xdr.SorobanAuthorizationEntry],
    *,
    source: str | None = None,
) -> xdr.Operation:
    """An operation that invokes a contract."""
    function = xdr.HostFunction(
        xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=call
    )
    return host_operation(function, entries, source=source)


def host_operation(
    function: xdr.HostFunction,
    entries: Sequence[xdr.SorobanAuthorizationEntry],
    *,
    source: str | None = None,
) -> xdr.Operation:
    """An operation that runs any host function."""
    return xdr.Operation(
        MuxedAccount.from_account(source).to_xdr_object() if source else None,
        xdr.OperationBody(
            _Body.INVOKE_HOST_FUNCTION,
            invoke_host_function_op=xdr.InvokeHostFunctionOp(function, list(entries)),
        ),
    )


def transaction(
    operations: Sequence[xdr.Operation],
    *,
    source: str = ZERO_ACCOUNT,
    fee: int = 100,
    sequence: int = 0,
    conditions: xdr.Preconditions = NO_CONDITIONS,
    memo: xdr.Memo = NO_MEMO,
    resources: xdr.SorobanTransactionData | None = None,
) -> xdr.Transaction:
    """Build a transaction like the official client's, with other parts where given."""
    return xdr.Transaction(
        MuxedAccount.from_account(source).to_xdr_object(),
        xdr.Uint32(fee),
        xdr.SequenceNumber(xdr.Int64(sequence)),
        conditions,
        memo,
        list(operations),
        xdr.TransactionExt(1, resources) if resources else xdr.TransactionExt(0),
    )


def sealed(
    tx: xdr.Transaction, signatures: Sequence[xdr.DecoratedSignature] = ()
) -> xdr.TransactionEnvelope:
    """The plain envelope around a transaction."""
    return xdr.TransactionEnvelope(_V1, v1=xdr.TransactionV1Envelope(tx, list(signatures)))


def fee_bumped(envelope: xdr.TransactionEnvelope, payer: str) -> xdr.TransactionEnvelope:
    """A fee bump around a plain envelope, unsigned."""
    bump = xdr.FeeBumpTransaction(
        MuxedAccount.from_account(payer).to_xdr_object(),
        xdr.Int64(1_000_000),
        xdr.FeeBumpTransactionInnerTx(_V1, v1=envelope.v1),
        xdr.FeeBumpTransactionExt(0),
    )
    return xdr.TransactionEnvelope(
        xdr.EnvelopeType.ENVELOPE_TYPE_TX_FEE_BUMP,
        fee_bump=xdr.FeeBumpTransactionEnvelope(bump, []),
    )


def version_0(tx: xdr.Transaction) -> xdr.TransactionEnvelope:
    """The same transaction in the envelope of before protocol 13, whose source is a bare key."""
    key = tx.source_account.ed25519
    assert key is not None
    old = xdr.TransactionV0(
        key, tx.fee, tx.seq_num, None, tx.memo, tx.operations, xdr.TransactionV0Ext(0)
    )
    return xdr.TransactionEnvelope(
        xdr.EnvelopeType.ENVELOPE_TYPE_TX_V0, v0=xdr.TransactionV0Envelope(old, [])
    )


def decorated(key: Keypair, payload: bytes) -> xdr.DecoratedSignature:
    """A signature as an envelope carries it."""
    return key.sign_decorated(payload).to_xdr_object()


def time_bounds(earliest: int, latest: int) -> xdr.Preconditions:
    """Bounds in Unix seconds; a latest of 0 means none."""
    return xdr.Preconditions(
        xdr.PreconditionType.PRECOND_TIME,
        time_bounds=xdr.TimeBounds(
            xdr.TimePoint(xdr.Uint64(earliest)), xdr.TimePoint(xdr.Uint64(latest))
        ),
    )


def text_memo(text: bytes) -> xdr.Memo:
    """A memo of any bytes, up to 28."""
    return xdr.Memo(xdr.MemoType.MEMO_TEXT, text=text)


def spliced(raw: bytes, old: bytes, new: bytes) -> bytes:
    """The bytes with one range replaced, for encodings that no SDK writes.

    Raises:
        ValueError: `old` is not there exactly once.
    """
    if raw.count(old) != 1:
        raise ValueError(f"the range occurs {raw.count(old)} times")
    return raw.replace(old, new)
