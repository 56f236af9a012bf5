//! The chain itself: the latest ledger, what waits for the next one, and how that one closes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::apply::{Closing, Finished, apply_all};
use crate::codec::{hash_of, sha256};
use crate::events::asset_contract;
use crate::genesis;
use crate::header::{self, Closed, Validator};
use crate::host::{Moment, load_config, modules::Modules};
use crate::injection;
use crate::node::{NodeOptions, Submission};
use crate::queue::{Queue, Taken};
use crate::record::{ClosedLedger, LedgerState, TransactionRecord};
use crate::results::{Refusal, refused};
use crate::settings::TransactionLimits;
use crate::surge::BaseFees;
use crate::transaction::Frame;
use crate::transaction_set;
use crate::validation::Against;
use crate::xdr::{
    Asset, ExtensionPoint, GeneralizedTransactionSet, Hash, LedgerCloseMeta, LedgerCloseMetaExt,
    LedgerCloseMetaExtV1, LedgerCloseMetaV2, LedgerEntry, LedgerHeader, LedgerHeaderHistoryEntry,
    LedgerHeaderHistoryEntryExt, TransactionEnvelope, TransactionResultMetaV1, TransactionResultPair,
    TransactionResultSet, VecM,
};

/// The network's one chain; it lives on one thread.
pub struct Chain {
    state: Arc<LedgerState>,
    queue: Queue,
    modules: Modules,
    validator: Validator,
    native_contract: [u8; 32],
}

impl Chain {
    /// A chain whose only ledger is the genesis ledger.
    pub fn start(options: &NodeOptions) -> anyhow::Result<Chain> {
        let network_id = sha256(options.passphrase.as_bytes());
        let entries = genesis::entries(options, network_id);
        let config = load_config(&entries)?;
        let limits = TransactionLimits::read(&entries)
            .map_err(|missing| anyhow::anyhow!("the genesis ledger lacks {:?}", missing.0))?;
        let modules = Modules::new(&config).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let validator = Validator::new(network_id, options.header);
        let close_time_ms = now_ms();
        let header = validator.genesis_header(close_time_ms);
        let empty = transaction_set::build(Vec::new(), [0; 32], BaseFees::USUAL, &limits.ledger);
        let ledger = closed_ledger(header, close_time_ms, empty.set, Vec::new(), fee_write_1kb(&config));
        let state = LedgerState {
            ledger: Arc::new(ledger),
            entries,
            config: Arc::new(config),
            limits: Arc::new(limits),
            network_id,
        };
        Ok(Chain {
            state: Arc::new(state),
            queue: Queue::default(),
            modules,
            validator,
            native_contract: asset_contract(&Asset::Native, network_id),
        })
    }

    pub fn state(&self) -> Arc<LedgerState> {
        self.state.clone()
    }

    /// Offers an envelope to the next ledger.
    pub fn submit(&mut self, envelope: TransactionEnvelope) -> Submission {
        let Ok(frame) = Frame::read(envelope, self.state.network_id) else {
            let result = refused(Refusal::NotSupported, 0);
            return Submission::Error { result, diagnostic_events: Vec::new() };
        };
        let closed_s = self.state.ledger.close_time_s();
        let drift_s = (now_ms() / 1000).saturating_sub(closed_s);
        let expected_s = u64::from(self.state.limits.target_close_ms).div_ceil(1000).max(1);
        let state = self.state.clone();
        // A transaction has to survive until the ledger after next, counted from now.
        self.queue.offer(frame, &against(&state, closed_s, 2 * expected_s + drift_s))
    }

