//! Why a transaction was refused or failed, in the protocol's result types.

use crate::transaction::Frame;
use crate::xdr::{
    AccountMergeResult, BeginSponsoringFutureReservesResult, ChangeTrustResult, CreateAccountResult,
    EndSponsoringFutureReservesResult, ExtendFootprintTtlResult, Hash, InnerTransactionResult,
    InnerTransactionResultExt, InnerTransactionResultPair, InnerTransactionResultResult as Inner,
    InvokeHostFunctionResult, Operation, OperationBody, OperationResult, OperationResultTr, PaymentResult,
    RestoreFootprintResult, SetOptionsResult, SetTrustLineFlagsResult, TransactionResult,
    TransactionResultExt, TransactionResultResult as Outer, VecM,
};

/// Why a transaction is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    TooEarly,
    TooLate,
    MissingOperation,
    BadSequence,
    BadAuth,
    InsufficientBalance,
    NoAccount,
    InsufficientFee,
    BadAuthExtra,
    NotSupported,
    BadMinSequenceAgeOrGap,
    Malformed,
    SorobanInvalid,
    /// A sponsorship was begun and not ended.
    BadSponsorship,
    Internal,
    /// Some operation failed; one result for each operation.
    Failed(Vec<OperationResult>),
}

impl Refusal {
    fn outer(self) -> Outer {
        match self {
            Refusal::TooEarly => Outer::TxTooEarly,
            Refusal::TooLate => Outer::TxTooLate,
            Refusal::MissingOperation => Outer::TxMissingOperation,
            Refusal::BadSequence => Outer::TxBadSeq,
            Refusal::BadAuth => Outer::TxBadAuth,
            Refusal::InsufficientBalance => Outer::TxInsufficientBalance,
            Refusal::NoAccount => Outer::TxNoAccount,
            Refusal::InsufficientFee => Outer::TxInsufficientFee,
            Refusal::BadAuthExtra => Outer::TxBadAuthExtra,
            Refusal::NotSupported => Outer::TxNotSupported,
            Refusal::BadMinSequenceAgeOrGap => Outer::TxBadMinSeqAgeOrGap,
            Refusal::Malformed => Outer::TxMalformed,
            Refusal::SorobanInvalid => Outer::TxSorobanInvalid,
            Refusal::BadSponsorship => Outer::TxBadSponsorship,
            Refusal::Internal => Outer::TxInternalError,
            Refusal::Failed(results) => Outer::TxFailed(all(results)),
        }
    }

    fn inner(self) -> Inner {
        match self {
            Refusal::TooEarly => Inner::TxTooEarly,
            Refusal::TooLate => Inner::TxTooLate,
            Refusal::MissingOperation => Inner::TxMissingOperation,
            Refusal::BadSequence => Inner::TxBadSeq,
            Refusal::BadAuth => Inner::TxBadAuth,
            Refusal::InsufficientBalance => Inner::TxInsufficientBalance,
            Refusal::NoAccount => Inner::TxNoAccount,
            Refusal::InsufficientFee => Inner::TxInsufficientFee,
            Refusal::BadAuthExtra => Inner::TxBadAuthExtra,
            Refusal::NotSupported => Inner::TxNotSupported,
            Refusal::BadMinSequenceAgeOrGap => Inner::TxBadMinSeqAgeOrGap,
            Refusal::Malformed => Inner::TxMalformed,
            Refusal::SorobanInvalid => Inner::TxSorobanInvalid,
            Refusal::BadSponsorship => Inner::TxBadSponsorship,
            Refusal::Internal => Inner::TxInternalError,
            Refusal::Failed(results) => Inner::TxFailed(all(results)),
        }
    }
}

/// Which part of the envelope was refused, and the fee the answer names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The envelope as a whole.
    Envelope { refusal: Refusal, fee: i64 },
    /// The transaction inside a fee bump.
    Inner { refusal: Refusal, fee: i64 },
}

