//! A token of the standard interface (SEP-41) whose `transfer` may do other than it says.
//!
//! It is honest until told its manners. Anybody may tell it, anybody may mint, and anybody may
//! replace its code: it is worth nothing.
#![no_std]

mod balances;
mod events;
mod manners;

use soroban_sdk::{
    Address, BytesN, Env, MuxedAddress, String, contract, contractimpl, token::TokenInterface,
};

use crate::balances::{allow, allowed, give, held, spend, take};
use crate::events::{Approve, Burn, Mint, Transfer};
use crate::manners::{Manners, share};

#[contract]
pub struct ManneredToken;

#[contractimpl]
impl ManneredToken {
    pub fn behave(env: Env, manners: Manners) {
        manners.keep(&env);
    }

    pub fn mint(env: Env, to: Address, amount: i128) {
        give(&env, &to, amount);
        Mint { to, amount }.publish(&env);
    }

    /// The contract is what this code says from the next call on.
    pub fn upgrade(env: Env, wasm_hash: BytesN<32>) {
        env.deployer().update_current_contract_wasm(wasm_hash);
    }
}

#[contractimpl]
impl TokenInterface for ManneredToken {
    /// The only function that has manners. A mux id of the recipient is dropped.
    fn transfer(env: Env, from: Address, to: MuxedAddress, amount: i128) {
        from.require_auth();
        let manners = Manners::kept(&env);
        let to = to.address();
        take(&env, &from, share(amount, manners.taken));
        give(&env, &to, share(amount, manners.given));
        manners.run_errand(&env);
        manners.tell(&env, &from, &to, amount);
    }

    fn transfer_from(env: Env, spender: Address, from: Address, to: Address, amount: i128) {
        spender.require_auth();
        spend(&env, &from, &spender, amount);
        give(&env, &to, amount);
        Transfer { from, to, amount }.publish(&env);
    }

    fn approve(env: Env, from: Address, spender: Address, amount: i128, live_until_ledger: u32) {
        from.require_auth();
        allow(&env, &from, &spender, amount, live_until_ledger);
        Approve { from, spender, amount, live_until_ledger }.publish(&env);
    }

    fn allowance(env: Env, from: Address, spender: Address) -> i128 {
        allowed(&env, &from, &spender).0
    }

    fn balance(env: Env, id: Address) -> i128 {
        held(&env, &id)
    }

    fn burn(env: Env, from: Address, amount: i128) {
        from.require_auth();
        take(&env, &from, amount);
        Burn { from, amount }.publish(&env);
    }

    fn burn_from(env: Env, spender: Address, from: Address, amount: i128) {
        spender.require_auth();
        spend(&env, &from, &spender, amount);
        Burn { from, amount }.publish(&env);
    }

    fn decimals(_env: Env) -> u32 {
        7
    }

    fn name(env: Env) -> String {
        String::from_str(&env, "Mannered")
    }

    fn symbol(env: Env) -> String {
        String::from_str(&env, "MNR")
    }
}
