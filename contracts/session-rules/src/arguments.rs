//! Whether the arguments of a call satisfy their rules.

use soroban_sdk::{Address, Env, I256, TryFromVal, Val, Vec};

use crate::oracle::is_above_floor;
use crate::spec::{ArgRule, Call, SessionSpec};

/// The row that the arguments match, 0 for a call without rows; none if they do not satisfy the call.
pub fn match_row(
    env: &Env,
    spec: &SessionSpec,
    actor: &Address,
    call: &Call,
    args: &Vec<Val>,
) -> Option<u32> {
    if args.len() != call.args.len() {
        return None;
    }
    let row = if call.rows.is_empty() { 0 } else { find_row(env, call, args)? };
    let made = Made { env, spec, actor, args };
    let is_satisfied = call.args.iter().zip(args.iter()).all(|(rule, value)| match rule {
        ArgRule::Row(_) => !call.rows.is_empty(), // the row was found above
        other => made.satisfies(&other, value),
    });
    is_satisfied.then_some(row)
}

fn find_row(env: &Env, call: &Call, args: &Vec<Val>) -> Option<u32> {
    let is_row = |row: &Vec<Val>| {
        call.args.iter().zip(args.iter()).all(|(rule, value)| match rule {
            ArgRule::Row(column) => row.get(column).is_some_and(|wanted| is_equal(env, wanted, value)),
            _ => true,
        })
    };
    call.rows.iter().position(|row| is_row(&row)).map(|at| at as u32)
}

/// A call as it is made.
struct Made<'a> {
    env: &'a Env,
    spec: &'a SessionSpec,
    actor: &'a Address,
    args: &'a Vec<Val>,
}

impl Made<'_> {
    fn satisfies(&self, rule: &ArgRule, value: Val) -> bool {
        let env = self.env;
        match rule {
            ArgRule::Any => true,
            ArgRule::Eq(wanted) => is_equal(env, *wanted, value),
            ArgRule::Row(_) => false,
            ArgRule::Range(least, most) => number(env, value).is_some_and(|n| *least <= n && n <= *most),
            ArgRule::Account => is_address(env, &self.spec.account, value),
            ArgRule::Actor => is_address(env, self.actor, value),
            ArgRule::TimeWithin(seconds) => is_within(env, value, *seconds),
            ArgRule::MinRate(index, numerator, denominator) => {
                self.sells(*index, value).is_some_and(|(sold, bought)| {
                    let paid = wide(env, sold).mul(&wide(env, *numerator));
                    wide(env, bought).mul(&wide(env, *denominator)) >= paid
                })
            }
            ArgRule::OracleFloor(floor) => self
                .sells(floor.in_arg, value)
                .is_some_and(|(sold, bought)| is_above_floor(env, floor, sold, bought)),
        }
    }

    /// The argument that says how much is sold, and this one, which says how much is bought at least.
    fn sells(&self, index: u32, bought: Val) -> Option<(i128, i128)> {
        let sold = number(self.env, self.args.get(index)?)?;
        if sold < 0 { None } else { Some((sold, number(self.env, bought)?)) }
    }
}

/// Equal as values, whatever they are.
pub fn is_equal(env: &Env, one: Val, other: Val) -> bool {
    Vec::from_array(env, [one]) == Vec::from_array(env, [other])
}

fn is_address(env: &Env, wanted: &Address, value: Val) -> bool {
    Address::try_from_val(env, &value).is_ok_and(|address| address == *wanted)
}

fn is_within(env: &Env, value: Val, seconds: u64) -> bool {
    let now = env.ledger().timestamp();
    u64::try_from_val(env, &value).is_ok_and(|at| now <= at && at <= now + seconds)
}

pub fn wide(env: &Env, number: i128) -> I256 {
    I256::from_i128(env, number)
}

/// A whole number of a type that amounts have.
pub fn number(env: &Env, value: Val) -> Option<i128> {
    if let Ok(number) = i128::try_from_val(env, &value) {
        return Some(number);
    }
    if let Ok(number) = u128::try_from_val(env, &value) {
        return i128::try_from(number).ok();
    }
    if let Ok(number) = u64::try_from_val(env, &value) {
        return Some(number.into());
    }
    u32::try_from_val(env, &value).ok().map(i128::from)
}
