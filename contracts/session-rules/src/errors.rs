//! Why a call, an installation or a run is refused. A guard and a mandate use the same codes.

use soroban_sdk::contracterror;

#[contracterror]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum RuleError {
    /// There is no such session.
    NotFound = 1,
    /// The session was closed, which is for ever.
    Closed = 2,
    /// The ledger's time is before `not_before`.
    TooEarly = 3,
    /// The ledger's time is after `not_after`.
    Expired = 4,
    /// The delegate is not among the signers.
    DelegateMissing = 5,
    /// The context rule is not one that the guard accepts.
    RuleRefused = 6,
    /// The rule, or another one for its contract, has the session already.
    AlreadyInstalled = 7,
    /// The specification is not well formed.
    SpecRefused = 8,
    /// No listed call has this contract and function.
    CallNotListed = 9,
    /// An argument does not satisfy its rule.
    ArgumentRefused = 10,
    /// The call may only be made under a root call of the same ledger, once.
    NoTicket = 11,
    /// All uses are made.
    UsedUp = 12,
    /// The interval since the last use has not passed.
    IntervalNotPassed = 13,
    /// More of a token than its cap allows.
    CapReached = 14,
    /// The oracle has no price, or none that is recent enough.
    PriceUnknown = 15,
    /// The run's index is not higher than that of the last run.
    RunIndexUsed = 16,
    /// The last ledger for which the run was signed has passed.
    SignatureExpired = 17,
    /// The calls of the run are not one root call and calls under it.
    RunRefused = 18,
}
