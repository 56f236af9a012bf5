//! Why a call, an installation or a run is refused. A guard and a mandate use the same codes, from 4001
//! on, which no token, smart account or router has: a code names its contract.

use soroban_sdk::contracterror;

#[contracterror]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum RuleError {
    /// There is no such session.
    NotFound = 4001,
    /// The session was closed, which is for ever.
    Closed = 4002,
    /// The ledger's time is before `not_before`.
    TooEarly = 4003,
    /// The ledger's time is after `not_after`.
    Expired = 4004,
    /// The delegate is not among the signers.
    DelegateMissing = 4005,
    /// The context rule is not one that the guard accepts.
    RuleRefused = 4006,
    /// The rule, or another one for its contract, has the session already.
    AlreadyInstalled = 4007,
    /// The specification is not well formed.
    SpecRefused = 4008,
    /// No listed call has this contract and function.
    CallNotListed = 4009,
    /// An argument does not satisfy its rule.
    ArgumentRefused = 4010,
    /// The call may only be made under a root call of the same ledger, once.
    NoTicket = 4011,
    /// All uses are made.
    UsedUp = 4012,
    /// The interval since the last use has not passed.
    IntervalNotPassed = 4013,
    /// More of a token than its cap allows.
    CapReached = 4014,
    /// The oracle has no price, or none that is recent enough.
    PriceUnknown = 4015,
    /// The run's index is not higher than that of the last run.
    RunIndexUsed = 4016,
    /// The last ledger for which the run was signed has passed.
    SignatureExpired = 4017,
    /// The calls of the run are not one root call and calls under it.
    RunRefused = 4018,
}
