//! How smart accounts name signers and what a context rule is for.

use soroban_sdk::{Address, Bytes, BytesN, contracttype};

/// Who may sign for a smart account.
#[contracttype]
#[derive(Clone, PartialEq)]
pub enum Signer {
    Delegated(Address),
    /// A verifier contract and the key that it verifies.
    External(Address, Bytes),
}

/// What a rule is for.
#[contracttype]
#[derive(Clone)]
pub enum RuleType {
    Default,
    CallContract(Address),
    CreateContract(BytesN<32>),
}
