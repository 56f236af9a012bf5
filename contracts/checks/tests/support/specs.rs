//! Session specifications as clients write them, by kind of plan.

use soroban_sdk::{Address, BytesN, Env, IntoVal, Val, Vec};

use super::{MONTH, START, contract, list, record, symbol};

pub const INTERVAL: u64 = 3_600;
pub const SOLD: i128 = 1_000;
pub const USES: u32 = 3;
pub const WAIT: u64 = 600;

/// A call that a specification lists.
#[derive(Clone)]
pub struct Call {
    pub amount: Option<u32>,
    pub args: std::vec::Vec<Val>,
    pub contract: Address,
    pub function: &'static str,
    pub rows: std::vec::Vec<Val>,
    pub under: Option<u32>,
}

/// A specification that a test may still change.
#[derive(Clone)]
pub struct Spec {
    pub account: Address,
    pub calls: std::vec::Vec<Call>,
    pub caps: std::vec::Vec<(Address, i128, i128)>,
    pub delegate: [u8; 32],
    pub interval: u64,
    pub max_uses: u32,
    pub mode: &'static str,
    pub not_after: u64,
    pub not_before: u64,
    pub version: u32,
}

impl Spec {
    pub fn new(account: &Address, delegate: [u8; 32], mode: &'static str) -> Self {
        Spec {
            account: account.clone(),
            calls: vec![],
            caps: vec![],
            delegate,
            interval: INTERVAL,
            max_uses: USES,
            mode,
            not_after: START + MONTH,
            not_before: START,
            version: 1,
        }
    }

    pub fn value(&self, env: &Env) -> Val {
        let calls: std::vec::Vec<Val> = self.calls.iter().map(|call| call.value(env)).collect();
        let caps: std::vec::Vec<Val> = self.caps.iter().map(|cap| cap_value(env, cap)).collect();
        record(
            env,
            &[
                ("account", self.account.into_val(env)),
                ("calls", list(env, &calls)),
                ("caps", list(env, &caps)),
                ("delegate", BytesN::from_array(env, &self.delegate).into_val(env)),
                ("interval", self.interval.into_val(env)),
                ("max_uses", self.max_uses.into_val(env)),
                ("mode", symbol(env, self.mode)),
                ("not_after", self.not_after.into_val(env)),
                ("not_before", self.not_before.into_val(env)),
                ("version", self.version.into_val(env)),
            ],
        )
    }
}

impl Call {
    pub fn new(contract: &Address, function: &'static str, args: &[Val]) -> Self {
        let (contract, args) = (contract.clone(), args.to_vec());
        Call { amount: None, args, contract, function, rows: vec![], under: None }
    }

    pub fn moving(mut self, index: u32) -> Self {
        self.amount = Some(index);
        self
    }

    pub fn under(mut self, root: u32) -> Self {
        self.under = Some(root);
        self
    }

    pub fn value(&self, env: &Env) -> Val {
        record(
            env,
            &[
                ("amount", self.amount.into_val(env)),
                ("args", list(env, &self.args)),
                ("contract", self.contract.into_val(env)),
                ("function", symbol(env, self.function)),
                ("rows", list(env, &self.rows)),
                ("under", self.under.into_val(env)),
            ],
        )
    }
}

fn cap_value(env: &Env, (token, per_run, total): &(Address, i128, i128)) -> Val {
    let fields =
        [("per_run", per_run.into_val(env)), ("token", token.into_val(env)), ("total", total.into_val(env))];
    record(env, &fields)
}

/// A rule of this variant.
pub fn rule(env: &Env, variant: &str, elements: &[Val]) -> Val {
    let mut values = vec![symbol(env, variant)];
    values.extend_from_slice(elements);
    list(env, &values)
}

pub fn eq<T: IntoVal<Env, Val>>(env: &Env, value: T) -> Val {
    rule(env, "Eq", &[value.into_val(env)])
}

/// Who and what a plan is about.
#[derive(Clone)]
pub struct Parties {
    pub account: Address,
    pub bought: Address,
    pub delegate: [u8; 32],
    pub oracle: Address,
    pub pair: Address,
    pub payees: [Address; 3],
    pub router: Address,
    pub sold: Address,
    pub target: Address,
}

impl Parties {
    pub fn path(&self, env: &Env) -> Val {
        list(env, &[self.sold.into_val(env), self.bought.into_val(env)])
    }

