//! What the guard keeps of each session of each account.

use session_rules::{RuleError, SessionSpec, Ticket, Uses, ledgers_to_keep};
use soroban_sdk::{Address, BytesN, Env, IntoVal, Map, Val, contracttype, panic_with_error};

#[contracttype]
pub enum Key {
    /// The session that a rule of an account belongs to.
    Installed(Address, u32),
    Spec(Address, BytesN<32>),
    State(Address, BytesN<32>),
    /// Temporary: what may be nested in the current ledger.
    Ticket(Address, BytesN<32>),
}

/// One rule's place in its session.
#[contracttype]
#[derive(Clone)]
pub struct Installed {
    pub contract: Address,
    pub policy_id: BytesN<32>,
    pub verifier: Address,
}

/// What changes of a session.
#[contracttype]
#[derive(Clone)]
pub struct State {
    pub closed: bool,
    /// The rule of each contract.
    pub rules: Map<Address, u32>,
    pub uses: Uses,
}

pub fn installed(env: &Env, account: &Address, rule_id: u32) -> Option<Installed> {
    env.storage().persistent().get(&Key::Installed(account.clone(), rule_id))
}

pub fn spec(env: &Env, account: &Address, policy_id: &BytesN<32>) -> Option<SessionSpec> {
    env.storage().persistent().get(&Key::Spec(account.clone(), policy_id.clone()))
}

pub fn state(env: &Env, account: &Address, policy_id: &BytesN<32>) -> Option<State> {
    env.storage().persistent().get(&Key::State(account.clone(), policy_id.clone()))
}

/// The value, or a refusal: a session whose state is missing allows nothing.
pub fn demand<T>(env: &Env, found: Option<T>) -> T {
    match found {
        Some(value) => value,
        None => panic_with_error!(env, RuleError::NotFound),
    }
}

/// Keeps a value to the end of the session.
pub fn keep<T: IntoVal<Env, Val>>(env: &Env, key: &Key, value: &T, ledgers: u32) {
    env.storage().persistent().set(key, value);
    env.storage().persistent().extend_ttl(key, ledgers, ledgers);
    env.storage().instance().extend_ttl(ledgers / 2, ledgers);
}

pub fn ticket(env: &Env, account: &Address, policy_id: &BytesN<32>) -> Option<Ticket> {
    env.storage().temporary().get(&Key::Ticket(account.clone(), policy_id.clone()))
}

pub fn keep_ticket(env: &Env, account: &Address, policy_id: &BytesN<32>, ticket: &Ticket) {
    env.storage().temporary().set(&Key::Ticket(account.clone(), policy_id.clone()), ticket);
}

/// Keeps what changed, and extends the rest of the session, each once half of its time has passed.
pub fn keep_uses(
    env: &Env,
    account: &Address,
    rule_id: u32,
    found: &Installed,
    spec: &SessionSpec,
    state: &State,
) {
    let (account, id) = (account.clone(), found.policy_id.clone());
    let state_key = Key::State(account.clone(), id.clone());
    env.storage().persistent().set(&state_key, state);
    let ledgers = ledgers_to_keep(env, spec);
    for key in [state_key, Key::Spec(account.clone(), id), Key::Installed(account, rule_id)] {
        env.storage().persistent().extend_ttl(&key, ledgers / 2, ledgers);
    }
    env.storage().instance().extend_ttl(ledgers / 2, ledgers);
}
