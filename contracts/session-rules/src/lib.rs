//! What a delegate key may call: the session specification of automation, its policy id, and the
//! rules that a guard or a mandate checks before each call.
#![no_std]

mod arguments;
mod check;
mod digests;
mod errors;
mod oracle;
mod spec;
mod uses;

pub use crate::arguments::match_row;
pub use crate::check::check_spec;
pub use crate::digests::{close_digest, policy_id, run_digest};
pub use crate::errors::RuleError;
pub use crate::spec::{ArgRule, Call, Cap, Invocation, OracleFloor, SessionSpec};
pub use crate::uses::{Ticket, Uses, check_window, ledgers_to_keep};
