//! What the faults that are set change inside one call; the default changes nothing.

use serde::{Deserialize, Serialize};

use super::view::Sight;

/// The cursor of an empty page of getTransactions.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CursorMode {
    /// `"0"`.
    Zero,
    /// The start of the ledger that the request begins in, so that it is listed again.
    Rewind,
    /// The request's own cursor; empty when it has none.
    Echo,
    /// The empty text.
    Empty,
}

/// How sendTransaction treats an envelope that it could read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmissionEffect {
    #[default]
    Queued,
    /// Answered TRY_AGAIN_LATER, not queued.
    TryAgainLater,
    /// Answered PENDING, not queued: a core that is out of sync.
    OutOfSync,
    /// Answered with the error for core's status FILTERED, not queued.
    Filtered,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallEffects {
    pub sight: Sight,
    pub submission: SubmissionEffect,
    /// The text of a simulation's only `error`.
    pub simulation_error: Option<String>,
    pub hides_simulation_events: bool,
    pub empty_page_cursor: Option<CursorMode>,
    /// getTransactions and getEvents answer as though their ledgers held nothing.
    pub lists_nothing: bool,
    /// Bytes by which the answer grows.
    pub padding_bytes: usize,
}
