//! Simulation against a closed ledger, as stellar-rpc does it.

use std::rc::Rc;

use soroban_env_host::e2e_invoke::RecordingInvocationAuthMode;
use soroban_simulation::simulation::{
    LedgerEntryDiff, SimulationAdjustmentConfig, SimulationAdjustmentFactor, simulate_extend_ttl_op,
    simulate_invoke_host_function_op, simulate_restore_op,
};
use soroban_simulation::{AutoRestoringSnapshotSource, NetworkConfig};

use crate::entries::Entries;
use crate::host::{Moment, Snapshot, event_log::failure_text};
use crate::simulation::{
    AuthMode, RestorePreamble, Simulated, SimulatedInvocation, SimulationFailure, SimulationRequest,
    StateChange,
};
use crate::xdr::{AccountId, HostFunction, LedgerKey, SorobanTransactionData};

type Outcome = Result<Simulated, SimulationFailure>;

/// Runs `request` on top of `entries`; nothing is written.
pub fn simulate(
    request: SimulationRequest,
    entries: Entries,
    config: &NetworkConfig,
    now: &Moment,
) -> Outcome {
    match request {
        SimulationRequest::Invoke { source, host_function, auth, instruction_leeway } => {
            let adjustment = with_leeway(instruction_leeway);
            invoke(&source, host_function, auth, Snapshot(entries), config, now, &adjustment)
        }
        SimulationRequest::ExtendTtl { keys, extend_to } => extend(&keys, extend_to, entries, config, now),
        SimulationRequest::Restore { keys } => {
            let adjustment = SimulationAdjustmentConfig::default_adjustment();
            let info = now.ledger_info(config);
            simulate_restore_op(&Snapshot(entries), config, &adjustment, &info, &keys)
                .map(|result| without_invocation(result.transaction_data))
                .map_err(refused)
        }
    }
}

fn with_leeway(instruction_leeway: u64) -> SimulationAdjustmentConfig {
    let additive_factor = u32::try_from(instruction_leeway).unwrap_or(u32::MAX).max(50_000);
    SimulationAdjustmentConfig {
        instructions: SimulationAdjustmentFactor::new(1.04, additive_factor),
        ..SimulationAdjustmentConfig::default_adjustment()
    }
}

fn invoke(
    source: &AccountId,
    host_function: HostFunction,
    auth: AuthMode,
    snapshot: Snapshot,
    config: &NetworkConfig,
    now: &Moment,
    adjustment: &SimulationAdjustmentConfig,
) -> Outcome {
    let mode = match auth {
        AuthMode::Enforce(entries) => RecordingInvocationAuthMode::Enforcing(entries),
        AuthMode::Record { allow_non_root, use_address_v2 } => {
            RecordingInvocationAuthMode::recording(!allow_non_root, use_address_v2)
        }
    };
    let result = simulate_invoke_host_function_op(
        Rc::new(snapshot),
        config,
        adjustment,
        &now.ledger_info(config),
        host_function,
        mode,
        source,
        fresh_seed(),
        true,
    )
    .map_err(refused)?;
    let value = match result.invoke_result {
        Ok(value) => value,
        Err(error) => {
            let error = failure_text(&error, &result.diagnostic_events);
            return Err(SimulationFailure { error, events: result.diagnostic_events });
        }
    };
    let Some(transaction_data) = result.transaction_data else {
        return Err(refused(anyhow::anyhow!("the simulation gave no transaction data")));
    };
    Ok(Simulated {
        min_resource_fee: transaction_data.resource_fee,
        transaction_data,
        invocation: Some(SimulatedInvocation { value, auth: result.auth }),
        events: result.diagnostic_events,
        restore_preamble: None,
        state_changes: result.modified_entries.into_iter().filter_map(state_change).collect(),
    })
}

fn extend(
    keys: &[LedgerKey],
    extend_to: u32,
    entries: Entries,
    config: &NetworkConfig,
    now: &Moment,
) -> Outcome {
    if extend_to >= config.max_entry_ttl {
        return Err(refused(anyhow::anyhow!(
            "the TTL extension of {extend_to} ledgers is not below the maximum of {}",
            config.max_entry_ttl
        )));
    }
    let adjustment = SimulationAdjustmentConfig::default_adjustment();
    let info = now.ledger_info(config);
    let restoring = AutoRestoringSnapshotSource::new(Rc::new(Snapshot(entries)), &info).map_err(refused)?;
    let result =
        simulate_extend_ttl_op(&restoring, config, &adjustment, &info, keys, extend_to).map_err(refused)?;
    let preamble = restoring.simulate_restore_keys_op(config, &adjustment, &info).map_err(refused)?;
    let mut simulated = without_invocation(result.transaction_data);
    simulated.restore_preamble = preamble.map(|restore| RestorePreamble {
        min_resource_fee: restore.transaction_data.resource_fee,
        transaction_data: restore.transaction_data,
    });
    Ok(simulated)
}

fn without_invocation(transaction_data: SorobanTransactionData) -> Simulated {
    Simulated {
        min_resource_fee: transaction_data.resource_fee,
        transaction_data,
        invocation: None,
        events: Vec::new(),
        restore_preamble: None,
        state_changes: Vec::new(),
    }
}

fn refused(error: anyhow::Error) -> SimulationFailure {
    SimulationFailure { error: format!("{error:#}"), events: Vec::new() }
}

fn state_change(diff: LedgerEntryDiff) -> Option<StateChange> {
    let key = diff.state_before.as_ref().or(diff.state_after.as_ref())?.to_key();
    Some(StateChange { key, before: diff.state_before, after: diff.state_after })
}

/// A recorded nonce comes from this seed: with a fixed one, an account's second payment would be a replay.
fn fresh_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if getrandom::getrandom(&mut seed).is_err() {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        seed = crate::codec::sha256(&nanos.as_nanos().to_be_bytes());
    }
    seed
}
