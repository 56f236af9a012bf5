//! The one key a wallet obeys, kept in the wallet's instance.
#![no_std]

use soroban_sdk::{BytesN, Env, Symbol, crypto::Hash, symbol_short};

const KEY: Symbol = symbol_short!("key");

/// The wallet obeys this key from now on.
pub fn keep(env: &Env, key: &BytesN<32>) {
    env.storage().instance().set(&KEY, key);
}

/// Returns if the key signed the payload; else the whole call fails.
pub fn demand(env: &Env, payload: Hash<32>, signature: &BytesN<64>) {
    let key: BytesN<32> = env.storage().instance().get(&KEY).unwrap();
    env.crypto().ed25519_verify(&key, &payload.into(), signature);
}
