//! How fast the network is without HTTP: transfers a second on one core, and the time of a simulation.

mod rig;

use std::time::Instant;

use crate::rig::Rig;
use clap::Parser;

#[derive(Parser)]
#[command(about = "Measures asset-contract transfers a second on one core, and how long a simulation takes")]
struct Arguments {
    /// A short run.
    #[arg(long)]
    quick: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (payers, rounds, simulations) = if arguments.quick { (200, 3, 300) } else { (1_000, 10, 2_000) };
    eprintln!("setting up {payers} payers");
    let mut rig = Rig::new(payers)?;
    let mut simulated_ms: Vec<f64> = Vec::with_capacity(simulations);
    for index in 0..simulations {
        simulated_ms.push(rig.simulate(index)?.as_secs_f64() * 1000.0);
    }
    simulated_ms.sort_by(f64::total_cmp);
    let (mut applied, mut busy_s) = (0, 0.0);
    for round in 0..rounds {
        let envelopes = rig.sign_round()?;
        let started = Instant::now();
        applied += rig.settle(envelopes)?;
        busy_s += started.elapsed().as_secs_f64();
        eprintln!("round {} of {rounds}: {:.0} transfers a second", round + 1, applied as f64 / busy_s);
    }
    let figures = serde_json::json!({
        "transfers_per_s": (applied as f64 / busy_s).round(),
        "simulate_ms_p50": percentile(&simulated_ms, 0.5),
        "simulate_ms_p99": percentile(&simulated_ms, 0.99),
        "transfers": applied,
        "simulations": simulations,
    });
    println!("{figures}");
    Ok(())
}

fn percentile(sorted: &[f64], fraction: f64) -> f64 {
    let index = ((sorted.len() as f64 * fraction) as usize).min(sorted.len().saturating_sub(1));
    (sorted.get(index).copied().unwrap_or(0.0) * 1000.0).round() / 1000.0
}
