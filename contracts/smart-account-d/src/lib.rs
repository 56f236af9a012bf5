//! The smart account of crate stellar-accounts 0.8.0, generation D of the accounts that sessions are
//! for: signers sign the account, the payload of the host and the ids of the rules.
#![no_std]

use soroban_sdk::{
    Address, BytesN, Env, Map, String, Symbol, Val, Vec,
    auth::{Context, CustomAccountInterface},
    contract, contractimpl,
    crypto::Hash,
};
use stellar_accounts::smart_account::{
    self, AuthDigestPreimage, AuthPayload, ContextRule, ContextRuleType, ExecutionEntryPoint, Signer,
    SmartAccount, SmartAccountError,
};

#[contract]
pub struct Account;

#[contractimpl]
impl Account {
    /// The signers may do everything.
    pub fn __constructor(env: &Env, signers: Vec<Signer>) {
        let (kind, name) = (ContextRuleType::Default, String::from_str(env, "owner"));
        smart_account::add_context_rule(env, &kind, &name, None, &signers, &Map::new(env));
    }
}

#[contractimpl]
impl CustomAccountInterface for Account {
    type Error = SmartAccountError;
    type Signature = AuthPayload;

    fn __check_auth(
        env: Env,
        payload: Hash<32>,
        signatures: AuthPayload,
        contexts: Vec<Context>,
    ) -> Result<(), SmartAccountError> {
        smart_account::do_check_auth(&env, &payload, &signatures, &contexts)
    }
}

#[contractimpl(contracttrait)]
impl SmartAccount for Account {}

#[contractimpl(contracttrait)]
impl ExecutionEntryPoint for Account {}
