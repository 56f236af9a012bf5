//! The running network as everything outside the core sees it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::history::History;
use crate::record::LedgerState;
use crate::simulation::{SimulationAnswer, SimulationRequest};
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

/// A handle on a running network; clones are the same network.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {}

impl Node {
    /// A network with its genesis ledger closed and its threads running.
    pub fn start(options: NodeOptions) -> Node {
        let _ = options;
        Node { inner: Arc::new(Inner {}) }
    }

    /// The latest closed ledger.
    pub fn state(&self) -> Arc<LedgerState> {
        let _ = &self.inner;
        todo!()
    }

    pub fn history(&self) -> &History {
        todo!()
    }

    pub fn passphrase(&self) -> &str {
        todo!()
    }

    pub fn network_id(&self) -> [u8; 32] {
        todo!()
    }

    /// The account that holds everything at genesis; its seed is the hash of the passphrase.
    pub fn root_seed(&self) -> [u8; 32] {
        todo!()
    }

    /// Offers the envelope to the queue of the next ledger.
    pub async fn submit(&self, envelope: TransactionEnvelope) -> Submission {
        let _ = envelope;
        todo!()
    }

    /// Simulates against the latest closed ledger on a worker thread.
    pub async fn simulate(&self, request: SimulationRequest) -> SimulationAnswer {
        let _ = request;
        todo!()
    }

    /// Closes `count` ledgers now and returns the latest sequence.
    pub async fn close_ledgers(&self, count: u32) -> u32 {
        let _ = count;
        todo!()
    }

    /// Writes entries into the ledger past every rule, closing one ledger now; returns its sequence.
    pub async fn inject(&self, entries: Vec<LedgerEntry>) -> u32 {
        let _ = entries;
        todo!()
    }

    /// Follows the latest sequence.
    pub fn closed(&self) -> watch::Receiver<u32> {
        todo!()
    }
}
