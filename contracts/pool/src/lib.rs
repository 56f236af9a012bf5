//! A constant-product pool of two tokens with the calls of a Soroswap pair, without shares: what is
//! in it belongs to nobody.
#![no_std]

use soroban_sdk::{
    Address, Env, Symbol, contract, contracterror, contractevent, contractimpl, contracttype,
    panic_with_error, symbol_short, token::TokenClient,
};

const PAIR: Symbol = symbol_short!("pair");
/// The fee of a swap in thousandths of what goes in.
const FEE: i128 = 3;

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum PoolError {
    InsufficientOutput = 1,
    InsufficientLiquidity = 2,
    InsufficientInput = 3,
    ConstantProduct = 4,
    IdenticalTokens = 5,
}

#[contracttype]
#[derive(Clone)]
pub struct Pair {
    pub reserve_0: i128,
    pub reserve_1: i128,
    pub token_0: Address,
    pub token_1: Address,
}

#[contractevent(topics = ["swap"])]
pub struct Swap {
    #[topic]
    pub to: Address,
    pub in_0: i128,
    pub in_1: i128,
    pub out_0: i128,
    pub out_1: i128,
}

#[contract]
pub struct Pool;

#[contractimpl]
impl Pool {
    pub fn __constructor(env: Env, token_0: Address, token_1: Address) {
        if token_0 == token_1 {
            panic_with_error!(&env, PoolError::IdenticalTokens);
        }
        store(&env, &Pair { reserve_0: 0, reserve_1: 0, token_0, token_1 });
    }

    /// Takes what was transferred here as reserves.
    pub fn sync(env: Env) {
        let pair = load(&env);
        let (reserve_0, reserve_1) = balances(&env, &pair);
        store(&env, &Pair { reserve_0, reserve_1, ..pair });
    }

    /// Sends what is here above the reserves to whom the caller names.
    pub fn skim(env: Env, to: Address) {
        let pair = load(&env);
        let (held_0, held_1) = balances(&env, &pair);
        send(&env, &pair.token_0, &to, held_0 - pair.reserve_0);
        send(&env, &pair.token_1, &to, held_1 - pair.reserve_1);
    }

    /// Sends the amounts out if enough of the other token came in before.
    pub fn swap(env: Env, amount_0_out: i128, amount_1_out: i128, to: Address) {
        let pair = load(&env);
        if amount_0_out < 0 || amount_1_out < 0 || amount_0_out + amount_1_out == 0 {
            panic_with_error!(&env, PoolError::InsufficientOutput);
        }
        if amount_0_out >= pair.reserve_0 || amount_1_out >= pair.reserve_1 {
            panic_with_error!(&env, PoolError::InsufficientLiquidity);
        }
        send(&env, &pair.token_0, &to, amount_0_out);
        send(&env, &pair.token_1, &to, amount_1_out);
        let (held_0, held_1) = balances(&env, &pair);
        let in_0 = came_in(held_0, pair.reserve_0 - amount_0_out);
        let in_1 = came_in(held_1, pair.reserve_1 - amount_1_out);
        if in_0 + in_1 == 0 {
            panic_with_error!(&env, PoolError::InsufficientInput);
        }
        let after = (held_0 * 1000 - in_0 * FEE) * (held_1 * 1000 - in_1 * FEE);
        if after < pair.reserve_0 * pair.reserve_1 * 1_000_000 {
            panic_with_error!(&env, PoolError::ConstantProduct);
        }
        store(&env, &Pair { reserve_0: held_0, reserve_1: held_1, ..pair });
        Swap { to, in_0, in_1, out_0: amount_0_out, out_1: amount_1_out }.publish(&env);
    }

    pub fn get_reserves(env: Env) -> (i128, i128) {
        let pair = load(&env);
        (pair.reserve_0, pair.reserve_1)
    }

    pub fn token_0(env: Env) -> Address {
        load(&env).token_0
    }

    pub fn token_1(env: Env) -> Address {
        load(&env).token_1
    }
}

fn load(env: &Env) -> Pair {
    env.storage().instance().get(&PAIR).unwrap()
}

fn store(env: &Env, pair: &Pair) {
    env.storage().instance().set(&PAIR, pair);
}

fn balances(env: &Env, pair: &Pair) -> (i128, i128) {
    let here = env.current_contract_address();
    let held = |token| TokenClient::new(env, token).balance(&here);
    (held(&pair.token_0), held(&pair.token_1))
}

fn send(env: &Env, token: &Address, to: &Address, amount: i128) {
    if amount > 0 {
        TokenClient::new(env, token).transfer(&env.current_contract_address(), to, &amount);
    }
}

fn came_in(held: i128, expected: i128) -> i128 {
    if held > expected { held - expected } else { 0 }
}
