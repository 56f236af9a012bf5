//! The running network as everything outside the core sees it.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::chain::Chain;
use crate::chain_thread::{ChainThread, Command, Shared};
use crate::history::History;
use crate::record::LedgerState;
use crate::results::{Refusal, refused};
use crate::simulation::{SimulationAnswer, SimulationRequest};
use crate::workers::{STACK_BYTES, Workers};
use crate::xdr::{DiagnosticEvent, LedgerEntry, TransactionEnvelope, TransactionResult};

/// How a header states its close time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderForm {
    /// `STELLAR_VALUE_SIGNED_MS`, as protocol 30 writes it.
    Ms,
    /// `STELLAR_VALUE_SIGNED`, which older clients can decode.
    Seconds,
}

/// Which network's limits and fees the genesis ledger carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitsProfile {
    Mainnet,
    Testnet,
    Slp7,
    Unlimited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseMode {
    EveryMs(u64),
    /// Only `close_ledgers` and `inject` close.
    Manual,
}

#[derive(Clone, Debug)]
pub struct NodeOptions {
    pub passphrase: String,
    pub header: HeaderForm,
    pub limits: LimitsProfile,
    pub close: CloseMode,
    pub retention_ledgers: u32,
    /// Threads that simulate; at least one.
    pub simulation_threads: usize,
}

impl NodeOptions {
    /// The defaults of a network with this passphrase: mainnet's limits, a ledger every five seconds.
    pub fn new(passphrase: impl Into<String>) -> NodeOptions {
        NodeOptions {
            passphrase: passphrase.into(),
            header: HeaderForm::Ms,
            limits: LimitsProfile::Mainnet,
            close: CloseMode::EveryMs(5000),
            retention_ledgers: 120_960,
            simulation_threads: 2,
        }
    }
}

/// What became of a submitted envelope, in the words of `sendTransaction`.
#[derive(Clone, Debug)]
pub enum Submission {
    Pending,
    Duplicate,
    TryAgainLater,
    Error { result: TransactionResult, diagnostic_events: Vec<DiagnosticEvent> },
}

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
    /// When the machine gives no threads, or the settings that this crate carries are unsound.
    pub fn start(options: NodeOptions) -> Node {
        let workers = Workers::start(options.simulation_threads).expect("the machine gives threads");
        let (commands, waiting) = channel();
        let (started, genesis) = channel();
        let close = options.close;
        let (passphrase, retention) = (options.passphrase.clone(), options.retention_ledgers);
        // The host's module cache cannot leave its thread, so the chain is built where it runs.
        thread::Builder::new()
            .name("chain".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let chain = Chain::start(&options).expect("the genesis ledger is sound");
                let shared = Arc::new(Shared::new(passphrase, &chain, retention));
                // Nobody listens any more when the starting thread has gone.
                let _ = started.send(shared.clone());
                ChainThread::new(chain, shared, close).run(&waiting);
            })
            .expect("the machine gives threads");
        let shared = genesis.recv().expect("the chain thread starts");
        Node { shared, commands, workers }
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
