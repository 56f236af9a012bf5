//! getTransaction, and how it and getTransactions describe a transaction.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, require_base64};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::view::View;
use crate::edge::xdr_text::{encode, encode_all};
use crate::record::TransactionRecord;
use crate::xdr::TransactionMeta;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TransactionRequest {
    #[serde(deserialize_with = "or_default")]
    hash: String,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

/// What both methods say of a transaction; the zero values are those of one that was not found.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Details {
    status: &'static str,
    tx_hash: String,
    application_order: u32,
    fee_bump: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    envelope_xdr: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    result_xdr: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    result_meta_xdr: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostic_events_xdr: Vec<String>,
    events: Events,
    ledger: u32,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transaction_events_xdr: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contract_events_xdr: Vec<Vec<String>>,
}

/// `createdAt` is text here and a number in a list, as in the real service.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransactionResponse {
    latest_ledger: u32,
    latest_ledger_close_time: String,
    oldest_ledger: u32,
    oldest_ledger_close_time: String,
    #[serde(flatten)]
    details: Details,
    created_at: String,
}

impl Rpc {
    pub(super) fn get_transaction(&self, view: &View, params: Option<&RawValue>) -> Outcome {
        let request: TransactionRequest = read_params(params)?;
        require_base64(&request.xdr_format)?;
        let hash = read_hash(&request.hash)?;
        let record = view.transaction(&hash);
        let found = record.as_deref();
        result(&TransactionResponse {
            latest_ledger: view.stated().sequence,
            latest_ledger_close_time: view.stated().close_time_s.to_string(),
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_time: view.oldest().close_time_s().to_string(),
            details: Details {
                tx_hash: request.hash,
                ..found.map_or(Details { status: "NOT_FOUND", ..Details::default() }, details)
            },
            created_at: found.map_or(0, |record| record.close_time_s).to_string(),
        })
    }
}

fn read_hash(text: &str) -> Result<[u8; 32], RpcError> {
    if text.len() / 2 != 32 {
        return Err(RpcError::invalid_params(format!("unexpected hash length ({})", text.len())));
    }
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).map_err(|error| {
        RpcError::invalid_params(match error {
            hex::FromHexError::InvalidHexCharacter { c, .. } => {
                format!("incorrect hash: encoding/hex: invalid byte: U+{:04X} {c:?}", u32::from(c))
            }
            _ => "incorrect hash: encoding/hex: odd length hex string".to_owned(),
        })
    })?;
    Ok(hash)
}

pub(super) fn details(record: &TransactionRecord) -> Details {
    let mut details = Details {
        status: if record.is_successful() { "SUCCESS" } else { "FAILED" },
        tx_hash: hex::encode(record.hash),
        application_order: record.application_order,
        fee_bump: record.is_fee_bump(),
        envelope_xdr: encode(&record.envelope),
        result_xdr: encode(&record.result),
        result_meta_xdr: encode(&record.meta),
        ledger: record.ledger,
        ..Details::default()
    };
    if let TransactionMeta::V4(meta) = &record.meta {
        details.diagnostic_events_xdr = encode_all(&meta.diagnostic_events);
        details.events = Events {
            transaction_events_xdr: encode_all(&meta.events),
            contract_events_xdr: meta
                .operations
                .iter()
                .map(|operation| encode_all(&operation.events))
                .collect(),
        };
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_hex_digits() {
        assert_eq!(read_hash(&"ab".repeat(32)), Ok([0xab; 32]));
        for wrong in ["", "ab", &"a".repeat(63), &"ab".repeat(33), &"zz".repeat(32), &"a".repeat(65)] {
            assert!(read_hash(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read_hash("abc"), Err(RpcError::invalid_params("unexpected hash length (3)")));
    }
}
