//! getLatestLedger and getLedgers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Pagination, Rpc, require_base64};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
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
    pub(super) fn get_latest_ledger(&self, view: &View) -> Outcome {
        let latest = view.latest();
        let text = self.latest_ledger.get(latest.sequence, || {
            let answer = LatestLedger {
                id: hex::encode(latest.hash),
                protocol_version: latest.header.ledger_version,
                sequence: latest.sequence,
                close_time: latest.close_time_s().to_string(),
                header_xdr: encode(&latest.header),
                metadata_xdr: encode(&latest.meta),
            };
            Arc::new(serde_json::to_vec(&answer).unwrap_or_default())
        });
        Ok(text.to_vec())
    }

    pub(super) fn get_ledgers(&self, view: &View, params: Option<&RawValue>) -> Outcome {
        let request: LedgersRequest = read_params(params)?;
        request.pagination.check(request.start_ledger, view)?;
        require_base64(&request.xdr_format)?;
        let start = start_ledger(&request, view)?;
        let ledgers: Vec<LedgerInfo> = (start..=view.latest().sequence)
            .take(request.pagination.limit())
            .filter_map(|sequence| view.ledger(sequence))
            .map(|ledger| ledger_info(&ledger))
            .collect();
        let cursor = ledgers.last().map_or(start.saturating_sub(1), |ledger| ledger.sequence);
        result(&LedgersResponse {
            ledgers,
            latest_ledger: view.latest().sequence,
            latest_ledger_close_time: view.latest().close_time_s(),
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_time: view.oldest().close_time_s(),
            cursor: cursor.to_string(),
        })
    }
}

fn start_ledger(request: &LedgersRequest, view: &View) -> Result<u32, RpcError> {
    let cursor = &request.pagination.cursor;
    if cursor.is_empty() {
        return Ok(request.start_ledger);
    }
    let after: u32 = cursor.parse().map_err(|_| {
        RpcError::invalid_params(format!("strconv.ParseUint: parsing {cursor:?}: invalid syntax"))
    })?;
    match after.checked_add(1).filter(|start| view.contains(*start)) {
        Some(start) => Ok(start),
        None => Err(RpcError::invalid_params(format!(
            "cursor ('{cursor}') must be between the oldest ledger: {} and the latest ledger: {} for this rpc \
             instance",
            view.oldest().sequence,
            view.latest().sequence
        ))),
    }
}

fn ledger_info(ledger: &ClosedLedger) -> LedgerInfo {
    LedgerInfo {
        hash: hex::encode(ledger.hash),
        sequence: ledger.sequence,
        ledger_close_time: ledger.close_time_s().to_string(),
        header_xdr: encode(&ledger.header_entry()),
        metadata_xdr: encode(&ledger.meta),
    }
}