    /// Closes one ledger with everything that waits, and with `injected` entries written first.
    pub fn close(&mut self, injected: Vec<LedgerEntry>) -> Arc<LedgerState> {
        let previous = self.state.clone();
        let close_time_ms = now_ms().max(previous.ledger.close_time_ms + 1);
        let now = Moment {
            network_id: previous.network_id,
            sequence: previous.ledger.sequence + 1,
            close_time_s: close_time_ms / 1000,
        };
        let Taken { frames, base_fees } = self.queue.take(&against(&previous, now.close_time_s, 0), &[]);
        let set = transaction_set::build(frames, previous.ledger.hash, base_fees, &previous.limits.ledger);
        let mut entries = previous.entries.clone();
        let (config, limits) = injection::write(injected, &mut entries, &previous, &self.modules, &now);
        let closing = Closing {
            now,
            config: &config,
            limits: &limits,
            modules: &self.modules,
            native_contract: self.native_contract,
            base_fees,
            seed: sha256(&[set.hash, previous.ledger.hash].concat()),
        };
        let finished = apply_all(set.in_order, &mut entries, &closing);
        let fees: i64 = finished.iter().map(|transaction| transaction.fee_charged).sum();
        let closed = Closed {
            sequence: now.sequence,
            close_time_ms,
            transaction_set_hash: set.hash,
            result_set_hash: result_set_hash(&finished),
            fee_pool: previous.ledger.header.fee_pool.saturating_add(fees),
        };
        let header = self.validator.next_header(&previous.ledger.header, previous.ledger.hash, closed);
        let ledger = closed_ledger(header, close_time_ms, set.set, finished, fee_write_1kb(&config));
        self.queue.ledger_closed();
        self.state = Arc::new(LedgerState {
            ledger: Arc::new(ledger),
            entries,
            config,
            limits,
            network_id: previous.network_id,
        });
        self.state.clone()
    }
}

fn against(state: &LedgerState, close_time_s: u64, time_to_spare_s: u64) -> Against<'_> {
    Against {
        ledger: &state.entries,
        config: &state.config,
        limits: &state.limits,
        sequence: state.ledger.sequence + 1,
        close_time_s,
        time_to_spare_s,
        takes_fee: true,
    }
}

/// Unix milliseconds of this machine's clock.
pub fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

fn fee_write_1kb(config: &soroban_simulation::NetworkConfig) -> i64 {
    config.fee_configuration.fee_per_write_1kb
}

fn pair(finished: &Finished) -> TransactionResultPair {
    TransactionResultPair { transaction_hash: Hash(finished.frame.hash), result: finished.result.clone() }
}

fn result_set_hash(finished: &[Finished]) -> [u8; 32] {
    let results: Vec<_> = finished.iter().map(pair).collect();
    hash_of(&TransactionResultSet { results: results.try_into().unwrap_or_default() })
}

fn closed_ledger(
    header: LedgerHeader,
    close_time_ms: u64,
    tx_set: GeneralizedTransactionSet,
    finished: Vec<Finished>,
    fee_write_1kb: i64,
) -> ClosedLedger {
    let hash = header::hash(&header);
    let mut processing = Vec::with_capacity(finished.len());
    let mut transactions = Vec::with_capacity(finished.len());
    for (finished, order) in finished.into_iter().zip(1u32..) {
        processing.push(TransactionResultMetaV1 {
            ext: ExtensionPoint::V0,
            result: pair(&finished),
            fee_processing: finished.fee_processing.clone(),
            tx_apply_processing: finished.meta.clone(),
            post_tx_apply_fee_processing: finished.refund_processing.clone(),
        });
        transactions.push(Arc::new(record(finished, order, header.ledger_seq, close_time_ms / 1000)));
    }
    let meta = LedgerCloseMeta::V2(LedgerCloseMetaV2 {
        ext: LedgerCloseMetaExt::V1(LedgerCloseMetaExtV1 {
            ext: ExtensionPoint::V0,
            soroban_fee_write1_kb: fee_write_1kb,
        }),
        ledger_header: LedgerHeaderHistoryEntry {
            hash: Hash(hash),
            header: header.clone(),
            ext: LedgerHeaderHistoryEntryExt::V0,
        },
        tx_set,
        tx_processing: processing.try_into().unwrap_or_default(),
        upgrades_processing: VecM::default(),
        scp_info: VecM::default(),
        total_byte_size_of_live_soroban_state: 0,
        evicted_keys: VecM::default(),
    });
    ClosedLedger { sequence: header.ledger_seq, hash, close_time_ms, header, meta, transactions }
}

fn record(finished: Finished, application_order: u32, ledger: u32, close_time_s: u64) -> TransactionRecord {
    let frame = finished.frame;
    TransactionRecord {
        hash: frame.hash,
        inner_hash: frame.fee_bump().map(|_| frame.inner_hash),
        ledger,
        close_time_s,
        application_order,
        is_soroban: frame.is_soroban(),
        operation_count: frame.operations().len() as u32,
        envelope: frame.envelope,
        result: finished.result,
        meta: finished.meta,
        fee_charged: finished.fee_charged,
        resource_fee_charged: finished.resource_fee_charged,
    }
}
