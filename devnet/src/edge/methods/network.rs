//! getHealth, getNetwork, getVersionInfo.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::json;

use super::Rpc;
use crate::edge::jsonrpc::{Outcome, RpcError, result};
use crate::edge::view::View;

const MAX_HEALTHY_LATENCY_S: u64 = 30;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    latest_ledger: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_ledger_close_time: Option<String>,
    oldest_ledger: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_ledger_close_time: Option<String>,
    ledger_retention_window: u32,
}

impl Rpc {
    pub(super) fn get_health(&self, view: &View) -> Outcome {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let latency_s = now_s.saturating_sub(view.stated().close_time_s);
        if self.options.closes_on_a_clock && latency_s > MAX_HEALTHY_LATENCY_S {
            // The real service repeats the code of this error in its text.
            return Err(RpcError::internal(format!(
                "[-32603] latency ({}) since last known ledger closed is too high (>{})",
                duration_text(latency_s),
                duration_text(MAX_HEALTHY_LATENCY_S)
            )));
        }
        let has_close_times = self.options.release.health_has_close_times();
        let close_time = |seconds: u64| has_close_times.then(|| seconds.to_string());
        result(&Health {
            status: "healthy",
            latest_ledger: view.stated().sequence,
            latest_ledger_close_time: close_time(view.stated().close_time_s),
            oldest_ledger: view.oldest().sequence,
            oldest_ledger_close_time: close_time(view.oldest().close_time_s()),
            ledger_retention_window: self.options.retention_ledgers,
        })
    }

    pub(super) fn get_network(&self, view: &View) -> Outcome {
        result(&json!({
            "friendbotUrl": self.options.friendbot_url,
            "passphrase": self.node.passphrase(),
            "protocolVersion": view.latest().header.ledger_version,
        }))
    }

    pub(super) fn get_version_info(&self, view: &View) -> Outcome {
        result(&json!({
            "version": self.options.release.version(),
            "commitHash": "",
            "buildTimestamp": "",
            "captiveCoreVersion": concat!("farebox-devnet ", env!("CARGO_PKG_VERSION"), ", soroban-env-host 30.0.0"),
            "protocolVersion": view.latest().header.ledger_version,
        }))
    }
}

/// Whole seconds in the form `1h1m35s`, without the parts in front that are zero.
fn duration_text(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_starts_with_its_largest_part() {
        assert_eq!(duration_text(31), "31s");
        assert_eq!(duration_text(60), "1m0s");
        assert_eq!(duration_text(3_605), "1h0m5s");
    }
}
