//! The floor under what is bought, from the prices of a SEP-40 oracle.

use soroban_sdk::{Address, Env, I256, contractclient, contracttype, panic_with_error};

use crate::arguments::wide;
use crate::errors::RuleError;
use crate::spec::OracleFloor;

const ALL_BPS: i128 = 10_000;

/// The asset of SEP-40; the other kind, a symbol, is not asked for.
#[contracttype]
#[derive(Clone)]
pub enum Asset {
    Stellar(Address),
}

#[contracttype]
#[derive(Clone)]
pub struct PriceData {
    pub price: i128,
    pub timestamp: u64,
}

#[contractclient(name = "OracleClient")]
#[allow(dead_code)] // the client is made of it
pub trait Oracle {
    fn lastprice(env: Env, asset: Asset) -> Option<PriceData>;
}

/// True if `bought` is at least `sold` at the oracle's prices less the allowed deviation.
pub fn is_above_floor(env: &Env, floor: &OracleFloor, sold: i128, bought: i128) -> bool {
    let left = [bought, price(env, floor, &floor.buy), floor.scale_den, ALL_BPS];
    let right = [sold, price(env, floor, &floor.sell), floor.scale_num, ALL_BPS - i128::from(floor.bps)];
    // four factors of 127 bits do not fit: the host then ends the call, which refuses it
    product(env, left) >= product(env, right)
}

fn product(env: &Env, factors: [i128; 4]) -> I256 {
    factors.into_iter().fold(wide(env, 1), |all, factor| all.mul(&wide(env, factor)))
}

fn price(env: &Env, floor: &OracleFloor, token: &Address) -> i128 {
    let asset = Asset::Stellar(token.clone());
    match OracleClient::new(env, &floor.oracle).lastprice(&asset) {
        Some(data) if data.price > 0 && is_recent(env, data.timestamp, floor.max_age) => data.price,
        _ => panic_with_error!(env, RuleError::PriceUnknown),
    }
}

/// A price of the future is none.
fn is_recent(env: &Env, timestamp: u64, max_age: u64) -> bool {
    let now = env.ledger().timestamp();
    timestamp <= now && now - timestamp <= max_age
}
