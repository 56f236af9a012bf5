//! The thread that the chain lives on, and what it publishes to all others.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::chain::{Chain, NextLedger};
use crate::history::History;
use crate::journal::{Journal, Record, replay};
use crate::options::CloseMode;
use crate::record::LedgerState;
use crate::submission::Submission;
use crate::xdr::{LedgerEntry, TransactionEnvelope, TransactionResult};

/// Ledgers whose whole state can still be asked for.
const STATES_KEPT: usize = 64;

/// What the chain thread publishes.
pub struct Shared {
    pub passphrase: String,
    pub network_id: [u8; 32],
    /// The latest one last; never empty.
    states: RwLock<VecDeque<Arc<LedgerState>>>,
    pub history: History,
    pub closed: watch::Sender<u32>,
    first: Arc<LedgerState>,
}

/// What the chain is asked to do; each answer goes back on its own channel.
pub enum Command {
    Submit(Box<TransactionEnvelope>, oneshot::Sender<Submission>),
    Close(u32, oneshot::Sender<u32>),
    /// Ledgers that take nothing in, after the clock jumped by milliseconds.
    Skip {
        milliseconds: u64,
        ledgers: u32,
        reply: oneshot::Sender<u32>,
    },
    Land(Box<TransactionEnvelope>, oneshot::Sender<Result<[u8; 32], TransactionResult>>),
    Pending([u8; 32], oneshot::Sender<Option<TransactionEnvelope>>),
    Inject(Vec<LedgerEntry>, oneshot::Sender<u32>),
}

impl Shared {
    /// What a chain that has just started publishes.
    pub fn new(passphrase: String, chain: &Chain, retention_ledgers: u32) -> Shared {
        let state = chain.state();
        Shared {
            passphrase,
            network_id: state.network_id,
            history: History::new(state.ledger.clone(), retention_ledgers),
            closed: watch::channel(state.ledger.sequence).0,
            states: RwLock::new(VecDeque::from([state.clone()])),
            first: state,
        }
    }

    pub fn latest(&self) -> Arc<LedgerState> {
        let states = self.states.read().unwrap_or_else(PoisonError::into_inner);
        states.back().unwrap_or(&self.first).clone()
    }

    /// The state as of a ledger, or as near to it as it is still known.
    pub fn state_at(&self, sequence: u32) -> Arc<LedgerState> {
        let states = self.states.read().unwrap_or_else(PoisonError::into_inner);
        let as_of = states.iter().find(|state| state.ledger.sequence >= sequence);
        as_of.or(states.back()).unwrap_or(&self.first).clone()
    }

    // History comes first: who is told of a ledger must find its transactions.
    fn publish(&self, state: Arc<LedgerState>) {
        let sequence = state.ledger.sequence;
        self.history.append(state.ledger.clone());
        let mut states = self.states.write().unwrap_or_else(PoisonError::into_inner);
        states.push_back(state);
        if states.len() > STATES_KEPT {
            states.pop_front();
        }
        drop(states);
        self.closed.send_replace(sequence);
    }
}

/// Owns the chain: closes ledgers on the clock and obeys commands one after the other.
pub struct ChainThread {
    chain: Chain,
    shared: Arc<Shared>,
    close: CloseMode,
    journal: Option<Journal>,
}

impl ChainThread {
    pub fn new(chain: Chain, shared: Arc<Shared>, close: CloseMode, journal: Option<Journal>) -> ChainThread {
        ChainThread { chain, shared, close, journal }
    }

    /// Closes and publishes the ledgers of a journal.
    ///
    /// # Errors
    /// When one of them does not come out as it was written.
    pub fn replay(&mut self, records: Vec<Record>) -> anyhow::Result<()> {
        let shared = self.shared.clone();
        replay(&mut self.chain, records, |state| shared.publish(state))
    }

    /// Returns when every handle on the network is gone.
    pub fn run(mut self, waiting: &Receiver<Command>) {
        let mut due = self.close_interval().map(|interval| Instant::now() + interval);
        loop {
            let received = match due {
                Some(due) => waiting.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => waiting.recv().map_err(RecvTimeoutError::from),
            };
            match received {
                Ok(command) => self.guarded(|thread| thread.obey(command)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Commands that keep coming must not hold the clock back.
            if let (Some(at), Some(interval)) = (due, self.close_interval())
                && at <= Instant::now()
            {
                self.guarded(|thread| {
                    thread.close(NextLedger::default());
                });
                due = Some((at + interval).max(Instant::now()));
            }
        }
    }

    fn close_interval(&self) -> Option<Duration> {
        match self.close {
            CloseMode::EveryMs(ms) => Some(Duration::from_millis(ms.max(1))),
            CloseMode::Manual => None,
        }
    }

    /// A panic loses the command it happened in, and nothing else: a ledger is published whole or not at all.
    fn guarded(&mut self, act: impl FnOnce(&mut ChainThread)) {
        if catch_unwind(AssertUnwindSafe(|| act(self))).is_err() {
            eprintln!("a command to the chain panicked and was dropped");
        }
    }

    fn obey(&mut self, command: Command) {
        // Whoever asked may have gone away, which changes nothing here.
        match command {
            Command::Submit(envelope, reply) => {
                let _ = reply.send(self.submit(*envelope));
            }
            Command::Close(count, reply) => {
                for _ in 0..count {
                    self.close(NextLedger::default());
                }
                let _ = reply.send(self.chain.state().ledger.sequence);
            }
            Command::Skip { milliseconds, ledgers, reply } => {
                self.chain.jump(milliseconds);
                for _ in 0..ledgers {
                    self.close(NextLedger { leaves_queue: true, ..NextLedger::default() });
                }
                let _ = reply.send(self.chain.state().ledger.sequence);
            }
            Command::Land(envelope, reply) => {
                let _ = reply.send(self.chain.land(*envelope));
            }
            Command::Pending(hash, reply) => {
                let _ = reply.send(self.chain.pending(&hash));
            }
            Command::Inject(entries, reply) => {
                let _ = reply.send(self.close(NextLedger { injected: entries, ..NextLedger::default() }));
            }
        }
    }

    fn submit(&mut self, envelope: TransactionEnvelope) -> Submission {
        let Some(journal) = &mut self.journal else { return self.chain.submit(envelope) };
        let submission = self.chain.submit(envelope.clone());
        // Written before anybody hears of it, so that what was promised outlives the process.
        if matches!(submission, Submission::Pending) {
            journal.accepted(&envelope);
        }
        submission
    }

    fn close(&mut self, next: NextLedger) -> u32 {
        let contents = self.chain.gather(next);
        let line = self.journal.as_mut().map(|journal| journal.describe(&contents));
        let state = self.chain.close(contents);
        if let (Some(journal), Some(line)) = (&mut self.journal, line) {
            journal.closed(line, &state.ledger);
        }
        let sequence = state.ledger.sequence;
        self.shared.publish(state);
        sequence
    }
}
