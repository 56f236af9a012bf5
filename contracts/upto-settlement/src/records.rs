//! How grants ended. A record outlives the authorization that it closes.

use soroban_sdk::{Address, BytesN, Env, contracttype, panic_with_error};

use crate::{Grant, UptoError};

#[contracttype]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    Captured(i128),
    Cancelled,
    Voided,
}

/// The captor is part of the key, since a void has no signature of the payer: nobody can end what
/// was granted to another.
#[contracttype]
pub enum Key {
    Grant(Address, Address, BytesN<32>),
}

pub fn read(env: &Env, payer: &Address, captor: &Address, nonce: &BytesN<32>) -> Status {
    let key = Key::Grant(payer.clone(), captor.clone(), nonce.clone());
    env.storage().temporary().get(&key).unwrap_or(Status::Open)
}

pub fn demand_open(env: &Env, payer: &Address, captor: &Address, nonce: &BytesN<32>) {
    let refusal = match read(env, payer, captor, nonce) {
        Status::Open => return,
        Status::Captured(_) => UptoError::AlreadyCaptured,
        Status::Cancelled => UptoError::Cancelled,
        Status::Voided => UptoError::Voided,
    };
    panic_with_error!(env, refusal)
}

/// Keeps the record past the last ledger of the grant.
pub fn store(env: &Env, grant: &Grant, status: Status) {
    let ledger = env.ledger().sequence();
    if grant.expiration_ledger < ledger {
        panic_with_error!(env, UptoError::Expired);
    }
    let lives = grant.expiration_ledger - ledger;
    if lives >= env.storage().max_ttl() {
        panic_with_error!(env, UptoError::ExpiresTooLate);
    }
    let key = Key::Grant(grant.payer.clone(), grant.captor.clone(), grant.nonce.clone());
    env.storage().temporary().set(&key, &status);
    env.storage().temporary().extend_ttl(&key, lives + 1, lives + 1);
}

/// Keeps the record as long as any authorization can live.
pub fn store_void(env: &Env, payer: &Address, captor: &Address, nonce: &BytesN<32>) {
    let key = Key::Grant(payer.clone(), captor.clone(), nonce.clone());
    let longest = env.storage().max_ttl();
    env.storage().temporary().set(&key, &Status::Voided);
    env.storage().temporary().extend_ttl(&key, longest, longest);
}
