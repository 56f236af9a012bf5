//! The questions a simulation answers and its typed answers.

use crate::xdr::{
    AccountId, DiagnosticEvent, HostFunction, LedgerEntry, LedgerKey, ScVal, SorobanAuthorizationEntry,
    SorobanTransactionData,
};

/// How a simulated invocation treats authorization.
#[derive(Clone, Debug)]
pub enum AuthMode {
    /// Exactly these entries must authorize the call.
    Enforce(Vec<SorobanAuthorizationEntry>),
    /// Unsigned entries are made up for what the call asks for.
    Record { allow_non_root: bool, use_address_v2: bool },
}

#[derive(Clone, Debug)]
pub enum SimulationRequest {
    Invoke {
        source: AccountId,
        host_function: HostFunction,
        auth: AuthMode,
        /// Instructions added on top of what was measured, at the least.
        instruction_leeway: u64,
    },
    ExtendTtl {
        keys: Vec<LedgerKey>,
        extend_to: u32,
    },
    Restore {
        keys: Vec<LedgerKey>,
    },
}

/// What the simulation of a request against one closed ledger found.
#[derive(Clone, Debug)]
pub struct SimulationAnswer {
    /// The ledger that was simulated against.
    pub ledger: u32,
    pub outcome: Result<Simulated, SimulationFailure>,
}

#[derive(Clone, Debug)]
pub struct Simulated {
    pub transaction_data: SorobanTransactionData,
    /// Stroops.
    pub min_resource_fee: i64,
    /// Only for an invocation.
    pub invocation: Option<SimulatedInvocation>,
    pub events: Vec<DiagnosticEvent>,
    /// What has to be restored first; only for `ExtendTtl`.
    pub restore_preamble: Option<RestorePreamble>,
    pub state_changes: Vec<StateChange>,
}

#[derive(Clone, Debug)]
pub struct SimulatedInvocation {
    pub value: ScVal,
    pub auth: Vec<SorobanAuthorizationEntry>,
}

#[derive(Clone, Debug)]
pub struct RestorePreamble {
    pub transaction_data: SorobanTransactionData,
    /// Stroops.
    pub min_resource_fee: i64,
}

/// An entry the call would change: no `before` is a creation, no `after` a removal.
#[derive(Clone, Debug)]
pub struct StateChange {
    pub key: LedgerKey,
    pub before: Option<LedgerEntry>,
    pub after: Option<LedgerEntry>,
}

#[derive(Clone, Debug)]
pub struct SimulationFailure {
    /// The host's words, with the event log where there is one.
    pub error: String,
    pub events: Vec<DiagnosticEvent>,
}
