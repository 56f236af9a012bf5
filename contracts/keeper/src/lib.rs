//! A target of automation: a counter that rises when its condition holds and its gap has passed.
//!
//! Anybody may set the condition, feed it and replace its code: it is worth nothing.
#![no_std]

use soroban_sdk::{
    Address, BytesN, Env, Symbol, contract, contracterror, contractevent, contractimpl, contracttype,
    panic_with_error, symbol_short, token::TokenClient,
};

const STATE: Symbol = symbol_short!("state");

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum KeeperError {
    /// The condition does not hold.
    NotDue = 1,
    /// The gap since the last run has not passed.
    TooSoon = 2,
}

#[contracttype]
#[derive(Clone)]
pub struct State {
    /// How many runs there were.
    pub count: u32,
    /// The executor must authorize a run.
    pub demands: bool,
    /// The condition.
    pub due: bool,
    /// Least seconds between two runs.
    pub gap: u64,
    /// Who ran last, and at which ledger time.
    pub last: Option<(Address, u64)>,
}

#[contractevent(topics = ["run"])]
pub struct Run {
    #[topic]
    pub executor: Address,
    pub count: u32,
}

#[contract]
pub struct Keeper;

#[contractimpl]
impl Keeper {
    pub fn __constructor(env: Env, demands: bool, gap: u64) {
        store(&env, &State { count: 0, demands, due: true, gap, last: None });
    }

    /// True if a run now would do something.
    pub fn autolayer_check(env: Env) -> bool {
        let state = load(&env);
        state.due && has_gap_passed(&env, &state)
    }

    /// Counts one run and returns the new count; checks the condition and the gap again.
    pub fn autolayer_run(env: Env, executor: Address) -> u32 {
        let mut state = load(&env);
        if state.demands {
            executor.require_auth();
        }
        if !state.due {
            panic_with_error!(&env, KeeperError::NotDue);
        }
        if !has_gap_passed(&env, &state) {
            panic_with_error!(&env, KeeperError::TooSoon);
        }
        state.count += 1;
        state.last = Some((executor.clone(), env.ledger().timestamp()));
        store(&env, &state);
        Run { executor, count: state.count }.publish(&env);
        state.count
    }

    /// Sets the condition.
    pub fn arrange(env: Env, due: bool) {
        let state = load(&env);
        store(&env, &State { due, ..state });
    }

    /// Takes an amount of a token from `from` and counts one run.
    pub fn feed(env: Env, from: Address, token: Address, amount: i128) -> u32 {
        from.require_auth();
        TokenClient::new(&env, &token).transfer(&from, env.current_contract_address(), &amount);
        let mut state = load(&env);
        state.count += 1;
        store(&env, &state);
        Run { executor: from, count: state.count }.publish(&env);
        state.count
    }

    pub fn state(env: Env) -> State {
        load(&env)
    }

    pub fn upgrade(env: Env, wasm_hash: BytesN<32>) {
        env.deployer().update_current_contract_wasm(wasm_hash);
    }
}

fn load(env: &Env) -> State {
    env.storage().instance().get(&STATE).unwrap()
}

fn store(env: &Env, state: &State) {
    env.storage().instance().set(&STATE, state);
}

fn has_gap_passed(env: &Env, state: &State) -> bool {
    match &state.last {
        Some((_, at)) => env.ledger().timestamp() >= at + state.gap,
        None => true,
    }
}
