//! The session specification as it is signed, hashed and stored. Fields are in the order of their
//! keys, as the ledger has them.

use soroban_sdk::{Address, BytesN, Symbol, Val, Vec, contracttype};

/// Everything that the delegate may do for the account.
#[contracttype]
#[derive(Clone)]
pub struct SessionSpec {
    /// Whose money moves.
    pub account: Address,
    pub calls: Vec<Call>,
    pub caps: Vec<Cap>,
    /// The delegate's ed25519 key.
    pub delegate: BytesN<32>,
    /// Least seconds between two uses of one slot: one root call with one of its rows.
    pub interval: u64,
    /// How many root calls in all.
    pub max_uses: u32,
    /// `session` or `mandate`.
    pub mode: Symbol,
    /// The last second of a use.
    pub not_after: u64,
    /// The first second of a use.
    pub not_before: u64,
    pub version: u32,
}

/// One call that may be made.
#[contracttype]
#[derive(Clone)]
pub struct Call {
    /// Which argument is an amount of the token that `contract` is.
    pub amount: Option<u32>,
    pub args: Vec<ArgRule>,
    pub contract: Address,
    pub function: Symbol,
    /// Alternatives for the arguments whose rule is `Row`.
    pub rows: Vec<Vec<Val>>,
    /// The root call under which this one is nested; none for a root call, which counts as a use.
    pub under: Option<u32>,
}

/// What one argument may be.
#[contracttype]
#[derive(Clone)]
pub enum ArgRule {
    Any,
    /// Exactly this value.
    Eq(Val),
    /// This column of the row that all `Row` arguments match.
    Row(u32),
    /// A number from the first to the second.
    Range(i128, i128),
    /// The account of the specification.
    Account,
    /// Who makes the call: the account, or the mandate.
    Actor,
    /// A second from now to so many seconds later.
    TimeWithin(u64),
    /// At least the argument of this index times numerator over denominator.
    MinRate(u32, i128, i128),
    OracleFloor(OracleFloor),
}

/// At least what the argument `in_arg`, sold at an oracle's prices, brings less `bps` of it.
#[contracttype]
#[derive(Clone)]
pub struct OracleFloor {
    pub bps: u32,
    pub buy: Address,
    pub in_arg: u32,
    /// The age in seconds up to which a price counts.
    pub max_age: u64,
    pub oracle: Address,
    pub scale_den: i128,
    pub scale_num: i128,
    pub sell: Address,
}

/// The most that may be spent of a token, in base units.
#[contracttype]
#[derive(Clone)]
pub struct Cap {
    pub per_run: i128,
    pub token: Address,
    pub total: i128,
}

/// One call of a mandate's run: which of the specification's calls, and its arguments.
#[contracttype]
#[derive(Clone)]
pub struct Invocation {
    pub args: Vec<Val>,
    pub call: u32,
}
