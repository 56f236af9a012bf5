//! How the transactions of one ledger take effect: all fees first, then each in turn, then refunds.

use soroban_simulation::NetworkConfig;

use crate::accounts::{credit, find_account, set_sequence};
use crate::codec::sha256;
use crate::draft::Draft;
use crate::entries::Entries;
use crate::events;
use crate::host::Moment;
use crate::host::fees::non_refundable_fee;
use crate::host::modules::Modules;
use crate::meta::{self, Phases};
use crate::operations::{self, Applied, Applying, SorobanUse, is_success};
use crate::results::{self, Invalid, Refusal};
use crate::settings::TransactionLimits;
use crate::sponsorship::Sponsorships;
use crate::surge::BaseFees;
use crate::transaction::Frame;
use crate::validation::{Against, authorize, check_up_to_sequence, validate_fee_bump};
use crate::xdr::{
    HostFunction, LedgerEntryChanges, LedgerEntryData, Operation, OperationBody, OperationResult,
    TransactionEvent, TransactionEventStage, TransactionMeta, TransactionResult,
};

/// The ledger that is being closed.
pub struct Closing<'a> {
    pub now: Moment,
    pub config: &'a NetworkConfig,
    pub limits: &'a TransactionLimits,
    pub modules: &'a Modules,
    pub native_contract: [u8; 32],
    pub base_fees: BaseFees,
    /// From which every transaction's random numbers come.
    pub seed: [u8; 32],
}

/// A transaction with everything its ledger says about it.
pub struct Finished {
    pub frame: Frame,
    pub result: TransactionResult,
    pub meta: TransactionMeta,
    pub fee_processing: LedgerEntryChanges,
    pub refund_processing: LedgerEntryChanges,
    pub fee_charged: i64,
    pub resource_fee_charged: i64,
}

/// What running one transaction came to, before its refund.
struct Ran {
    outcome: Result<Vec<OperationResult>, Refusal>,
    /// The outside of a fee bump was refused, so that the inside never ran.
    envelope_refused: bool,
    phases: Phases,
    soroban: Option<SorobanUse>,
}

/// Applies `frames` in this order; `entries` holds their effects afterwards.
pub fn apply_all(frames: Vec<Frame>, entries: &mut Entries, closing: &Closing) -> Vec<Finished> {
    let fees: Vec<_> = frames.iter().map(|frame| take_fee(frame, entries, closing)).collect();
    let runs: Vec<_> =
        frames.iter().enumerate().map(|(index, frame)| run(frame, index, entries, closing)).collect();
    let mut finished = Vec::with_capacity(frames.len());
    for ((frame, fee), ran) in frames.into_iter().zip(fees).zip(runs) {
        finished.push(finish(frame, fee, ran, entries, closing));
    }
    finished
}

struct TakenFee {
    amount: i64,
    changes: LedgerEntryChanges,
}

fn take_fee(frame: &Frame, entries: &mut Entries, closing: &Closing) -> TakenFee {
    let mut draft = Draft::on(entries, closing.now.sequence);
    let mut amount = 0;
    if let Some(mut payer) = find_account(&draft, &frame.fee_source()) {
        amount = frame.fee_to_charge(closing.base_fees.of(frame)).min(payer.balance);
        payer.balance -= amount;
        draft.put(LedgerEntryData::Account(payer));
    }
    let changes = draft.changes();
    draft.finish().apply(entries);
    TakenFee { amount, changes }
}

fn run(frame: &Frame, index: usize, entries: &mut Entries, closing: &Closing) -> Ran {
    let mut draft = Draft::on(entries, closing.now.sequence);
    let mut ran = Ran {
        outcome: Err(Refusal::Internal),
        envelope_refused: false,
        phases: Phases::default(),
        soroban: None,
    };
    let against = Against {
        ledger: &*entries,
        config: closing.config,
        limits: closing.limits,
        sequence: closing.now.sequence,
        close_time_s: closing.now.close_time_s,
        time_to_spare_s: 0,
        takes_fee: false,
    };
    if frame.fee_bump().is_some()
        && let Err(Invalid::Envelope { refusal, .. }) = validate_fee_bump(frame, &against)
    {
        return Ran { outcome: Err(refusal), envelope_refused: true, ..ran };
    }
    let mut source = match check_up_to_sequence(frame, &against) {
        Ok(source) => source,
        Err(refusal) => return Ran { outcome: Err(refusal), ..ran },
    };
    let wanted = frame.tx().seq_num.0;
    set_sequence(&mut source, wanted, closing.now.sequence, closing.now.close_time_s);
    draft.put(LedgerEntryData::Account(source));
    ran.phases.before = draft.changes();
    ran.outcome = match authorize(frame, &draft) {
        Ok(()) => run_operations(frame, index, &mut draft, closing, &mut ran),
        Err(refusal) => Err(refusal),
    };
    draft.finish().apply(entries);
    ran
}

