//! A local Stellar network: one validator's rules on the published Soroban host, without consensus.

pub mod edge;
pub mod entries;
pub mod history;
pub mod node;
pub mod record;
pub mod simulation;

pub use soroban_env_host::xdr;
