//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::methods::RpcOptions;
use super::release::Release;
use crate::options::{CloseMode, HeaderForm, LimitsProfile, NodeOptions};

const MAX_META_BYTES: usize = 64 * 1024 * 1024;

const ABOUT: &str = "A local Stellar network for development and tests: the published Soroban host, one \
                     validator's rules, Stellar RPC in front. It is not a node of any real network.";

const AFTER: &str = "\
It prints one line of JSON on standard output once it listens, and nothing more:
  {\"event\":\"listening\",\"rpc\":\"http://127.0.0.1:8000\",\"admin\":\"http://127.0.0.1:41234\",\
\"passphrase\":\"…\",\"authority\":null}

The RPC port answers Stellar RPC as POST / and funds accounts as GET /friendbot?addr=G….
The admin port (loopback only) answers
  POST /scene         {\"payers\": 2, \"payees\": 1, \"payer_units\": \"10000000000\"}
  POST /close         {\"count\": 1, \"empty\": false}
  POST /jump          {\"seconds\": 60, \"ledgers\": 1}
  POST /land          {\"envelope\": \"AAAA…\"} or {\"wrap\": \"<hash of a waiting envelope>\"}
  POST /faults        {\"effect\": {\"kind\": \"drop\", \"when\": \"after\"}, \"methods\": [\"sendTransaction\"], \"count\": 1}
  GET  /faults        and DELETE /faults; the README lists the effects
  GET  /counts        RPC calls by method since the last POST /counts/reset
  GET  /bytes         answer bytes by method since then

Exit codes: 0 stopped by a signal, 2 a wrong option, a port that is taken or a folder that cannot be written.";

#[derive(Clone, Debug, Parser)]
#[command(name = "farebox-devnet", version, about = ABOUT, after_help = AFTER)]
pub struct Options {
    /// Port of Stellar RPC and friendbot; 0 takes any free one.
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub port: u16,

    /// Address the RPC port listens on. The admin port is always on 127.0.0.1.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: IpAddr,

    /// Port of the admin calls; 0 takes any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub admin_port: u16,

    /// The network's passphrase; any text, also that of a public network.
    #[arg(long, value_name = "TEXT", default_value = "Standalone Network ; February 2017")]
    pub passphrase: String,

    /// Milliseconds between two ledgers, or `manual` to close them by the admin call only.
    #[arg(long, value_name = "MS|manual", default_value = "5000", value_parser = parse_close)]
    pub close_ms: CloseMode,

    /// How a ledger header states its time: as protocol 30 does, or as clients before it can read.
    #[arg(long, default_value = "ms", value_parser = header_parser())]
    pub header: HeaderForm,

    /// Whose limits and fees the network starts with.
    #[arg(long, default_value = "mainnet", value_parser = limits_parser())]
    pub limits: LimitsProfile,

    /// Ledgers that are remembered.
    #[arg(long, value_name = "LEDGERS", default_value_t = 120_960,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub retention_ledgers: u32,

    /// Remember everything in FILE and go on from there at the next start, with the same ledgers.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// The release of Stellar RPC whose behaviour is copied where releases differ.
    #[arg(long, value_name = "RELEASE", default_value = "30", value_parser = release_parser())]
    pub rpc_behaviour: Release,

    /// The least size of a ledger's `metadataXdr`, before base64; a full mainnet ledger has about 2800000.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = parse_meta_bytes)]
    pub ledger_meta_bytes: usize,

    /// The largest page of getTransactions.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_transactions_limit: u32,

    /// Leave `events` out of simulations, as providers do that switch off preflight debugging.
    #[arg(long)]
    pub no_simulation_events: bool,

    /// Milliseconds added to every answer of the RPC port.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000))]
    pub latency_ms: u64,

    /// Serve RPC over HTTPS for localhost; the private authority that signs is kept in DIR/authority.pem.
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,

    /// Threads that answer and threads that simulate.
    #[arg(long, value_name = "N", default_value_t = default_threads(), value_parser = parse_threads)]
    pub threads: usize,

    /// Stop when standard input closes, so that nothing outlives the program that started this one.
    #[arg(long)]
    pub stop_with_stdin: bool,
}

impl Options {
    pub fn rpc_options(&self, rpc_url: &str) -> RpcOptions {
        RpcOptions {
            friendbot_url: format!("{rpc_url}/friendbot"),
            retention_ledgers: self.retention_ledgers,
            closes_on_a_clock: matches!(self.close_ms, CloseMode::EveryMs(_)),
            release: self.rpc_behaviour,
            max_transactions_limit: self.max_transactions_limit,
            ledger_meta_bytes: self.ledger_meta_bytes,
            shows_simulation_events: !self.no_simulation_events,
        }
    }

    pub fn node_options(&self) -> NodeOptions {
        NodeOptions {
            passphrase: self.passphrase.clone(),
            header: self.header,
            limits: self.limits,
            close: self.close_ms,
            retention_ledgers: self.retention_ledgers,
            simulation_threads: self.threads,
            journal: self.journal.clone(),
        }
    }
}

fn default_threads() -> usize {
    available_parallelism().map_or(2, |cores| cores.get().clamp(1, 8))
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=64) => Ok(threads),
        _ => Err("a number from 1 to 64 is needed".to_owned()),
    }
}

fn parse_close(text: &str) -> Result<CloseMode, String> {
    if text == "manual" {
        return Ok(CloseMode::Manual);
    }
    match text.parse() {
        Ok(milliseconds @ 10..=3_600_000) => Ok(CloseMode::EveryMs(milliseconds)),
        _ => Err("`manual` or a number of milliseconds from 10 to 3600000 is needed".to_owned()),
    }
}

fn parse_meta_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes @ 0..=MAX_META_BYTES) => Ok(bytes),
        _ => Err(format!("a number from 0 to {MAX_META_BYTES} is needed")),
    }
}

fn release_parser() -> impl TypedValueParser<Value = Release> {
    PossibleValuesParser::new(Release::NAMES).map(|name| Release::from_name(&name).unwrap_or_default())
}

fn header_parser() -> impl TypedValueParser<Value = HeaderForm> {
    PossibleValuesParser::new(["ms", "seconds"]).map(|name| match name.as_str() {
        "seconds" => HeaderForm::Seconds,
        _ => HeaderForm::Ms,
    })
}

fn limits_parser() -> impl TypedValueParser<Value = LimitsProfile> {
    PossibleValuesParser::new(["mainnet", "testnet", "slp7", "unlimited"]).map(|name| match name.as_str() {
        "testnet" => LimitsProfile::Testnet,
        "slp7" => LimitsProfile::Slp7,
        "unlimited" => LimitsProfile::Unlimited,
        _ => LimitsProfile::Mainnet,
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_defaults_are_a_mainnet_sized_network_that_closes_every_five_seconds() {
        let options = Options::parse_from(["farebox-devnet"]);
        assert_eq!(options.close_ms, CloseMode::EveryMs(5000));
        assert_eq!(options.header, HeaderForm::Ms);
        assert_eq!(options.limits, LimitsProfile::Mainnet);
        assert_eq!(options.port, 8000);
        assert_eq!(options.rpc_behaviour, Release::V30);
        let rpc = options.rpc_options("http://x");
        assert_eq!((rpc.max_transactions_limit, rpc.ledger_meta_bytes), (200, 0));
        assert!(rpc.shows_simulation_events && rpc.closes_on_a_clock);
        Options::command().debug_assert();
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_values_that_are_right() {
        for arguments in [
            ["--close-ms", "fast"],
            ["--limits", "huge"],
            ["--threads", "0"],
            ["--rpc-behaviour", "29"],
            ["--ledger-meta-bytes", "67108865"],
            ["--max-transactions-limit", "0"],
        ] {
            let refused = Options::try_parse_from([&["farebox-devnet"], &arguments[..]].concat());
            assert!(refused.is_err(), "{arguments:?}");
        }
    }
}
