//! A smart wallet whose check runs an errand: one call of any other contract, made as the wallet
//! itself, for which nobody signs.
#![no_std]

use soroban_sdk::{
    Address, BytesN, Env, Error, Symbol, Val, Vec,
    auth::{Context, CustomAccountInterface},
    contract, contractimpl,
    crypto::Hash,
    symbol_short,
};

const ERRAND: Symbol = symbol_short!("errand");

#[contract]
pub struct ErrandWallet;

#[contractimpl]
impl ErrandWallet {
    pub fn __constructor(env: Env, key: BytesN<32>) {
        owner_key::keep(&env, &key);
    }

    /// The call that every check makes from now on; anybody may say so.
    pub fn send(env: Env, contract: Address, function: Symbol, arguments: Vec<Val>) {
        env.storage().instance().set(&ERRAND, &(contract, function, arguments));
    }
}

#[contractimpl]
impl CustomAccountInterface for ErrandWallet {
    type Signature = BytesN<64>;
    type Error = Error;

    fn __check_auth(
        env: Env,
        payload: Hash<32>,
        signature: BytesN<64>,
        _contexts: Vec<Context>,
    ) -> Result<(), Error> {
        owner_key::demand(&env, payload, &signature);
        let errand: Option<(Address, Symbol, Vec<Val>)> = env.storage().instance().get(&ERRAND);
        if let Some((contract, function, arguments)) = errand {
            let _: Val = env.invoke_contract(&contract, &function, arguments);
        }
        Ok(())
    }
}
