//! How often and how much a session was used, and the ticket of the current run.

use soroban_sdk::{Address, Env, Map, TryFromVal, Val, Vec, contracttype, panic_with_error};

use crate::errors::RuleError;
use crate::spec::{Call, SessionSpec};

const ROWS: u32 = 64;
const SECONDS_PER_LEDGER: u64 = 4;
const DAY: u64 = 17_280;

/// What was used so far.
#[contracttype]
#[derive(Clone)]
pub struct Uses {
    pub count: u32,
    /// The second of the last use of each slot.
    pub last: Map<u32, u64>,
    pub spent: Map<Address, i128>,
}

/// What a root call allows in its ledger.
#[contracttype]
#[derive(Clone)]
pub struct Ticket {
    pub ledger: u32,
    /// The nested calls that were made, one bit each.
    pub made: u32,
    pub root: u32,
    pub spent: Map<Address, i128>,
}

impl Uses {
    pub fn new(env: &Env) -> Self {
        Uses { count: 0, last: Map::new(env), spent: Map::new(env) }
    }

    /// Counts a root call, and gives the ticket for what is nested under it.
    pub fn take(&mut self, env: &Env, spec: &SessionSpec, root: u32, row: u32) -> Ticket {
        if self.count >= spec.max_uses {
            panic_with_error!(env, RuleError::UsedUp);
        }
        let (slot, now) = (root * ROWS + row, env.ledger().timestamp());
        if self.last.get(slot).is_some_and(|at| now - at < spec.interval) {
            panic_with_error!(env, RuleError::IntervalNotPassed);
        }
        self.count += 1;
        self.last.set(slot, now);
        Ticket { ledger: env.ledger().sequence(), made: 0, root, spent: Map::new(env) }
    }

    /// Counts the amount of a call, if it has one, against its token's cap.
    pub fn spend(
        &mut self,
        env: &Env,
        spec: &SessionSpec,
        ticket: &mut Ticket,
        call: &Call,
        args: &Vec<Val>,
    ) {
        let Some(index) = call.amount else { return };
        let amount = args.get(index).and_then(|value| i128::try_from_val(env, &value).ok());
        let Some(amount) = amount.filter(|amount| *amount >= 0) else {
            panic_with_error!(env, RuleError::ArgumentRefused)
        };
        let Some(cap) = spec.caps.iter().find(|cap| cap.token == call.contract) else {
            panic_with_error!(env, RuleError::CapReached)
        };
        add(env, &mut ticket.spent, &cap.token, amount, cap.per_run);
        add(env, &mut self.spent, &cap.token, amount, cap.total);
    }
}

impl Ticket {
    /// The ticket after a nested call; none if the call may not be made now.
    pub fn nest(&self, env: &Env, root: u32, index: u32) -> Option<Ticket> {
        let bit = 1 << index;
        let may = self.ledger == env.ledger().sequence() && self.root == root && self.made & bit == 0;
        may.then(|| Ticket { made: self.made | bit, ..self.clone() })
    }
}

/// Returns if the ledger's time is in the session's window.
pub fn check_window(env: &Env, spec: &SessionSpec) {
    let now = env.ledger().timestamp();
    if now < spec.not_before {
        panic_with_error!(env, RuleError::TooEarly);
    }
    if now > spec.not_after {
        panic_with_error!(env, RuleError::Expired);
    }
}

/// For how many ledgers the session's entries should live: to its end and a day, as far as the
/// network allows.
pub fn ledgers_to_keep(env: &Env, spec: &SessionSpec) -> u32 {
    let left = spec.not_after.saturating_sub(env.ledger().timestamp());
    let most = env.storage().max_ttl();
    u32::try_from(left / SECONDS_PER_LEDGER + DAY).map_or(most, |wanted| wanted.min(most))
}

fn add(env: &Env, spent: &mut Map<Address, i128>, token: &Address, amount: i128, most: i128) {
    let before = spent.get(token.clone()).unwrap_or(0);
    match before.checked_add(amount) {
        Some(after) if after <= most => spent.set(token.clone(), after),
        _ => panic_with_error!(env, RuleError::CapReached),
    }
}
