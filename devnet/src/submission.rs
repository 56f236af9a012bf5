//! What became of an envelope that was handed in.

use crate::xdr::{DiagnosticEvent, TransactionResult};

/// What became of a submitted envelope, in the words of `sendTransaction`.
#[derive(Clone, Debug)]
pub enum Submission {
    Pending,
    Duplicate,
    TryAgainLater,
    Error { result: TransactionResult, diagnostic_events: Vec<DiagnosticEvent> },
}
