//! getHealth, getNetwork, getVersionInfo.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::Rpc;
use crate::edge::jsonrpc::{Outcome, RpcError, result};
use crate::edge::view::View;

const MAX_HEALTHY_LATENCY_S: u64 = 30;

/// The version of the service whose answers these are.
const RPC_VERSION: &str = "30.0.0";

impl Rpc {
    pub(super) fn get_health(&self, view: &View) -> Outcome {
        let closed_at_s = view.latest().close_time_s();
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let latency_s = now_s.saturating_sub(closed_at_s);
        if self.closes_on_a_clock && latency_s > MAX_HEALTHY_LATENCY_S {
            return Err(RpcError::internal(format!(
                "latency ({latency_s}s) since last known ledger closed is too high (>{MAX_HEALTHY_LATENCY_S}s)"
            )));
        }
        result(&json!({
            "status": "healthy",
            "latestLedger": view.latest().sequence,
            "latestLedgerCloseTime": closed_at_s.to_string(),
            "oldestLedger": view.oldest().sequence,
            "oldestLedgerCloseTime": view.oldest().close_time_s().to_string(),
            "ledgerRetentionWindow": self.retention_ledgers,
        }))
    }

    pub(super) fn get_network(&self, view: &View) -> Outcome {
        result(&json!({
            "friendbotUrl": self.friendbot_url,
            "passphrase": self.node.passphrase(),
            "protocolVersion": view.latest().header.ledger_version,
        }))
    }

    pub(super) fn get_version_info(&self, view: &View) -> Outcome {
        result(&json!({
            "version": RPC_VERSION,
            "commitHash": "",
            "buildTimestamp": "",
            "captiveCoreVersion": concat!("farebox-devnet ", env!("CARGO_PKG_VERSION"), ", soroban-env-host 30.0.0"),
            "protocolVersion": view.latest().header.ledger_version,
        }))
    }
}
