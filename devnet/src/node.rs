//! The running network as everything outside the core sees it.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::chain::{Chain, now_ms};
use crate::chain_thread::{ChainThread, Command, Shared};
use crate::history::History;
use crate::journal::{Journal, Opened};
use crate::options::NodeOptions;
use crate::record::LedgerState;
use crate::results::{Refusal, refused};
use crate::simulation::{SimulationAnswer, SimulationRequest};
use crate::submission::Submission;
use crate::workers::{STACK_BYTES, Workers};
use crate::xdr::{LedgerEntry, TransactionEnvelope, TransactionResult};

/// A handle on a running network; clones are the same network, which ends with the last of them.
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    workers: Workers,
}

impl Node {
    /// A network with its genesis ledger closed and its threads running.
    ///
    /// # Panics
    /// When the machine gives no threads, or the journal cannot be used.
    pub fn start(options: NodeOptions) -> Node {
        Node::open(options).expect("the network starts")
    }

    /// A network with its threads running: with its genesis ledger closed, or with all of its journal's.
    ///
    /// # Errors
    /// When the machine gives no threads, or the journal cannot be used.
    pub fn open(options: NodeOptions) -> anyhow::Result<Node> {
        let workers = Workers::start(options.simulation_threads)?;
        let (commands, waiting) = channel();
        let (started, genesis) = channel();
        // The host's module cache cannot leave its thread, so the chain is built where it runs.
        thread::Builder::new().name("chain".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let thread = prepare(&options);
            let (thread, shared) = match thread {
                Ok((thread, shared)) => (Some(thread), Ok(shared)),
                Err(error) => (None, Err(error)),
            };
            // Nobody listens any more when the starting thread has gone.
            let _ = started.send(shared);
            if let Some(thread) = thread {
                thread.run(&waiting);
            }
        })?;
        let shared = genesis.recv()??;
        Ok(Node { shared, commands, workers })
    }

    /// The latest closed ledger.
    pub fn state(&self) -> Arc<LedgerState> {
        self.shared.latest()
    }

    /// The state as of one of the last ledgers, or as near to it as it is still known.
    pub fn state_at(&self, sequence: u32) -> Arc<LedgerState> {
        self.shared.state_at(sequence)
    }

    pub fn history(&self) -> &History {
        &self.shared.history
    }

    pub fn passphrase(&self) -> &str {
        &self.shared.passphrase
    }

    pub fn network_id(&self) -> [u8; 32] {
        self.shared.network_id
    }

    /// The seed of the account that holds everything at genesis: the hash of the passphrase.
    pub fn root_seed(&self) -> [u8; 32] {
        self.shared.network_id
    }

    /// Offers the envelope to the queue of the next ledger.
    pub async fn submit(&self, envelope: TransactionEnvelope) -> Submission {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::Submit(Box::new(envelope), reply));
        match (sent, answer.await) {
            (Ok(()), Ok(submission)) => submission,
            _ => Submission::Error { result: refused(Refusal::Internal, 0), diagnostic_events: Vec::new() },
        }
    }

    /// Simulates against the latest closed ledger on a worker thread.
    pub async fn simulate(&self, request: SimulationRequest) -> SimulationAnswer {
        self.simulate_on(self.state(), request).await
    }

    /// Simulates against this ledger on a worker thread.
    pub async fn simulate_on(&self, state: Arc<LedgerState>, request: SimulationRequest) -> SimulationAnswer {
        self.workers.simulate(request, state).await
    }

    /// Closes `count` ledgers now and returns the latest sequence.
    pub async fn close_ledgers(&self, count: u32) -> u32 {
        let (reply, answer) = oneshot::channel();
        self.sequence_after(Command::Close(count, reply), answer).await
    }

    /// Moves the network's clock forward, then closes ledgers that take nothing in; what waits grows older.
    pub async fn skip(&self, milliseconds: u64, ledgers: u32) -> u32 {
        let (reply, answer) = oneshot::channel();
        self.sequence_after(Command::Skip { milliseconds, ledgers, reply }, answer).await
    }

    /// Puts a valid envelope into the next ledger past the queue and the ledger's limits; returns its hash.
    pub async fn land(&self, envelope: TransactionEnvelope) -> Result<[u8; 32], TransactionResult> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::Land(Box::new(envelope), reply));
        match (sent, answer.await) {
            (Ok(()), Ok(landed)) => landed,
            _ => Err(refused(Refusal::Internal, 0)),
        }
    }

    /// The envelope with this hash (its own, or of what it wraps), while it waits for a ledger.
    pub async fn pending(&self, hash: [u8; 32]) -> Option<TransactionEnvelope> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Pending(hash, reply)).ok()?;
        answer.await.ok().flatten()
    }

    /// Writes entries into the ledger past every rule, closing one ledger now; returns its sequence.
    pub async fn inject(&self, entries: Vec<LedgerEntry>) -> u32 {
        let (reply, answer) = oneshot::channel();
        self.sequence_after(Command::Inject(entries, reply), answer).await
    }

    async fn sequence_after(&self, command: Command, answer: oneshot::Receiver<u32>) -> u32 {
        let sent = self.commands.send(command);
        match (sent, answer.await) {
            (Ok(()), Ok(sequence)) => sequence,
            _ => self.state().ledger.sequence,
        }
    }

    /// Follows the latest sequence.
    pub fn closed(&self) -> watch::Receiver<u32> {
        self.shared.closed.subscribe()
    }
}

/// The chain as it was left, or with its genesis ledger, and what it publishes.
fn prepare(options: &NodeOptions) -> anyhow::Result<(ChainThread, Arc<Shared>)> {
    let opened = match &options.journal {
        None => None,
        Some(path) => Some(Journal::open(path, options, now_ms())?),
    };
    let (journal, genesis_ms, records) = match opened {
        Some(Opened { journal, genesis_ms, records }) => (Some(journal), genesis_ms, records),
        None => (None, now_ms(), Vec::new()),
    };
    let chain = Chain::start_at(options, genesis_ms)?;
    let shared = Arc::new(Shared::new(options.passphrase.clone(), &chain, options.retention_ledgers));
    let mut thread = ChainThread::new(chain, shared.clone(), options.close, journal);
    if !records.is_empty() {
        thread.replay(records)?;
    }
    Ok((thread, shared))
}
