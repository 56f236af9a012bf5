//! InvokeHostFunction: a contract call, an upload or a creation, within what was declared.

use crate::accounts::is_valid_asset;
use crate::codec::{encoded_size, hash_of};
use crate::draft::{Draft, Ledger};
use crate::entries::StoredEntry;
use crate::host::diagnostics::{self, Used};
use crate::host::fees::{archived_indices, events_fee, non_refundable_fee};
use crate::host::invoke::{Call, Invocation, Invoked, KeyChange, Loaded, invoke};
use crate::ledger_keys::{is_persistent, is_soroban_key};
use crate::operations::{Applied, Applying, SorobanUse};
use crate::settings::TransactionLimits;
use crate::xdr::{
    ContractIdPreimage, DiagnosticEvent, Hash, HostFunction, InvokeHostFunctionOp, InvokeHostFunctionResult,
    InvokeHostFunctionSuccessPreImage, LedgerEntryData, LedgerKey, OperationResult, OperationResultTr,
    SorobanTransactionData,
};

type Refused = (InvokeHostFunctionResult, Vec<DiagnosticEvent>);

fn result(result: InvokeHostFunctionResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::InvokeHostFunction(result))
}

pub fn check(op: &InvokeHostFunctionOp, limits: &TransactionLimits) -> Result<(), OperationResult> {
    let preimage = match &op.host_function {
        HostFunction::UploadContractWasm(wasm) if wasm.len() > limits.contract_bytes as usize => {
            return Err(result(InvokeHostFunctionResult::Malformed));
        }
        HostFunction::CreateContract(create) => Some(&create.contract_id_preimage),
        HostFunction::CreateContractV2(create) => Some(&create.contract_id_preimage),
        HostFunction::UploadContractWasm(_) | HostFunction::InvokeContract(_) => None,
    };
    match preimage {
        Some(ContractIdPreimage::Asset(asset)) if !is_valid_asset(asset) => {
            Err(result(InvokeHostFunctionResult::Malformed))
        }
        _ => Ok(()),
    }
}

pub fn apply(op: &InvokeHostFunctionOp, draft: &mut Draft, applying: &Applying) -> Applied {
    match run(op, draft, applying) {
        Ok(applied) => applied,
        Err((code, diagnostic_events)) => Applied { diagnostic_events, ..Applied::failed(result(code)) },
    }
}

fn run(op: &InvokeHostFunctionOp, draft: &mut Draft, applying: &Applying) -> Result<Applied, Refused> {
    let Some(data) = applying.frame.soroban_data() else {
        return Err((InvokeHostFunctionResult::Malformed, Vec::new()));
    };
    let loaded = load(data, draft, applying)?;
    let call = Call {
        operation: op,
        data,
        restored: &loaded.restored,
        source: &applying.source,
        entries: loaded.entries,
        seed: applying.seed,
    };
    let invocation = invoke(call, applying.config, applying.modules, &applying.now)
        .map_err(|_| (InvokeHostFunctionResult::Trapped, Vec::new()))?;
    let (invoked, events) = accept(invocation, data, loaded.read_bytes, applying)?;
    let use_of_fee = pay(&invoked, data, applying).map_err(|code| (code, events.clone()))?;
    for key in loaded.restored_keys {
        draft.restore(&key, restored_until(applying));
    }
    write(invoked.changes, draft);
    let success = InvokeHostFunctionSuccessPreImage {
        return_value: invoked.value.clone(),
        events: invoked.events.clone().try_into().unwrap_or_default(),
    };
    Ok(Applied {
        result: result(InvokeHostFunctionResult::Success(Hash(hash_of(&success)))),
        events: invoked.events,
        diagnostic_events: events,
        soroban: Some(SorobanUse { return_value: Some(invoked.value), ..use_of_fee }),
    })
}

struct Footprint {
    entries: Vec<Option<Loaded>>,
    restored: Vec<u32>,
    restored_keys: Vec<LedgerKey>,
    read_bytes: u32,
}

fn restored_until(applying: &Applying) -> u32 {
    applying.now.sequence.saturating_add(applying.config.min_persistent_entry_ttl).saturating_sub(1)
}

fn load(data: &SorobanTransactionData, draft: &Draft, applying: &Applying) -> Result<Footprint, Refused> {
    let keys = &data.resources.footprint;
    let archived = archived_indices(data);
    let mut footprint =
        Footprint { entries: Vec::new(), restored: Vec::new(), restored_keys: Vec::new(), read_bytes: 0 };
    let read_only = keys.read_only.iter().map(|key| (key, None));
    let read_write = keys.read_write.iter().zip(0u32..).map(|(key, index)| (key, Some(index)));
    for (key, write_index) in read_only.chain(read_write) {
        let restores = write_index.is_some_and(|index| archived.contains(&index));
        let (entry, comes_back) = load_one(key, restores, draft, applying, &mut footprint.read_bytes)?;
        if comes_back && let Some(index) = write_index {
            footprint.restored.push(index);
            footprint.restored_keys.push(key.clone());
        }
        footprint.entries.push(entry);
    }
    if footprint.read_bytes > data.resources.disk_read_bytes {
        let event = diagnostics::exceeded(
            "operation byte-read resources exceeds amount specified",
            u64::from(footprint.read_bytes),
            u64::from(data.resources.disk_read_bytes),
        );
        return Err((InvokeHostFunctionResult::ResourceLimitExceeded, vec![event]));
    }
    Ok(footprint)
}

