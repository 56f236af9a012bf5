//! An account that is a contract: what its key signs, it agrees to.
#![no_std]

use soroban_sdk::{
    BytesN, Env, Error, Vec,
    auth::{Context, CustomAccountInterface},
    contract, contractimpl,
    crypto::Hash,
};

#[contract]
pub struct SmartWallet;

#[contractimpl]
impl SmartWallet {
    pub fn __constructor(env: Env, key: BytesN<32>) {
        owner_key::keep(&env, &key);
    }
}

#[contractimpl]
impl CustomAccountInterface for SmartWallet {
    type Signature = BytesN<64>;
    type Error = Error;

    fn __check_auth(
        env: Env,
        payload: Hash<32>,
        signature: BytesN<64>,
        _contexts: Vec<Context>,
    ) -> Result<(), Error> {
        owner_key::demand(&env, payload, &signature);
        Ok(())
    }
}
