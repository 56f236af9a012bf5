//! What a mandate keeps, all of it in its instance.

use session_rules::{SessionSpec, Uses};
use soroban_sdk::{BytesN, Env, Symbol, contracttype, symbol_short};

const SPEC: Symbol = symbol_short!("spec");
const ID: Symbol = symbol_short!("id");
const STATE: Symbol = symbol_short!("state");

#[contracttype]
#[derive(Clone)]
pub struct State {
    pub closed: bool,
    /// The index of the last run.
    pub last_index: Option<u32>,
    pub uses: Uses,
}

pub fn store_spec(env: &Env, spec: &SessionSpec, id: &BytesN<32>) {
    env.storage().instance().set(&SPEC, spec);
    env.storage().instance().set(&ID, id);
}

pub fn spec(env: &Env) -> (SessionSpec, BytesN<32>) {
    let storage = env.storage().instance();
    (storage.get(&SPEC).unwrap(), storage.get(&ID).unwrap())
}

pub fn store(env: &Env, state: &State) {
    env.storage().instance().set(&STATE, state);
}

pub fn load(env: &Env) -> State {
    env.storage().instance().get(&STATE).unwrap()
}

/// Keeps the instance and its code so many ledgers, if it would end within `threshold` ledgers.
pub fn extend(env: &Env, threshold: u32, ledgers: u32) {
    env.storage().instance().extend_ttl(threshold, ledgers);
}
