//! The methods of Stellar RPC, one module a group.

mod events;
mod fee_stats;
mod ledger_entries;
mod ledgers;
mod network;
mod send;
mod simulate;
mod transactions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::jsonrpc::{Outcome, RpcError, or_default};
use super::latest::LatestMemo;
use super::view::{Sight, View};
use crate::node::Node;

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

/// How often each method was called since the last reset.
#[derive(Default)]
pub struct CallCounts {
    calls: [AtomicU64; METHODS.len()],
}

impl CallCounts {
    fn add(&self, method: &str) {
        if let Ok(index) = METHODS.binary_search(&method) {
            self.calls[index].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn read(&self) -> BTreeMap<&'static str, u64> {
        METHODS.into_iter().zip(self.calls.iter().map(|count| count.load(Ordering::Relaxed))).collect()
    }

    pub fn reset(&self) {
        self.calls.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// Stellar RPC over one network.
pub struct Rpc {
    node: Node,
    friendbot_url: String,
    retention_ledgers: u32,
    /// Whether a latest ledger older than 30 seconds means that something is wrong.
    closes_on_a_clock: bool,
    counts: Arc<CallCounts>,
    latest_ledger: LatestMemo<Arc<Vec<u8>>>,
    fee_stats: LatestMemo<Arc<Vec<u8>>>,
}

impl Rpc {
    pub fn new(
        node: Node,
        friendbot_url: String,
        retention_ledgers: u32,
        closes_on_a_clock: bool,
        counts: Arc<CallCounts>,
    ) -> Rpc {
        Rpc {
            node,
            friendbot_url,
            retention_ledgers,
            closes_on_a_clock,
            counts,
            latest_ledger: LatestMemo::default(),
            fee_stats: LatestMemo::default(),
        }
    }
}

impl Rpc {
    pub fn count(&self, method: &str) {
        self.counts.add(method);
    }

    /// Answers as the network looks from there; `None` when there is no such method.
    pub async fn call(
        &self,
        method: &str,
        params: Option<&RawValue>,
        sight: Sight,
        is_turned_away: bool,
    ) -> Option<Outcome> {
        let view = &View::of(&self.node, sight);
        Some(match method {
            "getEvents" => self.get_events(view, params),
            "getFeeStats" => self.get_fee_stats(view),
            "getHealth" => self.get_health(view),
            "getLatestLedger" => self.get_latest_ledger(view),
            "getLedgerEntries" => self.get_ledger_entries(view, params),
            "getLedgers" => self.get_ledgers(view, params),
            "getNetwork" => self.get_network(view),
            "getTransaction" => self.get_transaction(view, params),
            "getTransactions" => self.get_transactions(view, params),
            "getVersionInfo" => self.get_version_info(view),
            "sendTransaction" => self.send_transaction(view, params, is_turned_away).await,
            "simulateTransaction" => self.simulate_transaction(view, params).await,
            _ => return None,
        })
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

const MAX_PAGE: u32 = 200;
const DEFAULT_PAGE: u32 = 50;

impl Pagination {
    fn limit(&self) -> usize {
        (if self.limit == 0 { DEFAULT_PAGE } else { self.limit }) as usize
    }

    /// Holds the page against the remembered ledgers, in the words of the real service.
    fn check(&self, start_ledger: u32, view: &View) -> Result<(), RpcError> {
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
        if self.limit > MAX_PAGE {
            return Err(RpcError::invalid_request(format!("limit must not exceed {MAX_PAGE}")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_method_until_the_reset() {
        assert!(METHODS.is_sorted());
        let counts = CallCounts::default();
        counts.add("simulateTransaction");
        counts.add("getEvents");
        counts.add("nonsense");
        assert_eq!(counts.read()["simulateTransaction"], 1);
        assert_eq!(counts.read().values().sum::<u64>(), 2);
        counts.reset();
        assert_eq!(counts.read().values().sum::<u64>(), 0);
    }
}
