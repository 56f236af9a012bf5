//! ExtendFootprintTtl: the entries of the read-only footprint live longer.

use soroban_simulation::NetworkConfig;

use crate::codec::encode;
use crate::draft::{Draft, Ledger};
use crate::host::fees::non_refundable_fee;
use crate::host::invoke::{Extension, extension_fee, rent_size};
use crate::ledger_keys::{is_persistent, is_soroban_key};
use crate::operations::{Applied, Applying, SorobanUse};
use crate::transaction::Frame;
use crate::xdr::{
    ExtendFootprintTtlOp, ExtendFootprintTtlResult, LedgerKey, OperationResult, OperationResultTr,
};

fn result(result: ExtendFootprintTtlResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::ExtendFootprintTtl(result))
}

pub fn check(
    op: &ExtendFootprintTtlOp,
    frame: &Frame,
    config: &NetworkConfig,
) -> Result<(), OperationResult> {
    let is_sound = frame.soroban_data().is_some_and(|data| {
        let footprint = &data.resources.footprint;
        footprint.read_write.is_empty() && footprint.read_only.iter().all(is_soroban_key)
    });
    if is_sound && op.extend_to < config.max_entry_ttl {
        Ok(())
    } else {
        Err(result(ExtendFootprintTtlResult::Malformed))
    }
}

pub fn apply(op: &ExtendFootprintTtlOp, draft: &mut Draft, applying: &Applying) -> Applied {
    let Some(data) = applying.frame.soroban_data() else {
        return Applied::failed(result(ExtendFootprintTtlResult::Malformed));
    };
    let live_until_after = applying.now.sequence.saturating_add(op.extend_to);
    let mut extensions = Vec::new();
    let mut extended: Vec<LedgerKey> = Vec::new();
    for key in data.resources.footprint.read_only.iter() {
        let Some(stored) = draft.find(key) else { continue };
        let Some(lifetime) = stored.lifetime else { continue };
        if lifetime.live_until < applying.now.sequence || lifetime.live_until >= live_until_after {
            continue;
        }
        let Ok(size) = rent_size(&stored.entry, encode(&*stored.entry).len(), applying.modules) else {
            return Applied::failed(result(ExtendFootprintTtlResult::ResourceLimitExceeded));
        };
        extensions.push(Extension {
            is_persistent: is_persistent(key),
            is_code: matches!(key, LedgerKey::ContractCode(_)),
            rent_size: size,
            live_until_before: lifetime.live_until,
            live_until_after,
        });
        extended.push(key.clone());
    }
    let rent_fee = extension_fee(&extensions, applying.config, &applying.now);
    if rent_fee > data.resource_fee - non_refundable_fee(applying.frame, data, applying.config) {
        return Applied::failed(result(ExtendFootprintTtlResult::InsufficientRefundableFee));
    }
    for key in &extended {
        draft.extend_lifetime(key, live_until_after);
    }
    Applied {
        result: result(ExtendFootprintTtlResult::Success),
        events: Vec::new(),
        diagnostic_events: Vec::new(),
        soroban: Some(SorobanUse { return_value: None, refundable_fee: rent_fee, rent_fee }),
    }
}
