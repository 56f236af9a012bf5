//! What a network is started with.

use std::path::PathBuf;

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
    /// A file from which the network goes on, and which remembers what happens next.
    pub journal: Option<PathBuf>,
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
            journal: None,
        }
    }
}
