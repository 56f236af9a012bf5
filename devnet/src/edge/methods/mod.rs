//! The methods of Stellar RPC, one module a group.

mod counts;
mod events;
mod fee_stats;
mod ledger_entries;
mod ledgers;
mod network;
mod send;
mod simulate;
mod transaction_list;
mod transactions;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::call_effects::CallEffects;
use super::jsonrpc::{Outcome, RpcError, or_default};
use super::latest::LatestMemo;
use super::padding::pad_object;
use super::release::Release;
use super::view::View;
use crate::node::Node;

pub use counts::CallCounts;

pub const METHODS: [&str; 12] = [
    "getEvents",
    "getFeeStats",
    "getHealth",
    "getLatestLedger",
    "getLedgerEntries",
    "getLedgers",
    "getNetwork",
    "getTransaction",
    "getTransactions",
    "getVersionInfo",
    "sendTransaction",
    "simulateTransaction",
];

/// How the service is set up, where that shows in its answers.
pub struct RpcOptions {
    pub friendbot_url: String,
    pub retention_ledgers: u32,
    /// Whether a latest ledger older than 30 seconds means that something is wrong.
    pub closes_on_a_clock: bool,
    /// The release whose behaviour is copied.
    pub release: Release,
    /// The largest page of getTransactions.
    pub max_transactions_limit: u32,
    /// The least size of a ledger's `metadataXdr`, in bytes before base64.
    pub ledger_meta_bytes: usize,
    /// False as with `preflight-enable-debug=false`.
    pub shows_simulation_events: bool,
}

/// Stellar RPC over one network.
pub struct Rpc {
    node: Node,
    options: RpcOptions,
    counts: Arc<CallCounts>,
    latest_ledger: LatestMemo<Arc<Vec<u8>>>,
    fee_stats: LatestMemo<Arc<Vec<u8>>>,
}

impl Rpc {
    pub fn new(node: Node, options: RpcOptions, counts: Arc<CallCounts>) -> Rpc {
        let (latest_ledger, fee_stats) = (LatestMemo::default(), LatestMemo::default());
        Rpc { node, options, counts, latest_ledger, fee_stats }
    }

    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// Answers one call under the effects of the faults; `None` when there is no such method.
    pub async fn call(
        &self,
        method: &str,
        params: Option<&RawValue>,
        effects: &CallEffects,
    ) -> Option<Outcome> {
        let view = &View::of(&self.node, effects.sight);
        let outcome = match method {
            "getEvents" => self.get_events(view, params, effects),
            "getFeeStats" => self.get_fee_stats(view),
            "getHealth" => self.get_health(view),
            // These two grow inside their `metadataXdr`.
            "getLatestLedger" => return Some(self.get_latest_ledger(view, effects.padding_bytes)),
            "getLedgers" => return Some(self.get_ledgers(view, params, effects.padding_bytes)),
            "getLedgerEntries" => self.get_ledger_entries(view, params),
            "getNetwork" => self.get_network(view),
            "getTransaction" => self.get_transaction(view, params),
            "getTransactions" => self.get_transactions(view, params, effects),
            "getVersionInfo" => self.get_version_info(view),
            "sendTransaction" => self.send_transaction(view, params, effects.submission).await,
            "simulateTransaction" => self.simulate_transaction(view, params, effects).await,
            _ => return None,
        };
        Some(outcome.map(|mut result| {
            pad_object(&mut result, effects.padding_bytes);
            result
        }))
    }
}

/// The paging of `getLedgers` and `getTransactions`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Pagination {
    #[serde(deserialize_with = "or_default")]
    cursor: String,
    #[serde(deserialize_with = "or_default")]
    limit: u32,
}

const MAX_LEDGERS_PAGE: u32 = 200;
const DEFAULT_PAGE: u32 = 50;

impl Pagination {
    fn limit(&self, most: u32) -> usize {
        (if self.limit == 0 { DEFAULT_PAGE.min(most) } else { self.limit }) as usize
    }

    /// Holds the page against the remembered ledgers, in the words of the real service.
    fn check(&self, start_ledger: u32, most: u32, view: &View) -> Result<(), RpcError> {
        if !self.cursor.is_empty() {
            if start_ledger != 0 {
                return Err(RpcError::invalid_request(format!(
                    "startLedger ({start_ledger}) and cursor ({}) cannot both be set",
                    self.cursor
                )));
            }
        } else if !view.contains(start_ledger) {
            return Err(RpcError::invalid_request(format!(
                "start ledger ({start_ledger}) must be between the oldest ledger: {} and the latest ledger: {} \
                 for this rpc instance",
                view.oldest().sequence,
                view.latest().sequence
            )));
        }
        if self.limit > most {
            return Err(RpcError::invalid_request(format!("limit must not exceed {most}")));
        }
        Ok(())
    }
}

/// The refusal of a form this network does not write; the text is the real service's for an unknown one.
fn format_refusal(format: &str) -> Option<String> {
    match format {
        "" | "base64" => None,
        "json" => Some("got 'json': this network writes base64 only for optional 'xdrFormat'".to_owned()),
        _ => Some(format!("got '{format}': expected base64, json for optional 'xdrFormat'")),
    }
}

fn require_base64(format: &str) -> Result<(), RpcError> {
    format_refusal(format).map_or(Ok(()), |text| Err(RpcError::invalid_params(text)))
}
