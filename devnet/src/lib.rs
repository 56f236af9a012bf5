//! A local Stellar network: one validator's rules on the published Soroban host, without consensus.

pub mod accounts;
pub mod codec;
pub mod draft;
pub mod edge;
pub mod entries;
pub mod events;
pub mod history;
pub mod host;
pub mod node;
pub mod operations;
pub mod record;
pub mod results;
pub mod settings;
pub mod signatures;
pub mod simulation;
pub mod transaction;
pub mod validation;

pub use soroban_env_host::xdr;
