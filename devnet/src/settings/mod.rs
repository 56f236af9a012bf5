//! The network's settings: chosen once, then read only from the ledger's own entries.

pub mod cost_parameters;
pub mod limits;
pub mod profile;

pub use limits::TransactionLimits;
