//! getFeeStats: what inclusion cost in the last ledgers.

use std::sync::Arc;

use serde::Serialize;

use super::Rpc;
use crate::edge::jsonrpc::{Outcome, result};
use crate::edge::view::View;
use crate::record::{ClosedLedger, TransactionRecord};

const SOROBAN_WINDOW_LEDGERS: usize = 50;
const CLASSIC_WINDOW_LEDGERS: usize = 10;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FeeStats {
    soroban_inclusion_fee: FeeDistribution,
    inclusion_fee: FeeDistribution,
    latest_ledger: u32,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct FeeDistribution {
    max: String,
    min: String,
    mode: String,
    p10: String,
    p20: String,
    p30: String,
    p40: String,
    p50: String,
    p60: String,
    p70: String,
    p80: String,
    p90: String,
    p95: String,
    p99: String,
    transaction_count: String,
    ledger_count: u32,
}

impl Rpc {
    pub(super) fn get_fee_stats(&self, view: &View) -> Outcome {
        let latest = view.latest().sequence;
        if view.states_the_future() {
            return result(&fee_stats(view));
        }
        let text =
            self.fee_stats.get(latest, || Arc::new(serde_json::to_vec(&fee_stats(view)).unwrap_or_default()));
        Ok(text.to_vec())
    }
}

fn fee_stats(view: &View) -> FeeStats {
    FeeStats {
        soroban_inclusion_fee: distribution(view, SOROBAN_WINDOW_LEDGERS, soroban_fee),
        inclusion_fee: distribution(view, CLASSIC_WINDOW_LEDGERS, classic_fee),
        latest_ledger: view.stated().sequence,
    }
}

fn distribution(view: &View, window: usize, fee: fn(&TransactionRecord) -> Option<u64>) -> FeeDistribution {
    let sequences = (0..=view.latest().sequence).rev().take(window);
    let ledgers: Vec<Arc<ClosedLedger>> = sequences.map_while(|sequence| view.ledger(sequence)).collect();
    let fees = ledgers.iter().flat_map(|ledger| &ledger.transactions).filter_map(|record| fee(record));
    FeeDistribution::of(fees.collect(), ledgers.len() as u32)
}

/// A failed Soroban transaction has no fee details in its meta, so the real service leaves it out.
fn soroban_fee(record: &TransactionRecord) -> Option<u64> {
    let paid = record.fee_charged - record.resource_fee_charged;
    (record.is_soroban && record.is_successful()).then(|| paid.max(0) as u64)
}

fn classic_fee(record: &TransactionRecord) -> Option<u64> {
    let paid = record.fee_charged / i64::from(record.operation_count.max(1));
    (!record.is_soroban).then(|| paid.max(0) as u64)
}

impl FeeDistribution {
    /// Percentiles by nearest rank; all zero when there is no fee.
    fn of(mut fees: Vec<u64>, ledger_count: u32) -> FeeDistribution {
        fees.sort_unstable();
        let (Some(min), Some(max)) = (fees.first(), fees.last()) else { return FeeDistribution::zero() };
        let percentile = |percent: usize| fees[(percent * fees.len()).div_ceil(100) - 1].to_string();
        FeeDistribution {
            max: max.to_string(),
            min: min.to_string(),
            mode: mode(&fees).to_string(),
            p10: percentile(10),
            p20: percentile(20),
            p30: percentile(30),
            p40: percentile(40),
            p50: percentile(50),
            p60: percentile(60),
            p70: percentile(70),
            p80: percentile(80),
            p90: percentile(90),
            p95: percentile(95),
            p99: percentile(99),
            transaction_count: fees.len().to_string(),
            ledger_count,
        }
    }

    fn zero() -> FeeDistribution {
        FeeDistribution {
            ledger_count: 0,
            transaction_count: "0".to_owned(),
            ..FeeDistribution::of(vec![0], 0)
        }
    }
}

/// The most frequent fee; the lowest of them when several are.
fn mode(sorted: &[u64]) -> u64 {
    let longest = sorted.chunk_by(|a, b| a == b).rev().max_by_key(|run| run.len());
    longest.map_or(0, |run| run[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let stats = FeeDistribution::of((1..=200).rev().collect(), 50);
        assert_eq!((stats.min.as_str(), stats.max.as_str()), ("1", "200"));
        assert_eq!((stats.p10.as_str(), stats.p50.as_str(), stats.p99.as_str()), ("20", "100", "198"));
        assert_eq!((stats.transaction_count.as_str(), stats.ledger_count), ("200", 50));
        assert_eq!(FeeDistribution::of(vec![7], 1).p10, "7");
    }

    #[test]
    fn the_mode_is_the_most_frequent_fee_and_the_lowest_of_several() {
        assert_eq!(mode(&[1, 2, 2, 3, 3]), 2);
        assert_eq!(mode(&[1, 2, 3, 3, 3]), 3);
        assert_eq!(mode(&[5]), 5);
    }

    #[test]
    fn no_fee_at_all_is_zero_everywhere() {
        let stats = FeeDistribution::of(vec![], 50);
        assert_eq!((stats.max.as_str(), stats.mode.as_str(), stats.p99.as_str()), ("0", "0", "0"));
        assert_eq!((stats.transaction_count.as_str(), stats.ledger_count), ("0", 0));
    }
}
