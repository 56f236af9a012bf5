//! Whether a specification is well formed, before anything is stored of it.

use soroban_sdk::{Address, Env, Symbol, Vec, panic_with_error};

use crate::errors::RuleError;
use crate::spec::{ArgRule, Call, Cap, SessionSpec};

const VERSION: u32 = 1;
const MOST_CALLS: u32 = 8;
const MOST_CAPS: u32 = 8;
const MOST_ARGS: u32 = 12;
const MOST_ROWS: u32 = 32;
const LONGEST_WAIT: u64 = 86_400;
const ALL_BPS: u32 = 10_000;
/// The functions of SEP-41 that move or allow a token: how many arguments, and which is the amount.
const TOKEN_FUNCTIONS: [(&str, u32, u32); 5] =
    [("transfer", 3, 2), ("transfer_from", 4, 3), ("approve", 4, 2), ("burn", 2, 1), ("burn_from", 3, 2)];

/// Returns if the specification is well formed, of this mode, and calls neither its account nor
/// the contract that checks it.
pub fn check_spec(env: &Env, spec: &SessionSpec, mode: &str) {
    let is_whole = spec.version == VERSION
        && spec.mode == Symbol::new(env, mode)
        && spec.max_uses >= 1
        && spec.interval >= 1
        && spec.not_before < spec.not_after
        && (1..=MOST_CALLS).contains(&spec.calls.len())
        && are_caps(&spec.caps)
        && spec.calls.iter().any(|call| call.under.is_none())
        && spec.calls.iter().all(|call| is_call(env, spec, &call));
    if !is_whole {
        panic_with_error!(env, RuleError::SpecRefused);
    }
    if spec.not_after < env.ledger().timestamp() {
        panic_with_error!(env, RuleError::Expired);
    }
}

fn are_caps(caps: &Vec<Cap>) -> bool {
    let is_first = |at: usize, token: &Address| caps.iter().position(|cap| cap.token == *token) == Some(at);
    caps.len() <= MOST_CAPS
        && caps
            .iter()
            .enumerate()
            .all(|(at, cap)| 0 <= cap.per_run && cap.per_run <= cap.total && is_first(at, &cap.token))
}

fn is_call(env: &Env, spec: &SessionSpec, call: &Call) -> bool {
    let is_foreign = call.contract != spec.account && call.contract != env.current_contract_address();
    let is_nested_well = match call.under {
        None => true,
        Some(index) => spec.calls.get(index).is_some_and(|root| root.under.is_none()),
    };
    is_foreign
        && is_nested_well
        && call.args.len() <= MOST_ARGS
        && is_amount(env, spec, call)
        && are_rows(call)
        && call.args.iter().enumerate().all(|(at, rule)| is_rule(call, at as u32, &rule))
}

/// What moves a token has an amount, and a cap to count it against.
fn is_amount(env: &Env, spec: &SessionSpec, call: &Call) -> bool {
    let standard = TOKEN_FUNCTIONS.iter().find(|(name, _, _)| call.function == Symbol::new(env, name));
    if let Some((_, count, index)) = standard {
        let is_bound = !call.args.iter().any(|rule| matches!(rule, ArgRule::Any));
        if call.args.len() != *count || call.amount != Some(*index) || !is_bound {
            return false;
        }
    }
    let has_cap = spec.caps.iter().any(|cap| cap.token == call.contract);
    match call.amount {
        Some(index) => has_cap && index < call.args.len(),
        None => !has_cap,
    }
}

/// Rows are all different and as wide as the call has `Row` arguments, each column used once.
fn are_rows(call: &Call) -> bool {
    let mut columns = 0_u32;
    let mut width = 0;
    for rule in call.args.iter() {
        if let ArgRule::Row(column) = rule {
            if column >= MOST_ARGS {
                return false;
            }
            columns |= 1 << column;
            width += 1;
        }
    }
    let is_each_once = columns == (1 << width) - 1;
    let rows = &call.rows;
    is_each_once
        && rows.is_empty() == (width == 0)
        && rows.len() <= MOST_ROWS
        && rows
            .iter()
            .enumerate()
            .all(|(at, row)| row.len() == width && rows.first_index_of(&row) == Some(at as u32))
}

fn is_rule(call: &Call, at: u32, rule: &ArgRule) -> bool {
    match rule {
        ArgRule::Range(least, most) => least <= most,
        ArgRule::TimeWithin(seconds) => (1..=LONGEST_WAIT).contains(seconds),
        ArgRule::MinRate(index, numerator, denominator) => {
            *numerator > 0 && *denominator > 0 && is_input(call, at, *index)
        }
        ArgRule::OracleFloor(floor) => {
            floor.bps < ALL_BPS
                && floor.scale_num > 0
                && floor.scale_den > 0
                && floor.sell != floor.buy
                && is_input(call, at, floor.in_arg)
        }
        _ => true,
    }
}

/// Another argument, which has a rule of its own.
fn is_input(call: &Call, at: u32, index: u32) -> bool {
    let is_bound = call.args.get(index).is_some_and(|rule| !matches!(rule, ArgRule::Any));
    index != at && is_bound
}
