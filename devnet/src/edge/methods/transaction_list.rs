//! getTransactions: pages of transactions and the cursors that continue them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::transactions::{Details, details};
use super::{Pagination, Rpc, require_base64};
use crate::edge::call_effects::{CallEffects, CursorMode};
use crate::edge::cursor::Toid;
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::release::Release;
use crate::edge::view::View;

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

/// Where a page starts: at a ledger, or behind a cursor.
struct PageStart {
    first: Toid,
    /// The position and the text of the request's cursor.
    cursor: Option<(Toid, String)>,
}

impl Rpc {
    pub(super) fn get_transactions(
        &self,
        view: &View,
        params: Option<&RawValue>,
        effects: &CallEffects,
    ) -> Outcome {
        let request: TransactionsRequest = read_params(params)?;
        let most = self.options.max_transactions_limit;
        request.pagination.check(request.start_ledger, most, view)?;
        require_base64(&request.xdr_format)?;
        let start = PageStart::read(&request)?;
        let limit = if effects.lists_nothing { 0 } else { request.pagination.limit(most) };
        let (transactions, end) = read_page(view, start.first, limit)?;
        let cursor = match effects.empty_page_cursor {
            Some(mode) if transactions.is_empty() => start.cursor_as(mode),
            _ => start.cursor_after(end, self.options.release),
        };
        result(&TransactionsResponse {
            transactions,
            latest_ledger: view.stated().sequence,
            latest_ledger_close_timestamp: view.stated().close_time_s,
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_timestamp: view.oldest().close_time_s(),
            cursor,
        })
    }
}

/// At most `limit` transactions from `first` on, and the position the reading ended at.
///
/// That is the last transaction of the page, or the start of the last ledger when nothing of it was listed;
/// zero when `first` lies behind the latest ledger. With a limit of 0 the ledgers count as empty.
fn read_page(view: &View, first: Toid, limit: usize) -> Result<(Vec<ListedTransaction>, Toid), RpcError> {
    let mut transactions = Vec::new();
    let mut end = Toid::default();
    for sequence in first.ledger..=view.latest().sequence {
        let ledger = view.ledger(sequence).ok_or_else(|| {
            RpcError::invalid_params(format!("database does not contain metadata for ledger: {sequence}"))
        })?;
        end = Toid { ledger: sequence, transaction: 0, operation: 1 };
        let already_seen = if sequence == first.ledger { first.transaction.saturating_sub(1) } else { 0 };
        let room = limit - transactions.len();
        for record in ledger.transactions.iter().skip(already_seen as usize).take(room) {
            end.transaction = record.application_order;
            transactions
                .push(ListedTransaction { details: details(record), created_at: record.close_time_s });
        }
        if limit > 0 && transactions.len() == limit {
            break;
        }
    }
    Ok((transactions, end))
}

impl PageStart {
    fn read(request: &TransactionsRequest) -> Result<PageStart, RpcError> {
        let text = &request.pagination.cursor;
        if text.is_empty() {
            let first = Toid { ledger: request.start_ledger, transaction: 1, operation: 1 };
            return Ok(PageStart { first, cursor: None });
        }
        let number: i64 = text.parse().map_err(|_| {
            RpcError::invalid_params(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
        })?;
        let position = u64::try_from(number)
            .map_err(|_| RpcError::invalid_params("cursor ledger sequence cannot be negative"))?;
        let last = Toid::from_number(position);
        let first = Toid { transaction: last.transaction + 1, ..last };
        Ok(PageStart { first, cursor: Some((last, text.clone())) })
    }

    /// The cursor of a page that was read up to `end`.
    fn cursor_after(&self, end: Toid, release: Release) -> String {
        match &self.cursor {
            Some((asked, _)) if release.echoes_cursor() && end < *asked => asked.to_number().to_string(),
            _ => end.to_number().to_string(),
        }
    }

    /// The cursor of an empty page as a fault wants it.
    fn cursor_as(&self, mode: CursorMode) -> String {
        match mode {
            CursorMode::Zero => "0".to_owned(),
            CursorMode::Rewind => {
                Toid { ledger: self.first.ledger, transaction: 0, operation: 1 }.to_number().to_string()
            }
            CursorMode::Echo => self.cursor.as_ref().map_or(String::new(), |(_, text)| text.clone()),
            CursorMode::Empty => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(cursor: &str) -> Result<PageStart, RpcError> {
        let pagination = Pagination { cursor: cursor.to_owned(), limit: 0 };
        let start_ledger = if cursor.is_empty() { 7 } else { 0 };
        PageStart::read(&TransactionsRequest { start_ledger, pagination, ..Default::default() })
    }

    fn toid(ledger: u32, transaction: u32) -> Toid {
        Toid { ledger, transaction, operation: 1 }
    }

    fn text(ledger: u32, transaction: u32) -> String {
        toid(ledger, transaction).to_number().to_string()
    }

    #[test]
    fn a_page_starts_behind_its_cursor() {
        assert_eq!(start("").unwrap().first, toid(7, 1));
        assert_eq!(start(&text(9, 3)).unwrap().first, toid(9, 4));
        assert!(start("-1").is_err());
        assert!(start("x").is_err());
    }

    #[test]
    fn a_used_up_cursor_is_reset_by_older_releases_and_echoed_by_newer_ones() {
        let seen = start(&text(9, 3)).unwrap();
        assert_eq!(seen.cursor_after(toid(9, 0), Release::V28), text(9, 0));
        assert_eq!(seen.cursor_after(toid(9, 0), Release::V30), text(9, 3));
        assert_eq!(seen.cursor_after(Toid::default(), Release::V28), "0");
        assert_eq!(seen.cursor_after(Toid::default(), Release::V30), text(9, 3));
        assert_eq!(seen.cursor_after(toid(10, 0), Release::V30), text(10, 0));
        assert_eq!(start("").unwrap().cursor_after(toid(8, 0), Release::V30), text(8, 0));
    }

    #[test]
    fn a_fault_decides_the_cursor_of_an_empty_page() {
        let behind_cursor = start(&text(9, 3)).unwrap();
        assert_eq!(behind_cursor.cursor_as(CursorMode::Zero), "0");
        assert_eq!(behind_cursor.cursor_as(CursorMode::Rewind), text(9, 0));
        assert_eq!(behind_cursor.cursor_as(CursorMode::Echo), text(9, 3));
        assert_eq!(behind_cursor.cursor_as(CursorMode::Empty), "");
        let at_ledger = start("").unwrap();
        assert_eq!(at_ledger.cursor_as(CursorMode::Rewind), text(7, 0));
        assert_eq!(at_ledger.cursor_as(CursorMode::Echo), "");
    }
}
