//! `farebox-devnet`: a local Stellar network for development and tests.

use std::process::ExitCode;

use clap::Parser;
use farebox_devnet::edge::cli::Options;
use farebox_devnet::edge::serve;

fn main() -> ExitCode {
    serve::run(Options::parse())
}