fn run_operations(
    frame: &Frame,
    index: usize,
    draft: &mut Draft,
    closing: &Closing,
    ran: &mut Ran,
) -> Result<Vec<OperationResult>, Refusal> {
    let mut all = Draft::on(draft, closing.now.sequence);
    let mut results = Vec::with_capacity(frame.operations().len());
    let mut metas = Vec::with_capacity(frame.operations().len());
    let mut sponsorships = Sponsorships::default();
    for (position, operation) in frame.operations().iter().enumerate() {
        let mut own = Draft::on(&all, closing.now.sequence);
        let applying = applying(frame, operation, index, position, closing);
        let applied = operations::apply(operation, &mut own, &mut sponsorships, &applying);
        let Applied { result, events, diagnostic_events, soroban } = applied;
        ran.phases.diagnostic_events.extend(diagnostic_events);
        let succeeded = is_success(&result);
        results.push(result);
        if succeeded {
            metas.push(meta::operation(own.changes(), events));
            let writes = own.finish();
            all.absorb(writes);
            ran.soroban = soroban.or(ran.soroban.take());
        }
    }
    if !results.iter().all(is_success) {
        ran.soroban = None;
        return Err(Refusal::Failed(results));
    }
    if !sponsorships.all_ended() {
        ran.soroban = None;
        return Err(Refusal::BadSponsorship);
    }
    let writes = all.finish();
    draft.absorb(writes);
    ran.phases.operations = metas;
    keep_modules(frame, closing);
    Ok(results)
}

fn applying<'a>(
    frame: &'a Frame,
    operation: &Operation,
    index: usize,
    position: usize,
    closing: &'a Closing,
) -> Applying<'a> {
    let mut seed = closing.seed.to_vec();
    seed.extend((index as u64).to_be_bytes());
    seed.extend((position as u32).to_be_bytes());
    Applying {
        frame,
        source: frame.operation_source(operation),
        config: closing.config,
        limits: closing.limits,
        modules: closing.modules,
        now: closing.now,
        native_contract: closing.native_contract,
        seed: sha256(&seed),
    }
}

fn keep_modules(frame: &Frame, closing: &Closing) {
    for operation in frame.operations() {
        if let OperationBody::InvokeHostFunction(op) = &operation.body
            && let HostFunction::UploadContractWasm(wasm) = &op.host_function
            && let Err(error) = closing.modules.add(wasm)
        {
            eprintln!("an uploaded contract is not in the module cache: {error:?}");
        }
    }
}

fn finish(frame: Frame, fee: TakenFee, ran: Ran, entries: &mut Entries, closing: &Closing) -> Finished {
    let used = ran.soroban.clone().unwrap_or_default();
    let non_refundable = match frame.soroban_data() {
        Some(data) if frame.is_soroban() => non_refundable_fee(&frame, data, closing.config),
        _ => 0,
    };
    let refund = match frame.is_soroban() {
        true => (frame.resource_fee() - non_refundable - used.refundable_fee).clamp(0, fee.amount),
        false => 0,
    };
    let (refunded, refund_processing) = give_back(&frame, refund, entries, closing);
    let fee_charged = fee.amount - refunded;
    let result = match (ran.envelope_refused, ran.outcome) {
        (true, Err(refusal)) => results::refused(refusal, fee_charged),
        (_, outcome) => results::applied(&frame, outcome, fee_charged),
    };
    let fee_event = |amount, stage| events::fee(closing.native_contract, &frame.fee_source(), amount, stage);
    let fee_events: Vec<TransactionEvent> = [
        fee_event(fee.amount, TransactionEventStage::BeforeAllTxs),
        fee_event(-refunded, TransactionEventStage::AfterAllTxs),
    ]
    .into_iter()
    .flatten()
    .collect();
    let meta = meta::transaction(ran.phases, ran.soroban, non_refundable, fee_events);
    Finished {
        frame,
        result,
        meta,
        fee_processing: fee.changes,
        refund_processing,
        fee_charged,
        resource_fee_charged: non_refundable + used.refundable_fee,
    }
}

fn give_back(
    frame: &Frame,
    refund: i64,
    entries: &mut Entries,
    closing: &Closing,
) -> (i64, LedgerEntryChanges) {
    let mut draft = Draft::on(entries, closing.now.sequence);
    let mut refunded = 0;
    if refund > 0
        && let Some(mut payer) = find_account(&draft, &frame.fee_source())
        && credit(&mut payer, refund)
    {
        refunded = refund;
        draft.put(LedgerEntryData::Account(payer));
    }
    let changes = draft.changes();
    draft.finish().apply(entries);
    (refunded, changes)
}
