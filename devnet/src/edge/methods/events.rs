//! getEvents.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, require_base64};
use crate::edge::call_effects::CallEffects;
use crate::edge::cursor::{EventCursor, LAST_OPERATION, LAST_TRANSACTION, Toid};
use crate::edge::event_filter::{EventFilters, FilterRequest};
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::view::View;
use crate::edge::xdr_text::{encode, encode_all};
use crate::record::{ClosedLedger, TransactionRecord};
use crate::xdr::{
    ContractEvent, ContractEventBody, ContractEventType, TransactionEventStage, TransactionMeta,
    TransactionMetaV4,
};

const MAX_EVENTS: usize = 10_000;
const DEFAULT_EVENTS: usize = 100;
const LEDGER_SCAN_LIMIT: u32 = 10_000;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EventsRequest {
    #[serde(deserialize_with = "or_default")]
    start_ledger: u32,
    #[serde(deserialize_with = "or_default")]
    end_ledger: u32,
    #[serde(deserialize_with = "or_default")]
    filters: Vec<FilterRequest>,
    #[serde(deserialize_with = "or_default")]
    pagination: EventsPagination,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EventsPagination {
    cursor: Option<String>,
    #[serde(deserialize_with = "or_default")]
    limit: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventsResponse {
    events: Vec<EventInfo>,
    cursor: String,
    latest_ledger: u32,
    oldest_ledger: u32,
    latest_ledger_close_time: String,
    oldest_ledger_close_time: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventInfo {
    r#type: &'static str,
    ledger: u32,
    ledger_closed_at: String,
    contract_id: String,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_successful_contract_call: Option<bool>,
    operation_index: u32,
    transaction_index: u32,
    tx_hash: String,
    topic: Vec<String>,
    value: String,
}

/// Where a scan starts and which ledger it does not reach any more.
struct Window {
    /// Events at or before this one were already seen.
    after: Option<EventCursor>,
    start: u32,
    end: u32,
}

impl Rpc {
    pub(super) fn get_events(
        &self,
        view: &View,
        params: Option<&RawValue>,
        effects: &CallEffects,
    ) -> Outcome {
        let request: EventsRequest = read_params(params)?;
        let window = read_window(&request, view)?;
        let filters = EventFilters::read(&request.filters).map_err(RpcError::invalid_params)?;
        let limit = if request.pagination.limit == 0 { DEFAULT_EVENTS } else { request.pagination.limit };
        let mut events: Vec<EventInfo> = Vec::new();
        let end = if effects.lists_nothing { window.start } else { window.end };
        let ledgers = (window.start..end).map_while(|sequence| view.ledger(sequence));
        let has_call_success = self.options.release.events_have_call_success();
        'scan: for ledger in ledgers {
            for (cursor, record, event) in ledger_events(&ledger) {
                if window.after.is_some_and(|seen| cursor <= seen) || !filters.want(event) {
                    continue;
                }
                let call_success = has_call_success.then(|| record.is_successful());
                events.push(event_info(cursor, record, event, call_success));
                if events.len() == limit {
                    break 'scan;
                }
            }
        }
        let cursor = match events.last() {
            Some(last) if events.len() == limit => last.id.clone(),
            _ => EventCursor::end_of(window.end.saturating_sub(1)).to_string(),
        };
        result(&EventsResponse {
            events,
            cursor,
            latest_ledger: view.stated().sequence,
            oldest_ledger: view.oldest().sequence,
            latest_ledger_close_time: view.stated().close_time_s.to_string(),
            oldest_ledger_close_time: view.oldest().close_time_s().to_string(),
        })
    }
}

fn read_window(request: &EventsRequest, view: &View) -> Result<Window, RpcError> {
    require_base64(&request.xdr_format)?;
    let after = match &request.pagination.cursor {
        None => None,
        Some(text) => Some(EventCursor::parse(text).ok_or_else(|| {
            RpcError::invalid_params(format!("invalid parameters: invalid event id {text}"))
        })?),
    };
    if after.is_some() && (request.start_ledger != 0 || request.end_ledger != 0) {
        return Err(RpcError::invalid_params("ledger ranges and cursor cannot both be set"));
    }
    if after.is_none() && request.start_ledger == 0 {
        return Err(RpcError::invalid_params("startLedger must be positive"));
    }
    if request.pagination.limit > MAX_EVENTS {
        return Err(RpcError::invalid_params(format!("limit must not exceed {MAX_EVENTS}")));
    }
    let start = after.map_or(request.start_ledger, |cursor| cursor.place.ledger);
    if !view.contains(start) {
        return Err(RpcError::invalid_request(format!(
            "startLedger must be within the ledger range: {} - {}",
            view.oldest().sequence,
            view.latest().sequence
        )));
    }
    let end = start.saturating_add(LEDGER_SCAN_LIMIT).min(view.latest().sequence + 1);
    let end = if request.end_ledger == 0 { end } else { end.min(request.end_ledger) };
    Ok(Window { after, start, end })
}

type PlacedEvent<'a> = (EventCursor, &'a TransactionRecord, &'a ContractEvent);

/// Every event of a ledger in the order of their ids: fees, then each transaction, then refunds.
fn ledger_events(ledger: &ClosedLedger) -> Vec<PlacedEvent<'_>> {
    let (mut before, mut between, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for record in &ledger.transactions {
        let TransactionMeta::V4(meta) = &record.meta else { continue };
        let staged = |stage: TransactionEventStage| {
            meta.events.iter().filter(move |event| event.stage == stage).map(|event| &event.event)
        };
        before.extend(staged(TransactionEventStage::BeforeAllTxs).map(|event| (&**record, event)));
        after.extend(staged(TransactionEventStage::AfterAllTxs).map(|event| (&**record, event)));
        operation_events(ledger.sequence, record, meta, &mut between);
        let place = Toid {
            ledger: ledger.sequence,
            transaction: record.application_order,
            operation: LAST_OPERATION,
        };
        let own = staged(TransactionEventStage::AfterTx).map(|event| (&**record, event));
        between.extend(numbered(place, own));
    }
    let at = |transaction| Toid { ledger: ledger.sequence, transaction, operation: 0 };
    let mut events: Vec<_> = numbered(at(0), before.into_iter()).collect();
    events.append(&mut between);
    events.extend(numbered(at(LAST_TRANSACTION), after.into_iter()));
    events
}

fn operation_events<'a>(
    ledger: u32,
    record: &'a TransactionRecord,
    meta: &'a TransactionMetaV4,
    out: &mut Vec<PlacedEvent<'a>>,
) {
    for (operation, changes) in (0..).zip(meta.operations.iter()) {
        let place = Toid { ledger, transaction: record.application_order, operation };
        out.extend(numbered(place, changes.events.iter().map(|event| (record, event))));
    }
}

fn numbered<'a>(
    place: Toid,
    events: impl Iterator<Item = (&'a TransactionRecord, &'a ContractEvent)>,
) -> impl Iterator<Item = PlacedEvent<'a>> {
    (0..).zip(events).map(move |(event, (record, found))| (EventCursor { place, event }, record, found))
}

fn event_info(
    cursor: EventCursor,
    record: &TransactionRecord,
    event: &ContractEvent,
    in_successful_contract_call: Option<bool>,
) -> EventInfo {
    let ContractEventBody::V0(body) = &event.body;
    let contract_id = event.contract_id.as_ref();
    EventInfo {
        r#type: match event.type_ {
            ContractEventType::System => "system",
            ContractEventType::Contract => "contract",
            ContractEventType::Diagnostic => "diagnostic",
        },
        ledger: cursor.place.ledger,
        ledger_closed_at: rfc3339(record.close_time_s),
        contract_id: contract_id
            .map_or(String::new(), |id| stellar_strkey::Contract(id.0.0).to_string().to_string()),
        id: cursor.to_string(),
        in_successful_contract_call,
        operation_index: cursor.place.operation,
        transaction_index: cursor.place.transaction,
        tx_hash: hex::encode(record.hash),
        topic: encode_all(&body.topics),
        value: encode(&body.data),
    }
}

/// Unix seconds as UTC text.
fn rfc3339(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Civil date from a day count, in eras of 400 years that start on 1 March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_time_is_written_as_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_255_200), "2026-11-21T10:00:00Z");
    }
}
