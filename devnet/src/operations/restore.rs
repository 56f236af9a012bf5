//! RestoreFootprint: archived entries of the read-write footprint come back.

use crate::draft::{Draft, Ledger};
use crate::host::fees::non_refundable_fee;
use crate::host::invoke::{Extension, extension_fee, rent_size};
use crate::ledger_keys::is_persistent;
use crate::operations::invoke::stored_size;
use crate::operations::{Applied, Applying, SorobanUse};
use crate::transaction::Frame;
use crate::xdr::{LedgerKey, OperationResult, OperationResultTr, RestoreFootprintResult};

fn result(result: RestoreFootprintResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::RestoreFootprint(result))
}

pub fn check(frame: &Frame) -> Result<(), OperationResult> {
    let is_sound = frame.soroban_data().is_some_and(|data| {
        let footprint = &data.resources.footprint;
        footprint.read_only.is_empty() && footprint.read_write.iter().all(is_persistent)
    });
    if is_sound { Ok(()) } else { Err(result(RestoreFootprintResult::Malformed)) }
}

pub fn apply(draft: &mut Draft, applying: &Applying) -> Applied {
    let failed = |code| Applied::failed(result(code));
    let Some(data) = applying.frame.soroban_data() else { return failed(RestoreFootprintResult::Malformed) };
    let sequence = applying.now.sequence;
    let live_until_after =
        sequence.saturating_add(applying.config.min_persistent_entry_ttl).saturating_sub(1);
    let mut bytes = 0u32;
    let mut extensions = Vec::new();
    let mut restored: Vec<LedgerKey> = Vec::new();
    for key in data.resources.footprint.read_write.iter() {
        let Some(stored) = draft.find(key) else { continue };
        if stored.lifetime.is_none_or(|lifetime| lifetime.live_until >= sequence) {
            continue;
        }
        let size = stored_size(&stored);
        bytes = bytes.saturating_add(size);
        let Ok(rent_size) = rent_size(&stored.entry, size as usize, applying.modules) else {
            return failed(RestoreFootprintResult::ResourceLimitExceeded);
        };
        extensions.push(Extension {
            is_persistent: true,
            is_code: matches!(key, LedgerKey::ContractCode(_)),
            rent_size,
            live_until_before: 0,
            live_until_after,
        });
        restored.push(key.clone());
    }
    if bytes > data.resources.disk_read_bytes || bytes > data.resources.write_bytes {
        return failed(RestoreFootprintResult::ResourceLimitExceeded);
    }
    let rent_fee = extension_fee(&extensions, applying.config, &applying.now);
    if rent_fee > data.resource_fee - non_refundable_fee(applying.frame, data, applying.config) {
        return failed(RestoreFootprintResult::InsufficientRefundableFee);
    }
    for key in &restored {
        draft.restore(key, live_until_after);
    }
    Applied {
        result: result(RestoreFootprintResult::Success),
        events: Vec::new(),
        diagnostic_events: Vec::new(),
        soroban: Some(SorobanUse { return_value: None, refundable_fee: rent_fee, rent_fee }),
    }
}
