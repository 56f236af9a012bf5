//! The draft profile `allowance-captor-v0` of the scheme `upto`: a payer grants at most an amount,
//! and the named captor takes what was used of it, once, straight from the payer to the payee.
//!
//! It has no owner, keeps no balance, and nobody can change it.
#![no_std]

mod records;

use soroban_sdk::{
    Address, BytesN, Env, IntoVal, String, contract, contracterror, contractevent, contractimpl,
    contracttype, panic_with_error, token::TokenClient,
};

use crate::records::{Status, demand_open, read, store};

/// The longest life of a grant in ledgers: about a day.
const LONGEST: u32 = 17_280;

#[contracterror]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum UptoError {
    NotYetValid = 1,
    Expired = 2,
    /// The grant's expiration is too far away for its record to outlive it.
    ExpiresTooLate = 3,
    /// The amount is below 0 or above the maximum.
    AmountRefused = 4,
    AlreadyCaptured = 5,
    Cancelled = 6,
    Voided = 7,
    /// The token left an allowance, or moved something to or from this contract.
    TokenRefused = 8,
}

/// What the payer signs.
#[contracttype]
#[derive(Clone)]
pub struct Grant {
    pub asset: Address,
    /// Who alone may capture or void.
    pub captor: Address,
    /// Hash of the accepted requirements and the resource's URL.
    pub context: BytesN<32>,
    /// The last ledger of a capture, of the authorization and of the allowance.
    pub expiration_ledger: u32,
    pub max_amount: i128,
    pub nonce: BytesN<32>,
    pub not_after: u64,
    pub not_before: u64,
    pub pay_to: Address,
    pub payer: Address,
}

#[contractevent(topics = ["capture"])]
pub struct Capture {
    #[topic]
    pub payer: Address,
    #[topic]
    pub pay_to: Address,
    #[topic]
    pub nonce: BytesN<32>,
    pub amount: i128,
    pub asset: Address,
    pub captor: Address,
    pub context: BytesN<32>,
    pub max_amount: i128,
    pub usage: BytesN<32>,
}

#[contract]
pub struct UptoSettlement;

#[contractimpl]
impl UptoSettlement {
    /// Moves `amount` from the payer to the payee and ends the grant; returns the amount. The payer
    /// has signed the grant alone, so that the captor says the amount and what was used for it.
    pub fn capture(env: Env, grant: Grant, amount: i128, usage: BytesN<32>) -> i128 {
        grant.payer.require_auth_for_args((grant.clone(),).into_val(&env));
        grant.captor.require_auth();
        check_window(&env, &grant);
        if amount < 0 || amount > grant.max_amount {
            panic_with_error!(&env, UptoError::AmountRefused);
        }
        demand_open(&env, &grant.payer, &grant.captor, &grant.nonce);
        store(&env, &grant, Status::Captured(amount)); // before the token is called
        if amount > 0 {
            pay(&env, &grant, amount);
        }
        let Grant { asset, captor, context, max_amount, nonce, pay_to, payer, .. } = grant;
        Capture { payer, pay_to, nonce, amount, asset, captor, context, max_amount, usage }.publish(&env);
        amount
    }

    /// Ends an open grant: the payer.
    pub fn cancel(env: Env, grant: Grant) {
        grant.payer.require_auth();
        demand_open(&env, &grant.payer, &grant.captor, &grant.nonce);
        store(&env, &grant, Status::Cancelled);
    }

    /// Ends what this payer grants this captor under this nonce, for ever: the captor promises that
    /// it costs nothing.
    pub fn void(env: Env, payer: Address, captor: Address, nonce: BytesN<32>) {
        captor.require_auth();
        demand_open(&env, &payer, &captor, &nonce);
        records::store_void(&env, &payer, &captor, &nonce);
    }

    pub fn status(env: Env, payer: Address, captor: Address, nonce: BytesN<32>) -> Status {
        read(&env, &payer, &captor, &nonce)
    }

    pub fn profile(env: Env) -> String {
        String::from_str(&env, "allowance-captor-v0")
    }
}

fn check_window(env: &Env, grant: &Grant) {
    let (now, ledger) = (env.ledger().timestamp(), env.ledger().sequence());
    if now < grant.not_before {
        panic_with_error!(env, UptoError::NotYetValid);
    }
    if now > grant.not_after || ledger > grant.expiration_ledger {
        panic_with_error!(env, UptoError::Expired);
    }
    if grant.expiration_ledger - ledger > LONGEST {
        panic_with_error!(env, UptoError::ExpiresTooLate);
    }
}

/// Allows the maximum, moves the amount, and takes the rest of the allowance back.
fn pay(env: &Env, grant: &Grant, amount: i128) {
    let here = env.current_contract_address();
    let token = TokenClient::new(env, &grant.asset);
    let held = token.balance(&here);
    token.approve(&grant.payer, &here, &grant.max_amount, &grant.expiration_ledger);
    token.transfer_from(&here, &grant.payer, &grant.pay_to, &amount);
    if amount < grant.max_amount {
        token.approve(&grant.payer, &here, &0, &0);
    }
    if token.allowance(&grant.payer, &here) != 0 || token.balance(&here) != held {
        panic_with_error!(env, UptoError::TokenRefused);
    }
}