    /// Sells an amount for at least half of it of the other token.
    pub fn dca(&self, env: &Env, mode: &'static str) -> Spec {
        let mut spec = Spec::new(&self.account, self.delegate, mode);
        let actor = rule(env, "Actor", &[]);
        let rate = [0_u32.into_val(env), 1_i128.into_val(env), 2_i128.into_val(env)];
        let swap = [
            eq(env, SOLD),
            rule(env, "MinRate", &rate),
            eq(env, self.path(env)),
            actor,
            rule(env, "TimeWithin", &[WAIT.into_val(env)]),
        ];
        let pay = [actor, eq(env, self.pair.clone()), eq(env, SOLD)];
        spec.calls = vec![
            Call::new(&self.router, "swap_exact_tokens_for_tokens", &swap),
            Call::new(&self.sold, "transfer", &pay).moving(2).under(0),
        ];
        spec.caps = vec![(self.sold.clone(), SOLD, SOLD * i128::from(USES)), (self.bought.clone(), 0, 0)];
        spec
    }

    /// Pays each payee an amount of its own: 100, 200 and 300.
    pub fn disbursement(&self, env: &Env, mode: &'static str) -> Spec {
        let mut spec = Spec::new(&self.account, self.delegate, mode);
        let row = |column: u32| rule(env, "Row", &[column.into_val(env)]);
        let mut pay = Call::new(&self.sold, "transfer", &[rule(env, "Actor", &[]), row(0), row(1)]).moving(2);
        pay.rows = (self.payees.iter().zip([100_i128, 200, 300]))
            .map(|(payee, amount)| list(env, &[payee.into_val(env), amount.into_val(env)]))
            .collect();
        spec.calls = vec![pay];
        spec.caps = vec![(self.sold.clone(), 300, 900)];
        spec
    }

    /// Runs the target.
    pub fn keeper(&self, env: &Env, mode: &'static str) -> Spec {
        let mut spec = Spec::new(&self.account, self.delegate, mode);
        spec.calls = vec![Call::new(&self.target, "autolayer_run", &[rule(env, "Actor", &[])])];
        spec
    }

    /// Swaps up to an amount in either direction, at the oracle's prices less one percent.
    pub fn rebalance(&self, env: &Env, mode: &'static str) -> Spec {
        let mut spec = Spec::new(&self.account, self.delegate, mode);
        let actor = rule(env, "Actor", &[]);
        let some = rule(env, "Range", &[1_i128.into_val(env), SOLD.into_val(env)]);
        for (root, sell, buy) in [(0, &self.sold, &self.bought), (2, &self.bought, &self.sold)] {
            let swap = [
                some,
                rule(env, "OracleFloor", &[self.floor(env, sell, buy)]),
                eq(env, list(env, &[sell.into_val(env), buy.into_val(env)])),
                actor,
                rule(env, "TimeWithin", &[WAIT.into_val(env)]),
            ];
            let pay = [actor, eq(env, self.pair.clone()), some];
            spec.calls.push(Call::new(&self.router, "swap_exact_tokens_for_tokens", &swap));
            spec.calls.push(Call::new(sell, "transfer", &pay).moving(2).under(root));
        }
        let total = SOLD * i128::from(USES);
        spec.caps = vec![(self.sold.clone(), SOLD, total), (self.bought.clone(), SOLD, total)];
        spec
    }

    fn floor(&self, env: &Env, sell: &Address, buy: &Address) -> Val {
        record(
            env,
            &[
                ("bps", 100_u32.into_val(env)),
                ("buy", buy.into_val(env)),
                ("in_arg", 0_u32.into_val(env)),
                ("max_age", 600_u64.into_val(env)),
                ("oracle", self.oracle.into_val(env)),
                ("scale_den", 1_i128.into_val(env)),
                ("scale_num", 1_i128.into_val(env)),
                ("sell", sell.into_val(env)),
            ],
        )
    }

    /// A call with the account, anything, and a number of a range.
    pub fn loose(&self, env: &Env, mode: &'static str) -> Spec {
        let mut spec = Spec::new(&self.account, self.delegate, mode);
        let range = rule(env, "Range", &[(-5_i128).into_val(env), 5_i128.into_val(env)]);
        let rules = [rule(env, "Account", &[]), rule(env, "Any", &[]), range];
        spec.calls = vec![Call::new(&self.target, "note", &rules)];
        spec
    }

    /// Parties whose addresses never change.
    pub fn fixed(env: &Env, account: Address) -> Self {
        Parties {
            account,
            bought: contract(env, 2),
            delegate: super::key(9).verifying_key().to_bytes(),
            oracle: contract(env, 7),
            pair: contract(env, 3),
            payees: [super::classic(env, 21), super::classic(env, 22), contract(env, 23)],
            router: contract(env, 4),
            sold: contract(env, 5),
            target: contract(env, 6),
        }
    }
}

/// One call of a mandate's run.
pub fn invocation(env: &Env, call: u32, args: &[Val]) -> Val {
    record(env, &[("args", list(env, args)), ("call", call.into_val(env))])
}

pub fn invocations(env: &Env, calls: &[Val]) -> Vec<Val> {
    Vec::from_slice(env, calls)
}
