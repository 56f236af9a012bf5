//! getLedgerEntries.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, require_base64};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::view::View;
use crate::edge::xdr_text::{decode, encode};
use crate::record::LedgerState;
use crate::xdr::{ContractDataDurability, LedgerKey};

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
        result(&EntriesResponse {
            entries: keys.iter().filter_map(|key| entry_info(&state, key)).collect(),
            latest_ledger: state.ledger.sequence,
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

/// An archived entry is still shown; a temporary one that expired is gone.
fn entry_info(state: &LedgerState, key: &LedgerKey) -> Option<EntryInfo> {
    let (entry, live_until) = state.entries.get(key)?;
    let is_temporary =
        matches!(key, LedgerKey::ContractData(data) if data.durability == ContractDataDurability::Temporary);
    if is_temporary && live_until.is_some_and(|live_until| live_until < state.ledger.sequence) {
        return None;
    }
    Some(EntryInfo {
        key: encode(key),
        xdr: encode(&entry.data),
        last_modified_ledger_seq: entry.last_modified_ledger_seq,
        live_until_ledger_seq: live_until,
        ext_xdr: encode(&entry.ext),
    })
}
