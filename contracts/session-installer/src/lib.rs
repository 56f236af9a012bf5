//! Adds or removes all rules of a session with one signature of the account's owner. It keeps
//! nothing and may do nothing by itself.
#![no_std]

use session_rules::{RuleType, SessionSpec, Signer};
use soroban_sdk::{
    Address, Env, IntoVal, Map, String, Symbol, TryFromVal, Val, Vec, contract, contractclient,
    contracterror, contractimpl, panic_with_error,
};

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum InstallerError {
    /// The account's answer has no rule id.
    NoRuleId = 4101,
    /// The specification is of another account.
    AnotherAccount = 4102,
}

#[contractclient(name = "AccountClient")]
pub trait Account {
    fn add_context_rule(
        env: Env,
        context_type: RuleType,
        name: String,
        valid_until: Option<u32>,
        signers: Vec<Signer>,
        policies: Map<Address, Val>,
    ) -> Map<Symbol, Val>;
    fn remove_context_rule(env: Env, context_rule_id: u32);
}

#[contract]
pub struct SessionInstaller;

#[contractimpl]
impl SessionInstaller {
    /// Adds one rule for each contract that the specification calls, in its order, each with the
    /// guard as its policy and the delegate as its signer; returns the ids of the rules.
    pub fn install(
        env: Env,
        account: Address,
        guard: Address,
        verifier: Address,
        spec: SessionSpec,
        name: String,
        valid_until: u32,
    ) -> Vec<u32> {
        account.require_auth();
        if spec.account != account {
            panic_with_error!(&env, InstallerError::AnotherAccount);
        }
        let client = AccountClient::new(&env, &account);
        let delegate = Signer::External(verifier, spec.delegate.clone().into());
        let signers = Vec::from_array(&env, [delegate]);
        let mut policies: Map<Address, Val> = Map::new(&env);
        policies.set(guard, spec.into_val(&env));
        let mut ids = Vec::new(&env);
        for contract in contracts(&env, &spec) {
            let kind = RuleType::CallContract(contract);
            let added = client.add_context_rule(&kind, &name, &Some(valid_until), &signers, &policies);
            ids.push_back(id_of(&env, &added));
        }
        ids
    }

    /// Removes rules, in the order given.
    pub fn remove(env: Env, account: Address, rule_ids: Vec<u32>) {
        account.require_auth();
        for id in rule_ids {
            AccountClient::new(&env, &account).remove_context_rule(&id);
        }
    }
}

/// The contracts that are called, each once.
fn contracts(env: &Env, spec: &SessionSpec) -> Vec<Address> {
    let mut found = Vec::new(env);
    for call in spec.calls.iter() {
        if !found.contains(&call.contract) {
            found.push_back(call.contract);
        }
    }
    found
}

fn id_of(env: &Env, rule: &Map<Symbol, Val>) -> u32 {
    let id = rule.get(Symbol::new(env, "id"));
    match id.map(|id| u32::try_from_val(env, &id)) {
        Some(Ok(id)) => id,
        _ => panic_with_error!(env, InstallerError::NoRuleId),
    }
}