impl Invalid {
    pub fn result(self, frame: &Frame) -> TransactionResult {
        match self {
            Invalid::Envelope { refusal, fee } => refused(refusal, fee),
            Invalid::Inner { refusal, fee } => TransactionResult {
                fee_charged: fee,
                result: Outer::TxFeeBumpInnerFailed(inner_pair(frame, refusal.inner())),
                ext: TransactionResultExt::V0,
            },
        }
    }
}

pub fn refused(refusal: Refusal, fee_charged: i64) -> TransactionResult {
    TransactionResult { fee_charged, result: refusal.outer(), ext: TransactionResultExt::V0 }
}

/// The result of a transaction that ran, wrapped where a fee bump carried it.
pub fn applied(
    frame: &Frame,
    outcome: Result<Vec<OperationResult>, Refusal>,
    fee_charged: i64,
) -> TransactionResult {
    let result = match (frame.fee_bump().is_some(), outcome) {
        (false, Ok(results)) => Outer::TxSuccess(all(results)),
        (false, Err(refusal)) => refusal.outer(),
        (true, Ok(results)) => {
            Outer::TxFeeBumpInnerSuccess(inner_pair(frame, Inner::TxSuccess(all(results))))
        }
        (true, Err(refusal)) => Outer::TxFeeBumpInnerFailed(inner_pair(frame, refusal.inner())),
    };
    TransactionResult { fee_charged, result, ext: TransactionResultExt::V0 }
}

// The inner transaction pays nothing itself; since protocol 25 its result says so.
fn inner_pair(frame: &Frame, result: Inner) -> InnerTransactionResultPair {
    InnerTransactionResultPair {
        transaction_hash: Hash(frame.inner_hash),
        result: InnerTransactionResult { fee_charged: 0, result, ext: InnerTransactionResultExt::V0 },
    }
}

// An envelope has at most 100 operations, so the list always fits.
fn all(results: Vec<OperationResult>) -> VecM<OperationResult> {
    results.try_into().unwrap_or_default()
}

/// The result an operation has until something else is known of it.
pub fn untouched(operation: &Operation) -> OperationResult {
    OperationResult::OpInner(match &operation.body {
        OperationBody::CreateAccount(_) => OperationResultTr::CreateAccount(CreateAccountResult::Success),
        OperationBody::Payment(_) => OperationResultTr::Payment(PaymentResult::Success),
        OperationBody::SetOptions(_) => OperationResultTr::SetOptions(SetOptionsResult::Success),
        OperationBody::ChangeTrust(_) => OperationResultTr::ChangeTrust(ChangeTrustResult::Success),
        OperationBody::SetTrustLineFlags(_) => {
            OperationResultTr::SetTrustLineFlags(SetTrustLineFlagsResult::Success)
        }
        // What an untouched merge would have moved is not known; the network writes zero.
        OperationBody::AccountMerge(_) => OperationResultTr::AccountMerge(AccountMergeResult::Success(0)),
        OperationBody::BeginSponsoringFutureReserves(_) => {
            OperationResultTr::BeginSponsoringFutureReserves(BeginSponsoringFutureReservesResult::Success)
        }
        OperationBody::EndSponsoringFutureReserves => {
            OperationResultTr::EndSponsoringFutureReserves(EndSponsoringFutureReservesResult::Success)
        }
        OperationBody::InvokeHostFunction(_) => {
            OperationResultTr::InvokeHostFunction(InvokeHostFunctionResult::Success(Hash([0; 32])))
        }
        OperationBody::ExtendFootprintTtl(_) => {
            OperationResultTr::ExtendFootprintTtl(ExtendFootprintTtlResult::Success)
        }
        OperationBody::RestoreFootprint(_) => {
            OperationResultTr::RestoreFootprint(RestoreFootprintResult::Success)
        }
        _ => return OperationResult::OpNotSupported,
    })
}
