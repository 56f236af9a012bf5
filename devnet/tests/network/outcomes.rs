//! What became of a transaction, taken apart for assertions.

use farebox_devnet::record::TransactionRecord;
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::*;

/// The code that a refused submission names.
pub fn refusal(submission: Submission) -> TransactionResultResult {
    match submission {
        Submission::Error { result, .. } => result.result,
        other => panic!("{other:?} is not a refusal"),
    }
}

/// The fee that a refused submission names.
pub fn quoted_fee(submission: Submission) -> i64 {
    match submission {
        Submission::Error { result, .. } => result.fee_charged,
        other => panic!("{other:?} is not a refusal"),
    }
}

/// The results of a failed or successful transaction's operations.
pub fn operation_results(result: &TransactionResult) -> Vec<OperationResult> {
    match &result.result {
        TransactionResultResult::TxSuccess(results) | TransactionResultResult::TxFailed(results) => {
            results.to_vec()
        }
        TransactionResultResult::TxFeeBumpInnerSuccess(pair)
        | TransactionResultResult::TxFeeBumpInnerFailed(pair) => match &pair.result.result {
            InnerTransactionResultResult::TxSuccess(results)
            | InnerTransactionResultResult::TxFailed(results) => results.to_vec(),
            other => panic!("{other:?} has no operation results"),
        },
        other => panic!("{other:?} has no operation results"),
    }
}

pub fn only_result(record: &TransactionRecord) -> OperationResultTr {
    match operation_results(&record.result).as_slice() {
        [OperationResult::OpInner(result)] => result.clone(),
        other => panic!("{other:?} is not one inner result"),
    }
}

pub fn meta_v4(record: &TransactionRecord) -> &TransactionMetaV4 {
    match &record.meta {
        TransactionMeta::V4(meta) => meta,
        other => panic!("{other:?} is not version 4"),
    }
}
