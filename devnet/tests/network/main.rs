//! The network's rules, one subject a module, through the node that everything else uses.

mod asset_contract;
mod classic;
mod fees;
mod ledger;
mod lifetimes;
mod outcomes;
mod queue;
mod scene;
mod settings;
mod signatures;
mod soroban;
mod sponsorship;
mod support;
mod surge;
mod validation;
