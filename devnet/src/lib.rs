//! A local Stellar network: one validator's rules on the published Soroban host, without consensus.

pub mod accounts;
pub mod apply;
pub mod assembly;
pub mod bans;
pub mod chain;
mod chain_thread;
pub mod clusters;
pub mod codec;
pub mod draft;
pub mod edge;
pub mod entries;
pub mod events;
pub mod genesis;
pub mod header;
pub mod history;
pub mod host;
pub mod injection;
pub mod ledger_space;
pub mod meta;
pub mod node;
pub mod operations;
pub mod queue;
pub mod record;
pub mod results;
pub mod settings;
pub mod signatures;
pub mod simulation;
pub mod sponsorship;
pub mod surge;
pub mod transaction;
pub mod transaction_set;
pub mod validation;
pub mod workers;

pub use soroban_env_host::xdr;
