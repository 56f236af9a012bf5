//! The chain itself: the latest ledger, what waits for the next one, and how that one closes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::apply::{Closing, apply_all};
use crate::assembly::{closed_ledger, result_set_hash};
use crate::codec::sha256;
use crate::events::asset_contract;
use crate::genesis;
use crate::header::{Closed, Validator};
use crate::host::{Moment, load_config, modules::Modules};
use crate::injection;
use crate::options::NodeOptions;
use crate::queue::{Applied, Queue, Taken};
use crate::record::LedgerState;
use crate::results::{Refusal, refused};
use crate::settings::TransactionLimits;
use crate::submission::Submission;
use crate::surge::BaseFees;
use crate::transaction::Frame;
use crate::transaction_set;
use crate::validation::{Against, validate};
use crate::xdr::{Asset, LedgerEntry, TransactionEnvelope, TransactionResult};

/// Expected ledger times that a waiting transaction must have left.
const EXPECTED_LEDGERS: u64 = 2;

/// What a ledger is made of besides the transactions that wait for it.
#[derive(Default)]
pub struct NextLedger {
    /// Written first, past every rule.
    pub injected: Vec<LedgerEntry>,
    /// Lets what waits wait for one ledger more.
    pub leaves_queue: bool,
}

/// Everything that decides what a ledger looks like; from the same contents comes the same ledger.
#[derive(Default)]
pub struct Contents {
    pub close_time_ms: u64,
    pub injected: Vec<LedgerEntry>,
    pub frames: Vec<Frame>,
    pub base_fees: BaseFees,
}

/// The network's one chain; it lives on one thread.
pub struct Chain {
    state: Arc<LedgerState>,
    queue: Queue,
    /// Transactions that the next ledger takes in whatever the queue says.
    landing: Vec<Frame>,
    modules: Modules,
    validator: Validator,
    native_contract: [u8; 32],
    /// How far the network's clock is ahead of the machine's.
    ahead_ms: u64,
}

impl Chain {
    /// A chain whose only ledger is the genesis ledger, closed now.
    pub fn start(options: &NodeOptions) -> anyhow::Result<Chain> {
        Chain::start_at(options, now_ms())
    }

    /// A chain whose genesis ledger closed at this time (Unix milliseconds).
    pub fn start_at(options: &NodeOptions, close_time_ms: u64) -> anyhow::Result<Chain> {
        let network_id = sha256(options.passphrase.as_bytes());
        let entries = genesis::entries(options, network_id);
        let config = load_config(&entries)?;
        let limits = TransactionLimits::read(&entries)
            .map_err(|missing| anyhow::anyhow!("the genesis ledger lacks {:?}", missing.0))?;
        let modules = Modules::new(&config).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let validator = Validator::new(network_id, options.header);
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
            landing: Vec::new(),
            modules,
            validator,
            native_contract: asset_contract(&Asset::Native, network_id),
            ahead_ms: 0,
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
        let state = self.state.clone();
        self.queue.offer(frame, &against(&state, state.ledger.close_time_s(), self.time_to_spare_s()))
    }

    /// How far beyond the latest close time a waiting transaction must be valid: until the ledger after next,
    /// counted from now.
    fn time_to_spare_s(&self) -> u64 {
        let since_closed_s = (self.clock_ms() / 1000).saturating_sub(self.state.ledger.close_time_s());
        let expected_s = u64::from(self.state.limits.target_close_ms).div_ceil(1000).max(1);
        EXPECTED_LEDGERS * expected_s + since_closed_s
    }

    /// Puts a valid envelope into the next ledger past the queue and the ledger's limits.
    pub fn land(&mut self, envelope: TransactionEnvelope) -> Result<[u8; 32], TransactionResult> {
        let frame =
            Frame::read(envelope, self.state.network_id).map_err(|_| refused(Refusal::NotSupported, 0))?;
        validate(&frame, &against(&self.state, self.state.ledger.close_time_s(), 0))
            .map_err(|invalid| invalid.result(&frame))?;
        // An account has one transaction in a ledger; the last one that was landed for it stays.
        self.landing.retain(|other| other.source() != frame.source());
        let hash = frame.hash;
        self.landing.push(frame);
        Ok(hash)
    }

    /// The waiting envelope with this hash, of the whole or of what a fee bump wraps.
    pub fn pending(&self, hash: &[u8; 32]) -> Option<TransactionEnvelope> {
        self.queue.find(hash).map(|frame| frame.envelope.clone())
    }

    /// Moves the network's clock forward.
    pub fn jump(&mut self, milliseconds: u64) {
        self.ahead_ms = self.ahead_ms.saturating_add(milliseconds);
    }

    /// Goes on from the latest ledger's time where that is ahead of the machine's clock.
    pub fn resume_clock(&mut self) {
        self.ahead_ms = self.state.ledger.close_time_ms.saturating_sub(now_ms());
    }

    fn clock_ms(&self) -> u64 {
        now_ms().saturating_add(self.ahead_ms)
    }

    /// What a ledger that closes now would hold; what it takes no longer waits.
    pub fn gather(&mut self, next: NextLedger) -> Contents {
        let previous = self.state.clone();
        let close_time_ms = self.clock_ms().max(previous.ledger.close_time_ms + 1);
        let mut contents = Contents { close_time_ms, injected: next.injected, ..Contents::default() };
        if next.leaves_queue {
            return contents;
        }
        let rules = against(&previous, close_time_ms / 1000, 0);
        let mut landed = std::mem::take(&mut self.landing);
        landed.retain(|frame| validate(frame, &rules).is_ok());
        let Taken { frames, base_fees } = self.queue.take(&rules, &landed);
        contents.frames = [landed, frames].concat();
        contents.base_fees = base_fees;
        contents
    }

    /// Closes one ledger with exactly these contents.
    pub fn close(&mut self, contents: Contents) -> Arc<LedgerState> {
        let Contents { close_time_ms, injected, frames, base_fees } = contents;
        let previous = self.state.clone();
        let now = Moment {
            network_id: previous.network_id,
            sequence: previous.ledger.sequence + 1,
            close_time_s: close_time_ms / 1000,
        };
        let applied: Vec<Applied> = frames.iter().map(Applied::of).collect();
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
        let network_id = previous.network_id;
        let state = Arc::new(LedgerState { ledger: Arc::new(ledger), entries, config, limits, network_id });
        self.state = state.clone();
        self.queue.ledger_closed(&applied);
        let rules = against(&state, state.ledger.close_time_s(), self.time_to_spare_s());
        self.queue.drop_invalid(&rules);
        state
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
