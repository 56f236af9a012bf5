//! A context rule of a smart account, as far as the guard depends on it. It is read by name, since
//! the generations of accounts have rules of different fields.

use session_rules::{RuleError, SessionSpec};
use soroban_sdk::{
    Address, Bytes, BytesN, Env, Map, Symbol, TryFromVal, Val, Vec, contracttype, panic_with_error,
};

pub type RuleFields = Map<Symbol, Val>;

/// Who may sign for a smart account.
#[contracttype]
#[derive(Clone, PartialEq)]
pub enum Signer {
    Delegated(Address),
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

/// An accepted rule: for calls of one contract, signed by the delegate alone.
pub struct Rule {
    pub id: u32,
    pub contract: Address,
    pub verifier: Address,
}

pub fn rule_id(env: &Env, fields: &RuleFields) -> u32 {
    field(env, fields, "id")
}

/// Reads a rule that is to be installed; refuses one that is wider than the specification.
pub fn read_rule(env: &Env, fields: &RuleFields, spec: &SessionSpec) -> Rule {
    let RuleType::CallContract(contract) = field(env, fields, "context_type") else {
        panic_with_error!(env, RuleError::RuleRefused)
    };
    let signers: Vec<Signer> = field(env, fields, "signers");
    let until: Option<u32> = field(env, fields, "valid_until");
    let is_listed = spec.calls.iter().any(|call| call.contract == contract);
    let verifier = match signers.get(0) {
        Some(Signer::External(verifier, key)) if key == Bytes::from(spec.delegate.clone()) => verifier,
        _ => panic_with_error!(env, RuleError::RuleRefused),
    };
    if signers.len() != 1 || until.is_none() || !is_listed {
        panic_with_error!(env, RuleError::RuleRefused);
    }
    Rule { id: rule_id(env, fields), contract, verifier }
}

fn field<T: TryFromVal<Env, Val>>(env: &Env, fields: &RuleFields, name: &str) -> T {
    let value = fields.get(Symbol::new(env, name));
    match value.map(|value| T::try_from_val(env, &value)) {
        Some(Ok(read)) => read,
        _ => panic_with_error!(env, RuleError::RuleRefused),
    }
}
