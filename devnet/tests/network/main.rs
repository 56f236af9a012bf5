//! The network's rules, one subject a module, through the node that everything else uses.

mod asset_contract;
mod classic;
mod fees;
mod ledger;
mod lifetimes;
mod queue;
mod settings;
mod signatures;
mod soroban;
mod support;
mod validation;
