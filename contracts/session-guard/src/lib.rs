//! A policy of smart accounts that lets a delegate key make exactly the calls of a session
//! specification: function, arguments, recipients, interval, number and sum are bound.
//!
//! One instance serves every account; what it keeps of one account only that account can change.
#![no_std]

mod events;
mod rule;
mod state;

use session_rules::{
    RuleError, SessionSpec, Ticket, Uses, check_spec, check_window, close_digest, ledgers_to_keep, match_row,
    policy_id,
};
use soroban_sdk::{
    Address, Bytes, BytesN, Env, Map, Vec,
    auth::{Context, ContractContext},
    contract, contractimpl, contracttype, panic_with_error,
};

use crate::events::{SessionClosed, SessionInstalled, SessionUsed};
use crate::rule::{RuleFields, Signer, read_rule, rule_id};
use crate::state::{Installed, Key, State, demand, keep};

const MODE: &str = "session";

/// A session as anybody may read it.
#[contracttype]
#[derive(Clone)]
pub struct Session {
    pub closed: bool,
    pub rules: Map<Address, u32>,
    pub spec: SessionSpec,
    pub uses: Uses,
}

#[contract]
pub struct SessionGuard;

#[contractimpl]
impl SessionGuard {
    /// Attaches a rule of the account to the session of this specification. The first rule begins
    /// the session; each contract has one rule.
    pub fn install(env: Env, spec: SessionSpec, rule: RuleFields, account: Address) {
        account.require_auth();
        check_spec(&env, &spec, MODE);
        let rule = read_rule(&env, &rule, &spec);
        if spec.account != account {
            panic_with_error!(&env, RuleError::SpecRefused);
        }
        let (policy_id, ledgers) = (policy_id(&env, &spec), ledgers_to_keep(&env, &spec));
        let new = || State { closed: false, rules: Map::new(&env), uses: Uses::new(&env) };
        let mut state = state::state(&env, &account, &policy_id).unwrap_or_else(new);
        if state.closed {
            panic_with_error!(&env, RuleError::Closed);
        }
        let is_known = state.rules.contains_key(rule.contract.clone());
        if is_known || state::installed(&env, &account, rule.id).is_some() {
            panic_with_error!(&env, RuleError::AlreadyInstalled);
        }
        state.rules.set(rule.contract.clone(), rule.id);
        let installed = Installed {
            contract: rule.contract.clone(),
            policy_id: policy_id.clone(),
            verifier: rule.verifier,
        };
        keep(&env, &Key::Installed(account.clone(), rule.id), &installed, ledgers);
        keep(&env, &Key::Spec(account.clone(), policy_id.clone()), &spec, ledgers);
        keep(&env, &Key::State(account.clone(), policy_id.clone()), &state, ledgers);
        SessionInstalled { account, policy_id, contract: rule.contract, rule_id: rule.id }.publish(&env);
    }

    /// Returns if the call is one that the session allows now, and counts it.
    pub fn enforce(env: Env, context: Context, signers: Vec<Signer>, rule: RuleFields, account: Address) {
        account.require_auth();
        let rule_id = rule_id(&env, &rule);
        let installed = demand(&env, state::installed(&env, &account, rule_id));
        let id = &installed.policy_id;
        let spec = demand(&env, state::spec(&env, &account, id));
        let mut state = demand(&env, state::state(&env, &account, id));
        if state.closed {
            panic_with_error!(&env, RuleError::Closed);
        }
        let delegate = Signer::External(installed.verifier.clone(), spec.delegate.clone().into());
        if !signers.contains(&delegate) {
            panic_with_error!(&env, RuleError::DelegateMissing);
        }
        check_window(&env, &spec);
        let Context::Contract(made) = context else { panic_with_error!(&env, RuleError::CallNotListed) };
        if made.contract != installed.contract {
            panic_with_error!(&env, RuleError::RuleRefused);
        }
        let held = state::ticket(&env, &account, id);
        let ticket = admit(&env, &spec, &mut state.uses, held, &made);
        state::keep_ticket(&env, &account, id, &ticket);
        state::keep_uses(&env, &account, rule_id, &installed, &spec, &state);
        SessionUsed { account, policy_id: installed.policy_id, uses: state.uses.count }.publish(&env);
    }

    /// Detaches a rule and closes its session for ever.
    pub fn uninstall(env: Env, rule: RuleFields, account: Address) {
        account.require_auth();
        let rule_id = rule_id(&env, &rule);
        let installed = demand(&env, state::installed(&env, &account, rule_id));
        env.storage().persistent().remove(&Key::Installed(account.clone(), rule_id));
        close_session(&env, account, installed.policy_id);
    }

    /// Closes a session for ever: the account itself, or anybody with the delegate's signature.
    pub fn close(env: Env, account: Address, policy_id: BytesN<32>, signature: Option<BytesN<64>>) {
        let spec = demand(&env, state::spec(&env, &account, &policy_id));
        match signature {
            None => account.require_auth(),
            Some(signature) => {
                let digest: Bytes = close_digest(&env, &env.current_contract_address(), &policy_id).into();
                env.crypto().ed25519_verify(&spec.delegate, &digest, &signature);
            }
        }
        close_session(&env, account, policy_id);
    }

    pub fn session(env: Env, account: Address, policy_id: BytesN<32>) -> Option<Session> {
        let spec = state::spec(&env, &account, &policy_id)?;
        let State { closed, rules, uses } = state::state(&env, &account, &policy_id)?;
        Some(Session { closed, rules, spec, uses })
    }

    pub fn policy_id_of(env: Env, spec: SessionSpec) -> BytesN<32> {
        policy_id(&env, &spec)
    }
}

fn close_session(env: &Env, account: Address, policy_id: BytesN<32>) {
    let key = Key::State(account.clone(), policy_id.clone());
    let mut state = demand(env, state::state(env, &account, &policy_id));
    state.closed = true;
    env.storage().persistent().set(&key, &state);
    SessionClosed { account, policy_id }.publish(env);
}

/// Counts the call as the first listed one that it satisfies; the ticket for what may follow.
fn admit(
    env: &Env,
    spec: &SessionSpec,
    uses: &mut Uses,
    held: Option<Ticket>,
    made: &ContractContext,
) -> Ticket {
    let mut refusal = RuleError::CallNotListed;
    for (at, call) in spec.calls.iter().enumerate() {
        if call.contract != made.contract || call.function != made.fn_name {
            continue;
        }
        let Some(row) = match_row(env, spec, &spec.account, &call, &made.args) else {
            refusal = refusal.max(RuleError::ArgumentRefused);
            continue;
        };
        let taken = match call.under {
            None => Some(uses.take(env, spec, at as u32, row)),
            Some(root) => held.as_ref().and_then(|ticket| ticket.nest(env, root, at as u32)),
        };
        let Some(mut ticket) = taken else {
            refusal = refusal.max(RuleError::NoTicket);
            continue;
        };
        uses.spend(env, spec, &mut ticket, &call, &made.args);
        return ticket;
    }
    panic_with_error!(env, refusal)
}
