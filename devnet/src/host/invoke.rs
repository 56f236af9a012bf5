//! One invocation as a ledger applies it: every limit is the declared one.

use soroban_env_host::HostError;
use soroban_env_host::budget::Budget;
use soroban_env_host::e2e_invoke::{self, TtlLedgerEntryMeta};
use soroban_env_host::fees::{LedgerEntryRentChange, compute_rent_fee};
use soroban_simulation::NetworkConfig;

use crate::codec::{DEFAULT_XDR_RW_LIMITS, encode};
use crate::host::{Moment, modules::Modules};
use crate::xdr::{
    AccountId, ContractEvent, DiagnosticEvent, InvokeHostFunctionOp, LedgerEntry, LedgerKey, ReadXdr, ScVal,
    SorobanTransactionData,
};

/// One footprint entry on its way into the host.
pub struct Loaded {
    pub encoded: Vec<u8>,
    /// Only for entries with a lifetime.
    pub lifetime: Option<TtlLedgerEntryMeta>,
}

impl Loaded {
    pub fn new(entry: &LedgerEntry, live_until: Option<u32>, modules: &Modules) -> Result<Loaded, HostError> {
        let encoded = encode(entry);
        let lifetime = match live_until {
            Some(live_until_ledger) => Some(TtlLedgerEntryMeta {
                live_until_ledger,
                entry_size_for_rent: rent_size(entry, encoded.len(), modules)?,
            }),
            None => None,
        };
        Ok(Loaded { encoded, lifetime })
    }
}

/// The bytes an entry pays rent for: its own, and for code also the compiled module's.
pub fn rent_size(entry: &LedgerEntry, encoded_len: usize, modules: &Modules) -> Result<u32, HostError> {
    let size = u32::try_from(encoded_len).unwrap_or(u32::MAX);
    e2e_invoke::entry_size_for_rent(modules.budget(), entry, size)
}

/// Everything one invocation is given.
pub struct Call<'a> {
    pub operation: &'a InvokeHostFunctionOp,
    pub data: &'a SorobanTransactionData,
    pub restored: &'a [u32],
    pub source: &'a AccountId,
    /// One item for each footprint key: read-only keys first, then read-write ones.
    pub entries: Vec<Option<Loaded>>,
    pub seed: [u8; 32],
}

/// What one footprint key is afterwards.
pub struct KeyChange {
    pub key: LedgerKey,
    pub is_read_only: bool,
    /// The new value; none for a read-write key means it is gone.
    pub entry: Option<LedgerEntry>,
    pub encoded_len: usize,
    pub live_until: Option<u32>,
}

pub struct Invoked {
    pub value: ScVal,
    pub events: Vec<ContractEvent>,
    /// Bytes of the events and the return value together.
    pub event_bytes: u32,
    pub changes: Vec<KeyChange>,
    /// Stroops.
    pub rent_fee: i64,
}

pub struct Invocation {
    pub outcome: Result<Invoked, HostError>,
    pub instructions: u64,
    pub memory: u64,
    pub diagnostic_events: Vec<DiagnosticEvent>,
}

/// Runs the call in a fresh host; the ledger is changed by the caller.
pub fn invoke(
    call: Call,
    config: &NetworkConfig,
    modules: &Modules,
    now: &Moment,
) -> Result<Invocation, HostError> {
    let budget = Budget::try_from_configs(
        u64::from(call.data.resources.instructions),
        u64::from(config.tx_memory_limit),
        config.cpu_cost_params.clone(),
        config.memory_cost_params.clone(),
    )?;
    let auth: Vec<Vec<u8>> = call.operation.auth.iter().map(encode).collect();
    let entries: Vec<_> = call
        .entries
        .into_iter()
        .map(|loaded| match loaded {
            Some(loaded) => (Some(loaded.encoded), loaded.lifetime),
            None => (None, None),
        })
        .collect();
    let mut diagnostic_events = Vec::new();
    let result = e2e_invoke::invoke_host_function(
        &budget,
        true,
        encode(&call.operation.host_function),
        encode(&call.data.resources),
        call.restored,
        encode(call.source),
        auth.into_iter(),
        now.ledger_info(config),
        entries.into_iter(),
        call.seed.to_vec(),
        &mut diagnostic_events,
        None,
        Some(modules.cache()),
    );
    let outcome = result.and_then(|result| read_result(result, config, now));
    Ok(Invocation {
        outcome,
        instructions: budget.get_cpu_insns_consumed()?,
        memory: budget.get_mem_bytes_consumed()?,
        diagnostic_events,
    })
}

fn read_result(
    result: e2e_invoke::InvokeHostFunctionResult,
    config: &NetworkConfig,
    now: &Moment,
) -> Result<Invoked, HostError> {
    let encoded_value = result.encoded_invoke_result?;
    let rent_changes = e2e_invoke::extract_rent_changes(&result.ledger_changes);
    let mut event_bytes = encoded_value.len();
    let mut events = Vec::with_capacity(result.encoded_contract_events.len());
    for encoded in &result.encoded_contract_events {
        event_bytes += encoded.len();
        events.push(ContractEvent::from_xdr(encoded, DEFAULT_XDR_RW_LIMITS)?);
    }
    let mut changes = Vec::with_capacity(result.ledger_changes.len());
    for change in result.ledger_changes {
        changes.push(KeyChange {
            key: LedgerKey::from_xdr(&change.encoded_key, DEFAULT_XDR_RW_LIMITS)?,
            is_read_only: change.read_only,
            encoded_len: change.encoded_new_value.as_ref().map_or(0, Vec::len),
            entry: match change.encoded_new_value {
                Some(encoded) => Some(LedgerEntry::from_xdr(encoded, DEFAULT_XDR_RW_LIMITS)?),
                None => None,
            },
            live_until: change.ttl_change.map(|ttl| ttl.new_live_until_ledger),
        });
    }
    Ok(Invoked {
        value: ScVal::from_xdr(encoded_value, DEFAULT_XDR_RW_LIMITS)?,
        events,
        event_bytes: u32::try_from(event_bytes).unwrap_or(u32::MAX),
        changes,
        rent_fee: rent_fee(&rent_changes, config, now),
    })
}

fn rent_fee(changes: &[LedgerEntryRentChange], config: &NetworkConfig, now: &Moment) -> i64 {
    compute_rent_fee(changes, &config.rent_fee_configuration, now.sequence)
}

/// What it costs that entries of these sizes live longer; a lifetime of 0 before means it starts now.
pub fn extension_fee(extensions: &[Extension], config: &NetworkConfig, now: &Moment) -> i64 {
    let changes: Vec<_> = extensions
        .iter()
        .map(|extension| LedgerEntryRentChange {
            is_persistent: extension.is_persistent,
            is_code_entry: extension.is_code,
            old_size_bytes: if extension.live_until_before == 0 { 0 } else { extension.rent_size },
            new_size_bytes: extension.rent_size,
            old_live_until_ledger: extension.live_until_before,
            new_live_until_ledger: extension.live_until_after,
        })
        .collect();
    rent_fee(&changes, config, now)
}

/// One entry whose life is bought.
pub struct Extension {
    pub is_persistent: bool,
    pub is_code: bool,
    pub rent_size: u32,
    pub live_until_before: u32,
    pub live_until_after: u32,
}
