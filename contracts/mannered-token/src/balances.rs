//! Who holds how much, and who may spend how much of it until when.

use soroban_sdk::{Address, Env, contracttype};

#[contracttype]
pub enum Key {
    Balance(Address),
    Allowance(Address, Address),
}

pub fn held(env: &Env, holder: &Address) -> i128 {
    env.storage().persistent().get(&Key::Balance(holder.clone())).unwrap_or(0)
}

/// Adds to what the holder has; nothing added leaves no entry to pay rent for.
pub fn give(env: &Env, holder: &Address, amount: i128) {
    if amount != 0 {
        let held = held(env, holder);
        env.storage().persistent().set(&Key::Balance(holder.clone()), &(held + amount));
    }
}

pub fn take(env: &Env, holder: &Address, amount: i128) {
    assert!(amount >= 0 && held(env, holder) >= amount);
    give(env, holder, -amount);
}

pub fn allow(env: &Env, from: &Address, spender: &Address, amount: i128, live_until_ledger: u32) {
    let key = Key::Allowance(from.clone(), spender.clone());
    env.storage().persistent().set(&key, &(amount, live_until_ledger));
}

/// What is left, and the last ledger it may be spent in.
pub fn allowed(env: &Env, from: &Address, spender: &Address) -> (i128, u32) {
    let key = Key::Allowance(from.clone(), spender.clone());
    let (amount, live_until_ledger) = env.storage().persistent().get(&key).unwrap_or((0, 0));
    if live_until_ledger < env.ledger().sequence() { (0, 0) } else { (amount, live_until_ledger) }
}

/// Takes from the holder, and from what the spender is allowed.
pub fn spend(env: &Env, from: &Address, spender: &Address, amount: i128) {
    let (left, live_until_ledger) = allowed(env, from, spender);
    assert!(left >= amount);
    allow(env, from, spender, left - amount, live_until_ledger);
    take(env, from, amount);
}
