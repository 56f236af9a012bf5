//! A smart wallet that says in an event what its key agreed to. The event moves nothing.
#![no_std]

use soroban_sdk::{
    BytesN, Env, Error, Vec,
    auth::{Context, CustomAccountInterface},
    contract, contractevent, contractimpl,
    crypto::Hash,
};

#[contractevent]
pub struct Agreed {
    pub calls: u32,
}

#[contract]
pub struct AnnouncingWallet;

#[contractimpl]
impl AnnouncingWallet {
    pub fn __constructor(env: Env, key: BytesN<32>) {
        owner_key::keep(&env, &key);
    }
}

#[contractimpl]
impl CustomAccountInterface for AnnouncingWallet {
    type Signature = BytesN<64>;
    type Error = Error;

    fn __check_auth(
        env: Env,
        payload: Hash<32>,
        signature: BytesN<64>,
        contexts: Vec<Context>,
    ) -> Result<(), Error> {
        owner_key::demand(&env, payload, &signature);
        Agreed { calls: contexts.len() }.publish(&env);
        Ok(())
    }
}
