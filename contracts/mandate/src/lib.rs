//! A contract that holds one owner's mandate: it takes from the owner, by an allowance, what one
//! of the listed calls needs, makes the call as itself, and sends what is left or came in back to
//! the owner. It keeps no balance between runs.
//!
//! The factory makes one instance for each specification, since an account has one allowance for
//! each spender.
#![no_std]

mod runs;
mod state;

use session_rules::{
    Invocation, RuleError, SessionSpec, Uses, check_spec, check_window, close_digest, ledgers_to_keep,
    policy_id, run_digest,
};
use soroban_sdk::{
    Address, Bytes, BytesN, Env, Map, Val, Vec, contract, contractevent, contractimpl, panic_with_error,
};

use crate::state::State;

const MODE: &str = "mandate";

#[contractevent(topics = ["run_done"])]
pub struct RunDone {
    #[topic]
    pub policy_id: BytesN<32>,
    #[topic]
    pub run_index: u32,
    /// What was taken from the owner.
    pub taken: Map<Address, i128>,
    /// What was sent to the owner.
    pub returned: Map<Address, i128>,
}

#[contractevent(topics = ["mandate_closed"])]
pub struct MandateClosed {
    #[topic]
    pub policy_id: BytesN<32>,
}

#[contract]
pub struct Mandate;

#[contractimpl]
impl Mandate {
    pub fn __constructor(env: Env, spec: SessionSpec) {
        check_spec(&env, &spec, MODE);
        let id = policy_id(&env, &spec);
        state::store_spec(&env, &spec, &id);
        state::store(&env, &State { closed: false, last_index: None, uses: Uses::new(&env) });
        let ledgers = ledgers_to_keep(&env, &spec);
        state::extend(&env, ledgers, ledgers);
    }

    /// Makes one run, which anybody may submit: a root call and what is nested under it, signed by
    /// the delegate. Returns what the root call returned.
    pub fn run(
        env: Env,
        run_index: u32,
        valid_until: u32,
        calls: Vec<Invocation>,
        signature: BytesN<64>,
    ) -> Val {
        let (spec, id) = state::spec(&env);
        let mut state = state::load(&env);
        if state.closed {
            panic_with_error!(&env, RuleError::Closed);
        }
        check_window(&env, &spec);
        if state.last_index.is_some_and(|last| run_index <= last) {
            panic_with_error!(&env, RuleError::RunIndexUsed);
        }
        if env.ledger().sequence() > valid_until {
            panic_with_error!(&env, RuleError::SignatureExpired);
        }
        let here = env.current_contract_address();
        let digest: Bytes = run_digest(&env, &here, &id, run_index, valid_until, &calls).into();
        env.crypto().ed25519_verify(&spec.delegate, &digest, &signature);
        let taken = runs::count(&env, &spec, &mut state.uses, &calls);
        state.last_index = Some(run_index);
        state::store(&env, &state); // before any other contract is called
        let ledgers = ledgers_to_keep(&env, &spec);
        state::extend(&env, ledgers / 2, ledgers);
        runs::take(&env, &spec, &taken);
        let result = runs::make(&env, &spec, &calls);
        let returned = runs::give_back(&env, &spec);
        RunDone { policy_id: id, run_index, taken, returned }.publish(&env);
        result
    }

    /// Closes the mandate for ever: its owner, or anybody with the delegate's signature.
    pub fn close(env: Env, signature: Option<BytesN<64>>) {
        let (spec, id) = state::spec(&env);
        match signature {
            None => spec.account.require_auth(),
            Some(signature) => {
                let digest: Bytes = close_digest(&env, &env.current_contract_address(), &id).into();
                env.crypto().ed25519_verify(&spec.delegate, &digest, &signature);
            }
        }
        let state = state::load(&env);
        state::store(&env, &State { closed: true, ..state });
        MandateClosed { policy_id: id }.publish(&env);
    }

    /// Sends a token that strayed here to the owner; anybody may ask for it.
    pub fn sweep(env: Env, token: Address) -> i128 {
        runs::send_all(&env, &token, &state::spec(&env).0.account)
    }

    pub fn spec(env: Env) -> SessionSpec {
        state::spec(&env).0
    }

    pub fn policy_id(env: Env) -> BytesN<32> {
        state::spec(&env).1
    }

    pub fn state(env: Env) -> State {
        state::load(&env)
    }
}
