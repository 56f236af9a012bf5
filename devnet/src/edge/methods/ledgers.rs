//! getLatestLedger and getLedgers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{MAX_LEDGERS_PAGE, Pagination, Rpc, require_base64};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::padding::{pad_base64, pad_base64_to};
use crate::edge::release::Release;
use crate::edge::view::View;
use crate::edge::xdr_text::encode;
use crate::record::ClosedLedger;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LatestLedger {
    id: String,
    protocol_version: u32,
    sequence: u32,
    close_time: String,
    header_xdr: String,
    metadata_xdr: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LedgersRequest {
    #[serde(deserialize_with = "or_default")]
    start_ledger: u32,
    #[serde(deserialize_with = "or_default")]
    pagination: Pagination,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LedgerInfo {
    hash: String,
    sequence: u32,
    ledger_close_time: String,
    header_xdr: String,
    metadata_xdr: String,
}

/// The close times here are numbers, unlike everywhere else.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LedgersResponse {
    ledgers: Vec<LedgerInfo>,
    latest_ledger: u32,
    latest_ledger_close_time: u64,
    oldest_ledger: u32,
    oldest_ledger_close_time: u64,
    cursor: String,
}

impl Rpc {
    pub(super) fn get_latest_ledger(&self, view: &View, padding_bytes: usize) -> Outcome {
        if padding_bytes > 0 || view.states_the_future() {
            return result(&self.latest_ledger(view, padding_bytes));
        }
        let text = self.latest_ledger.get(view.latest().sequence, || {
            Arc::new(serde_json::to_vec(&self.latest_ledger(view, 0)).unwrap_or_default())
        });
        Ok(text.to_vec())
    }

    fn latest_ledger(&self, view: &View, padding_bytes: usize) -> LatestLedger {
        let latest = view.latest();
        LatestLedger {
            id: hex::encode(latest.hash),
            protocol_version: latest.header.ledger_version,
            sequence: view.stated().sequence,
            close_time: view.stated().close_time_s.to_string(),
            header_xdr: encode(&latest.header),
            metadata_xdr: self.metadata_text(latest, padding_bytes),
        }
    }

    /// The ledger's meta in base64, at least as large as the service was told to make it.
    fn metadata_text(&self, ledger: &ClosedLedger, padding_bytes: usize) -> String {
        let mut text = encode(&ledger.meta);
        pad_base64_to(&mut text, self.options.ledger_meta_bytes);
        pad_base64(&mut text, padding_bytes);
        text
    }

    pub(super) fn get_ledgers(
        &self,
        view: &View,
        params: Option<&RawValue>,
        padding_bytes: usize,
    ) -> Outcome {
        let request: LedgersRequest = read_params(params)?;
        request.pagination.check(request.start_ledger, MAX_LEDGERS_PAGE, view)?;
        require_base64(&request.xdr_format)?;
        let start = start_ledger(&request, view, self.options.release)?;
        let mut ledgers: Vec<LedgerInfo> = (start..=view.latest().sequence)
            .take(request.pagination.limit(MAX_LEDGERS_PAGE))
            .filter_map(|sequence| view.ledger(sequence))
            .map(|ledger| self.ledger_info(&ledger))
            .collect();
        if let Some(last) = ledgers.last_mut() {
            pad_base64(&mut last.metadata_xdr, padding_bytes);
        }
        let cursor = ledgers.last().map_or(start.saturating_sub(1), |ledger| ledger.sequence);
        result(&LedgersResponse {
            ledgers,
            latest_ledger: view.stated().sequence,
            latest_ledger_close_time: view.stated().close_time_s,
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_time: view.oldest().close_time_s(),
            cursor: cursor.to_string(),
        })
    }

    fn ledger_info(&self, ledger: &ClosedLedger) -> LedgerInfo {
        LedgerInfo {
            hash: hex::encode(ledger.hash),
            sequence: ledger.sequence,
            ledger_close_time: ledger.close_time_s().to_string(),
            header_xdr: encode(&ledger.header_entry()),
            metadata_xdr: self.metadata_text(ledger, 0),
        }
    }
}

/// The first ledger of the page; behind the latest one for a caller who has seen it, where the release allows.
fn start_ledger(request: &LedgersRequest, view: &View, release: Release) -> Result<u32, RpcError> {
    let cursor = &request.pagination.cursor;
    if cursor.is_empty() {
        return Ok(request.start_ledger);
    }
    let after: u32 = cursor.parse().map_err(|_| {
        RpcError::invalid_params(format!("strconv.ParseUint: parsing {cursor:?}: invalid syntax"))
    })?;
    let is_allowed =
        |start: &u32| view.contains(*start) || (release.echoes_cursor() && *start > view.latest().sequence);
    match after.checked_add(1).filter(is_allowed) {
        Some(start) => Ok(start),
        None => Err(RpcError::invalid_params(format!(
            "cursor ('{cursor}') must be between the oldest ledger: {} and the latest ledger: {} for this rpc \
             instance",
            view.oldest().sequence,
            view.latest().sequence
        ))),
    }
}