/// The entry as the host gets it, and whether it comes back from the archive.
fn load_one(
    key: &LedgerKey,
    restores: bool,
    draft: &Draft,
    applying: &Applying,
    read_bytes: &mut u32,
) -> Result<(Option<Loaded>, bool), Refused> {
    let Some(StoredEntry { entry, lifetime }) = draft.find(key) else { return Ok((None, false)) };
    let live_until = lifetime.map(|lifetime| lifetime.live_until);
    let is_over = live_until.is_some_and(|live_until| live_until < applying.now.sequence);
    if is_over && !is_persistent(key) {
        return Ok((None, false));
    }
    if is_over && !restores {
        return Err((InvokeHostFunctionResult::EntryArchived, Vec::new()));
    }
    let live_until = if is_over { Some(restored_until(applying)) } else { live_until };
    let loaded = Loaded::new(&entry, live_until, applying.modules)
        .map_err(|_| (InvokeHostFunctionResult::Trapped, Vec::new()))?;
    let size = u32::try_from(loaded.encoded.len()).unwrap_or(u32::MAX);
    if !fits(&entry.data, size, applying.limits) {
        return Err((InvokeHostFunctionResult::ResourceLimitExceeded, Vec::new()));
    }
    if is_over || !is_soroban_key(key) {
        *read_bytes = read_bytes.saturating_add(size);
    }
    Ok((Some(loaded), is_over))
}

fn fits(data: &LedgerEntryData, size: u32, limits: &TransactionLimits) -> bool {
    match data {
        LedgerEntryData::ContractCode(code) => code.code.len() <= limits.contract_bytes as usize,
        LedgerEntryData::ContractData(_) => size <= limits.entry_bytes,
        _ => true,
    }
}

/// Holds what the host did against what was declared.
fn accept(
    invocation: Invocation,
    data: &SorobanTransactionData,
    read_bytes: u32,
    applying: &Applying,
) -> Result<(Invoked, Vec<DiagnosticEvent>), Refused> {
    let declared = &data.resources;
    let mut used = Used {
        instructions: invocation.instructions,
        memory: invocation.memory,
        read_entries: declared.footprint.read_only.len() + declared.footprint.read_write.len(),
        write_entries: declared.footprint.read_write.len(),
        read_bytes,
        ..Used::default()
    };
    let mut events = invocation.diagnostic_events;
    let verdict = match invocation.outcome {
        Ok(invoked) => {
            let written: usize = invoked.changes.iter().map(|change| change.encoded_len).sum();
            used.written = u32::try_from(written).unwrap_or(u32::MAX);
            used.event_bytes = invoked.event_bytes;
            used.events = invoked.events.len();
            match passed_limit(&invoked, &used, data, applying) {
                None => Ok(invoked),
                Some(event) => {
                    events.push(event);
                    Err(InvokeHostFunctionResult::ResourceLimitExceeded)
                }
            }
        }
        Err(_) if used.instructions > u64::from(declared.instructions) => {
            Err(InvokeHostFunctionResult::ResourceLimitExceeded)
        }
        Err(_) if used.memory > u64::from(applying.config.tx_memory_limit) => {
            Err(InvokeHostFunctionResult::ResourceLimitExceeded)
        }
        Err(_) => Err(InvokeHostFunctionResult::Trapped),
    };
    events.extend(diagnostics::core_metrics(&used));
    match verdict {
        Ok(invoked) => Ok((invoked, events)),
        Err(code) => Err((code, events)),
    }
}

/// The first limit that a successful call went over, in the node's words.
fn passed_limit(
    invoked: &Invoked,
    used: &Used,
    data: &SorobanTransactionData,
    applying: &Applying,
) -> Option<DiagnosticEvent> {
    let (written, allowed) = (used.written, data.resources.write_bytes);
    if written > allowed {
        let text = "operation byte-write resources exceeds amount specified";
        return Some(diagnostics::exceeded(text, u64::from(written), u64::from(allowed)));
    }
    let oversized = invoked.changes.iter().find(|change| match &change.entry {
        Some(entry) => !fits(&entry.data, change.encoded_len as u32, applying.limits),
        None => false,
    });
    if let Some(change) = oversized {
        let text = "ledger entry size exceeds network config maximum";
        let allowed = u64::from(applying.limits.entry_bytes);
        return Some(diagnostics::exceeded(text, change.encoded_len as u64, allowed));
    }
    let (emitted, allowed) = (used.event_bytes, applying.limits.event_bytes);
    let text = "total events size exceeds network config maximum";
    (emitted > allowed).then(|| diagnostics::exceeded(text, u64::from(emitted), u64::from(allowed)))
}

/// Events and rent are paid from what the resource fee leaves after the fixed part.
fn pay(
    invoked: &Invoked,
    data: &SorobanTransactionData,
    applying: &Applying,
) -> Result<SorobanUse, InvokeHostFunctionResult> {
    let refundable_fee = invoked.rent_fee.saturating_add(events_fee(invoked.event_bytes, applying.config));
    let available = data.resource_fee - non_refundable_fee(applying.frame, data, applying.config);
    if refundable_fee > available {
        return Err(InvokeHostFunctionResult::InsufficientRefundableFee);
    }
    Ok(SorobanUse { return_value: None, refundable_fee, rent_fee: invoked.rent_fee })
}

fn write(changes: Vec<KeyChange>, draft: &mut Draft) {
    for change in changes {
        match (change.is_read_only, change.entry) {
            (true, _) => {
                if let Some(live_until) = change.live_until {
                    draft.extend_lifetime(&change.key, live_until);
                }
            }
            (false, Some(entry)) => draft.put_entry(change.key, entry, change.live_until),
            (false, None) => draft.remove(&change.key),
        }
    }
}

/// The bytes that a stored entry counts for when it is read or written.
pub(super) fn stored_size(stored: &StoredEntry) -> u32 {
    encoded_size(&*stored.entry)
}
