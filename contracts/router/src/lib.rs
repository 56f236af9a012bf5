//! The calls of the Soroswap router that automation makes, with its error codes, over pools that
//! its constructor is given.
#![no_std]

use soroban_sdk::{
    Address, Env, Symbol, Vec, contract, contractclient, contracterror, contractimpl, contracttype,
    panic_with_error, symbol_short, token::TokenClient,
};

const FEE: i128 = 3;
const POOLS: Symbol = symbol_short!("pools");

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum RouterError {
    DeadlineExpired = 503,
    InsufficientOutput = 507,
    PairDoesNotExist = 509,
    InsufficientLiquidity = 511,
    InvalidPath = 514,
}

#[contractclient(name = "PoolClient")]
pub trait Pool {
    fn get_reserves(env: Env) -> (i128, i128);
    fn swap(env: Env, amount_0_out: i128, amount_1_out: i128, to: Address);
    fn token_0(env: Env) -> Address;
    fn token_1(env: Env) -> Address;
}

/// A pool and the token that is its first one.
#[contracttype]
#[derive(Clone)]
pub struct Known {
    pub first: Address,
    pub pool: Address,
    pub second: Address,
}

#[contract]
pub struct Router;

#[contractimpl]
impl Router {
    pub fn __constructor(env: Env, pools: Vec<Address>) {
        let mut known = Vec::new(&env);
        for pool in pools {
            let client = PoolClient::new(&env, &pool);
            known.push_back(Known { first: client.token_0(), second: client.token_1(), pool });
        }
        env.storage().instance().set(&POOLS, &known);
    }

    /// Swaps all of `amount_in` along the path; returns the amount at each step.
    pub fn swap_exact_tokens_for_tokens(
        env: Env,
        amount_in: i128,
        amount_out_min: i128,
        path: Vec<Address>,
        to: Address,
        deadline: u64,
    ) -> Vec<i128> {
        to.require_auth();
        if env.ledger().timestamp() > deadline {
            panic_with_error!(&env, RouterError::DeadlineExpired);
        }
        let amounts = amounts_out(&env, amount_in, &path);
        if amounts.last_unchecked() < amount_out_min {
            panic_with_error!(&env, RouterError::InsufficientOutput);
        }
        let pair = pool_of(&env, &path.get_unchecked(0), &path.get_unchecked(1)).pool;
        TokenClient::new(&env, &path.get_unchecked(0)).transfer(&to, &pair, &amount_in);
        swap_along(&env, &amounts, &path, &to);
        amounts
    }

    /// What an amount becomes along the path, at each step.
    pub fn router_get_amounts_out(env: Env, amount_in: i128, path: Vec<Address>) -> Vec<i128> {
        amounts_out(&env, amount_in, &path)
    }

    pub fn router_pair_for(env: Env, token_a: Address, token_b: Address) -> Address {
        pool_of(&env, &token_a, &token_b).pool
    }
}

fn swap_along(env: &Env, amounts: &Vec<i128>, path: &Vec<Address>, to: &Address) {
    for step in 0..path.len() - 1 {
        let (sold, bought) = (path.get_unchecked(step), path.get_unchecked(step + 1));
        let known = pool_of(env, &sold, &bought);
        let out = amounts.get_unchecked(step + 1);
        let (out_0, out_1) = if known.first == sold { (0, out) } else { (out, 0) };
        let receiver = match path.get(step + 2) {
            Some(next) => pool_of(env, &bought, &next).pool,
            None => to.clone(),
        };
        PoolClient::new(env, &known.pool).swap(&out_0, &out_1, &receiver);
    }
}

fn pool_of(env: &Env, token_a: &Address, token_b: &Address) -> Known {
    let pools: Vec<Known> = env.storage().instance().get(&POOLS).unwrap();
    for known in pools {
        let is_forward = known.first == *token_a && known.second == *token_b;
        if is_forward || (known.first == *token_b && known.second == *token_a) {
            return known;
        }
    }
    panic_with_error!(env, RouterError::PairDoesNotExist)
}

fn amounts_out(env: &Env, amount_in: i128, path: &Vec<Address>) -> Vec<i128> {
    if path.len() < 2 || amount_in <= 0 {
        panic_with_error!(env, RouterError::InvalidPath);
    }
    let mut amounts = Vec::from_array(env, [amount_in]);
    for step in 0..path.len() - 1 {
        let sold = path.get_unchecked(step);
        let known = pool_of(env, &sold, &path.get_unchecked(step + 1));
        let (reserve_0, reserve_1) = PoolClient::new(env, &known.pool).get_reserves();
        let (held, other) = if known.first == sold { (reserve_0, reserve_1) } else { (reserve_1, reserve_0) };
        if held <= 0 || other <= 0 {
            panic_with_error!(env, RouterError::InsufficientLiquidity);
        }
        let after_fee = amounts.last_unchecked() * (1000 - FEE);
        amounts.push_back(after_fee * other / (held * 1000 + after_fee));
    }
    amounts
}
