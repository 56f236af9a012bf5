//! Makes mandates: one instance for each specification, at an address that its policy id fixes.
#![no_std]

use session_rules::{SessionSpec, policy_id};
use soroban_sdk::{
    Address, BytesN, Env, Symbol, contract, contractevent, contractimpl, symbol_short, token::TokenClient,
};

const CODE: Symbol = symbol_short!("code");
const DAY: u32 = 17_280;

#[contractevent(topics = ["mandate_opened"])]
pub struct MandateOpened {
    #[topic]
    pub owner: Address,
    #[topic]
    pub policy_id: BytesN<32>,
    pub mandate: Address,
}

#[contract]
pub struct MandateFactory;

#[contractimpl]
impl MandateFactory {
    /// `code` is the hash of the mandate's wasm, for ever.
    pub fn __constructor(env: Env, code: BytesN<32>) {
        env.storage().instance().set(&CODE, &code);
    }

    /// Makes the mandate of this specification, and the owner's approvals for it up to the ledger
    /// `live_until`: one signature of the owner covers both.
    pub fn open(env: Env, spec: SessionSpec, live_until: u32) -> Address {
        let owner = spec.account.clone();
        owner.require_auth();
        let (policy_id, code) = (policy_id(&env, &spec), code(&env));
        let mandate =
            env.deployer().with_current_contract(policy_id.clone()).deploy_v2(code, (spec.clone(),));
        for cap in spec.caps.iter().filter(|cap| cap.total > 0) {
            TokenClient::new(&env, &cap.token).approve(&owner, &mandate, &cap.total, &live_until);
        }
        env.storage().instance().extend_ttl(DAY, 30 * DAY);
        MandateOpened { owner, policy_id, mandate: mandate.clone() }.publish(&env);
        mandate
    }

    /// Where the mandate of this policy id is or will be.
    pub fn address_of(env: Env, policy_id: BytesN<32>) -> Address {
        env.deployer().with_current_contract(policy_id).deployed_address()
    }

    pub fn policy_id_of(env: Env, spec: SessionSpec) -> BytesN<32> {
        policy_id(&env, &spec)
    }

    pub fn code(env: Env) -> BytesN<32> {
        code(&env)
    }
}

fn code(env: &Env) -> BytesN<32> {
    env.storage().instance().get(&CODE).unwrap()
}
