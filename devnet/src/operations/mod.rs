//! The operations this network knows: what each asks for, refuses and does.

mod account_merge;
mod change_trust;
mod create_account;
mod extend_ttl;
mod invoke;
mod payment;
mod restore;
mod set_options;
mod sponsoring;
mod trustline_flags;

use soroban_simulation::NetworkConfig;

use crate::accounts::find_account;
use crate::draft::Draft;
use crate::host::Moment;
use crate::host::modules::Modules;
use crate::settings::TransactionLimits;
use crate::signatures::Threshold;
use crate::sponsorship::{CannotSponsor, Sponsorships};
use crate::transaction::Frame;
use crate::xdr::{
    AccountId, ContractEvent, DiagnosticEvent, Operation, OperationBody, OperationResult, ScVal,
};

/// What an operation is applied with, apart from the ledger itself.
pub struct Applying<'a> {
    pub frame: &'a Frame,
    pub source: AccountId,
    pub config: &'a NetworkConfig,
    pub limits: &'a TransactionLimits,
    pub modules: &'a Modules,
    pub now: Moment,
    pub native_contract: [u8; 32],
    pub seed: [u8; 32],
}

/// What an operation leaves behind besides changed entries.
pub struct Applied {
    pub result: OperationResult,
    pub events: Vec<ContractEvent>,
    pub diagnostic_events: Vec<DiagnosticEvent>,
    pub soroban: Option<SorobanUse>,
}

/// What a Soroban operation really used of what it declared.
#[derive(Clone, Debug, Default)]
pub struct SorobanUse {
    pub return_value: Option<ScVal>,
    /// Stroops for events and rent together.
    pub refundable_fee: i64,
    pub rent_fee: i64,
}

impl Applied {
    fn classic(result: OperationResult, events: Vec<ContractEvent>) -> Applied {
        Applied { result, events, diagnostic_events: Vec::new(), soroban: None }
    }

    fn failed(result: OperationResult) -> Applied {
        Applied::classic(result, Vec::new())
    }
}

/// A sponsor's lack of reserve is named by each operation in its own way; too many are not.
fn unsponsored(cannot: CannotSponsor, low_reserve: OperationResult) -> OperationResult {
    match cannot {
        CannotSponsor::LowReserve => low_reserve,
        CannotSponsor::TooMany => OperationResult::OpTooManySponsoring,
    }
}

/// The weight of signatures that an operation asks of its source.
pub fn threshold(operation: &Operation) -> Threshold {
    match &operation.body {
        OperationBody::SetOptions(options) => set_options::threshold(options),
        OperationBody::AccountMerge(_) => Threshold::High,
        OperationBody::SetTrustLineFlags(_) => Threshold::Low,
        _ => Threshold::Medium,
    }
}

/// Whether the operation makes sense at all, whatever the ledger holds.
pub fn check(
    frame: &Frame,
    operation: &Operation,
    limits: &TransactionLimits,
    config: &NetworkConfig,
) -> Result<(), OperationResult> {
    let source = frame.operation_source(operation);
    match &operation.body {
        OperationBody::CreateAccount(op) => create_account::check(op, &source),
        OperationBody::Payment(op) => payment::check(op),
        OperationBody::SetOptions(op) => set_options::check(op, &source),
        OperationBody::ChangeTrust(op) => change_trust::check(op, &source),
        OperationBody::SetTrustLineFlags(op) => trustline_flags::check(op, &source),
        OperationBody::AccountMerge(destination) => account_merge::check(destination, &source),
        OperationBody::BeginSponsoringFutureReserves(op) => sponsoring::check(op, &source),
        OperationBody::EndSponsoringFutureReserves => Ok(()),
        OperationBody::InvokeHostFunction(op) => invoke::check(op, limits),
        OperationBody::ExtendFootprintTtl(op) => extend_ttl::check(op, frame, config),
        OperationBody::RestoreFootprint(_) => restore::check(frame),
        _ => Err(OperationResult::OpNotSupported),
    }
}

/// Changes `draft` as the operation says; on failure the draft is to be dropped.
pub fn apply(
    operation: &Operation,
    draft: &mut Draft,
    sponsorships: &mut Sponsorships,
    applying: &Applying,
) -> Applied {
    if find_account(draft, &applying.source).is_none() {
        return Applied::failed(OperationResult::OpNoAccount);
    }
    match &operation.body {
        OperationBody::CreateAccount(op) => create_account::apply(op, draft, sponsorships, applying),
        OperationBody::Payment(op) => payment::apply(op, draft, applying),
        OperationBody::SetOptions(op) => set_options::apply(op, draft, sponsorships, applying),
        OperationBody::ChangeTrust(op) => change_trust::apply(op, draft, sponsorships, applying),
        OperationBody::SetTrustLineFlags(op) => trustline_flags::apply(op, draft, applying),
        OperationBody::AccountMerge(destination) => {
            account_merge::apply(destination, draft, sponsorships, applying)
        }
        OperationBody::BeginSponsoringFutureReserves(op) => sponsoring::begin(op, sponsorships, applying),
        OperationBody::EndSponsoringFutureReserves => sponsoring::end(sponsorships, applying),
        OperationBody::InvokeHostFunction(op) => invoke::apply(op, draft, applying),
        OperationBody::ExtendFootprintTtl(op) => extend_ttl::apply(op, draft, applying),
        OperationBody::RestoreFootprint(_) => restore::apply(draft, applying),
        _ => Applied::failed(OperationResult::OpNotSupported),
    }
}

/// Whether a result says that its operation did what it was asked.
pub fn is_success(result: &OperationResult) -> bool {
    use crate::xdr::{
        AccountMergeResult, BeginSponsoringFutureReservesResult, ChangeTrustResult, CreateAccountResult,
        EndSponsoringFutureReservesResult, ExtendFootprintTtlResult, InvokeHostFunctionResult,
        OperationResultTr as Tr, PaymentResult, RestoreFootprintResult, SetOptionsResult,
        SetTrustLineFlagsResult,
    };
    matches!(
        result,
        OperationResult::OpInner(
            Tr::CreateAccount(CreateAccountResult::Success)
                | Tr::Payment(PaymentResult::Success)
                | Tr::SetOptions(SetOptionsResult::Success)
                | Tr::ChangeTrust(ChangeTrustResult::Success)
                | Tr::SetTrustLineFlags(SetTrustLineFlagsResult::Success)
                | Tr::AccountMerge(AccountMergeResult::Success(_))
                | Tr::BeginSponsoringFutureReserves(BeginSponsoringFutureReservesResult::Success)
                | Tr::EndSponsoringFutureReserves(EndSponsoringFutureReservesResult::Success)
                | Tr::InvokeHostFunction(InvokeHostFunctionResult::Success(_))
                | Tr::ExtendFootprintTtl(ExtendFootprintTtlResult::Success)
                | Tr::RestoreFootprint(RestoreFootprintResult::Success)
        )
    )
}
