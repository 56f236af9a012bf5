//! Whether the right people signed: for the transaction, and for each operation.

use crate::accounts::{find_account, public_key};
use crate::draft::Ledger;
use crate::operations;
use crate::results::{Refusal, untouched};
use crate::signatures::{SignatureCheck, Threshold};
use crate::transaction::Frame;
use crate::validation::bounds;
use crate::xdr::{AccountEntry, Operation, OperationResult};

/// The source must reach its low threshold, and every extra signer must have signed.
pub fn check_transaction(
    frame: &Frame,
    source: &AccountEntry,
    check: &mut SignatureCheck,
) -> Result<(), Refusal> {
    if !check.reaches(source, Threshold::Low) {
        return Err(Refusal::BadAuth);
    }
    let extra = bounds::conditions(frame.tx()).map_or(&[][..], |conditions| &conditions.extra_signers[..]);
    if extra.iter().all(|signer| check.is_signed_by(signer)) { Ok(()) } else { Err(Refusal::BadAuth) }
}

/// The operation's source must reach the threshold that the operation asks for.
pub fn check_operation(
    frame: &Frame,
    operation: &Operation,
    ledger: &dyn Ledger,
    check: &mut SignatureCheck,
) -> Result<(), OperationResult> {
    let source = frame.operation_source(operation);
    match find_account(ledger, &source) {
        Some(account) => {
            let reached = check.reaches(&account, operations::threshold(operation));
            if reached { Ok(()) } else { Err(OperationResult::OpBadAuth) }
        }
        None if operation.source_account.is_none() => Err(OperationResult::OpNoAccount),
        // An earlier operation may create it; whether one did shows when the operation is applied.
        None if check.reaches_as_absent(public_key(&source)) => Ok(()),
        None => Err(OperationResult::OpBadAuth),
    }
}

/// Every signature check of a transaction that is about to be applied.
pub fn authorize(frame: &Frame, ledger: &dyn Ledger) -> Result<(), Refusal> {
    let Some(source) = find_account(ledger, &frame.source()) else { return Err(Refusal::NoAccount) };
    let mut check = SignatureCheck::new(frame.inner_hash, frame.inner_signatures());
    check_transaction(frame, &source, &mut check)?;
    let mut results: Vec<_> = frame.operations().iter().map(untouched).collect();
    let mut is_authorized = true;
    for (operation, result) in frame.operations().iter().zip(&mut results) {
        if let Err(failure) = check_operation(frame, operation, ledger, &mut check) {
            *result = failure;
            is_authorized = false;
        }
    }
    if !is_authorized {
        return Err(Refusal::Failed(results));
    }
    if check.all_used() { Ok(()) } else { Err(Refusal::BadAuthExtra) }
}
