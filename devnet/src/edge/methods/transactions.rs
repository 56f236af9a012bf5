//! getTransaction and getTransactions.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Pagination, Rpc, require_base64};
use crate::edge::cursor::Toid;
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

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TransactionsRequest {
    #[serde(deserialize_with = "or_default")]
    start_ledger: u32,
    #[serde(deserialize_with = "or_default")]
    pagination: Pagination,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

/// What both methods say of a transaction; the zero values are those of one that was not found.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTransaction {
    #[serde(flatten)]
    details: Details,
    created_at: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransactionsResponse {
    transactions: Vec<ListedTransaction>,
    latest_ledger: u32,
    latest_ledger_close_timestamp: u64,
    oldest_ledger: u32,
    oldest_ledger_close_timestamp: u64,
    cursor: String,
}

impl Rpc {
    pub(super) fn get_transaction(&self, view: &View, params: Option<&RawValue>) -> Outcome {
        let request: TransactionRequest = read_params(params)?;
        require_base64(&request.xdr_format)?;
        let hash = read_hash(&request.hash)?;
        let record = view.transaction(&hash);
        let found = record.as_deref();
        result(&TransactionResponse {
            latest_ledger: view.latest().sequence,
            latest_ledger_close_time: view.latest().close_time_s().to_string(),
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_time: view.oldest().close_time_s().to_string(),
            details: Details {
                tx_hash: request.hash,
                ..found.map_or(Details { status: "NOT_FOUND", ..Details::default() }, details)
            },
            created_at: found.map_or(0, |record| record.close_time_s).to_string(),
        })
    }

    pub(super) fn get_transactions(&self, view: &View, params: Option<&RawValue>) -> Outcome {
        let request: TransactionsRequest = read_params(params)?;
        request.pagination.check(request.start_ledger, view)?;
        require_base64(&request.xdr_format)?;
        let start = first_wanted(&request)?;
        let limit = request.pagination.limit();
        let mut transactions = Vec::new();
        let mut cursor = Toid::default();
        for sequence in start.ledger..=view.latest().sequence {
            let ledger = view.ledger(sequence).ok_or_else(|| {
                RpcError::invalid_params(format!("database does not contain metadata for ledger: {sequence}"))
            })?;
            let already_seen = if sequence == start.ledger { start.transaction.saturating_sub(1) } else { 0 };
            cursor = Toid { ledger: sequence, transaction: already_seen, operation: 1 };
            for record in ledger.transactions.iter().skip(already_seen as usize) {
                cursor.transaction = record.application_order;
                transactions
                    .push(ListedTransaction { details: details(record), created_at: record.close_time_s });
                if transactions.len() >= limit {
                    break;
                }
            }
            if transactions.len() >= limit {
                break;
            }
        }
        result(&TransactionsResponse {
            transactions,
            latest_ledger: view.latest().sequence,
            latest_ledger_close_timestamp: view.latest().close_time_s(),
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_timestamp: view.oldest().close_time_s(),
            cursor: cursor.to_number().to_string(),
        })
    }
}

/// The position of the first transaction of the page.
fn first_wanted(request: &TransactionsRequest) -> Result<Toid, RpcError> {
    let cursor = &request.pagination.cursor;
    if cursor.is_empty() {
        return Ok(Toid { ledger: request.start_ledger, transaction: 1, operation: 1 });
    }
    let number: i64 = cursor.parse().map_err(|_| {
        RpcError::invalid_params(format!("strconv.ParseInt: parsing {cursor:?}: invalid syntax"))
    })?;
    let position = u64::try_from(number)
        .map_err(|_| RpcError::invalid_params("cursor ledger sequence cannot be negative"))?;
    let last = Toid::from_number(position);
    Ok(Toid { transaction: last.transaction + 1, ..last })
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

fn details(record: &TransactionRecord) -> Details {
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

    #[test]
    fn a_page_starts_behind_its_cursor() {
        let mut request = TransactionsRequest { start_ledger: 7, ..Default::default() };
        assert_eq!(first_wanted(&request).unwrap(), Toid { ledger: 7, transaction: 1, operation: 1 });
        request.pagination.cursor = Toid { ledger: 9, transaction: 3, operation: 1 }.to_number().to_string();
        assert_eq!(first_wanted(&request).unwrap(), Toid { ledger: 9, transaction: 4, operation: 1 });
        request.pagination.cursor = "-1".to_owned();
        assert!(first_wanted(&request).is_err());
    }
}
