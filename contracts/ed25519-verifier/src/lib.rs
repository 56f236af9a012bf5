//! Verifies ed25519 signatures for the external signers of smart accounts.
#![no_std]

use soroban_sdk::{Bytes, BytesN, Env, Vec, contract, contractimpl};

#[contract]
pub struct Ed25519Verifier;

#[contractimpl]
impl Ed25519Verifier {
    /// True if the key signed the hash; the call fails otherwise.
    pub fn verify(env: Env, hash: Bytes, key_data: BytesN<32>, sig_data: BytesN<64>) -> bool {
        env.crypto().ed25519_verify(&key_data, &hash, &sig_data);
        true
    }

    /// A key has one form only.
    pub fn canonicalize_key(_env: Env, key_data: BytesN<32>) -> Bytes {
        key_data.into()
    }

    pub fn batch_canonicalize_key(env: Env, key_data: Vec<BytesN<32>>) -> Vec<Bytes> {
        let mut keys = Vec::new(&env);
        for key in key_data {
            keys.push_back(key.into());
        }
        keys
    }
}
