//! getLedgerEntries.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, require_base64};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::view::View;
use crate::edge::xdr_text::{decode, encode};
use crate::ledger_keys::is_persistent;
use crate::record::LedgerState;
use crate::xdr::LedgerKey;

const MAX_KEYS: usize = 200;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EntriesRequest {
    #[serde(deserialize_with = "or_default")]
    keys: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntriesResponse {
    entries: Vec<EntryInfo>,
    latest_ledger: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryInfo {
    key: String,
    xdr: String,
    last_modified_ledger_seq: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_until_ledger_seq: Option<u32>,
    ext_xdr: String,
}

impl Rpc {
    /// Entries in the order of their keys; what is not there is left out.
    pub(super) fn get_ledger_entries(&self, view: &View, params: Option<&RawValue>) -> Outcome {
        let request: EntriesRequest = read_params(params)?;
        require_base64(&request.xdr_format)?;
        if request.keys.len() > MAX_KEYS {
            return Err(RpcError::invalid_params(format!(
                "key count ({}) exceeds maximum supported ({MAX_KEYS})",
                request.keys.len()
            )));
        }
        let keys = read_keys(&request.keys)?;
        let state = view.state();
        check_query(&keys)?;
        result(&EntriesResponse {
            entries: keys.iter().filter_map(|key| entry_info(&state, key)).collect(),
            latest_ledger: view.stated().sequence,
        })
    }
}

fn read_keys(texts: &[String]) -> Result<Vec<LedgerKey>, RpcError> {
    let read = |(index, text): (usize, &String)| match decode(text) {
        None => Err(RpcError::invalid_params(format!("cannot unmarshal key value {text} at index {index}"))),
        Some(LedgerKey::Ttl(_)) => {
            Err(RpcError::invalid_params("ledger ttl entries cannot be queried directly"))
        }
        Some(key) => Ok(key),
    };
    texts.iter().enumerate().map(read).collect()
}

/// What core's query server refuses, in the words that reach the caller.
fn check_query(keys: &[LedgerKey]) -> Result<(), RpcError> {
    let refused = |why: &str| Err(RpcError::internal(format!("could not query captive core: {why}")));
    if keys.is_empty() {
        return refused("no keys specified in request");
    }
    let mut seen = HashSet::new();
    if !keys.iter().all(|key| seen.insert(key)) {
        return refused("http request failed with non-200 status code (404)");
    }
    Ok(())
}

/// An archived entry is still shown, with 0 in place of the ledger its life ended in; a temporary one that
/// expired is gone.
fn entry_info(state: &LedgerState, key: &LedgerKey) -> Option<EntryInfo> {
    let (entry, live_until) = state.entries.get(key)?;
    let has_expired = live_until.is_some_and(|live_until| live_until < state.ledger.sequence);
    if has_expired && !is_persistent(key) {
        return None;
    }
    Some(EntryInfo {
        key: encode(key),
        xdr: encode(&entry.data),
        last_modified_ledger_seq: entry.last_modified_ledger_seq,
        live_until_ledger_seq: if has_expired { Some(0) } else { live_until },
        ext_xdr: encode(&entry.ext),
    })
}
