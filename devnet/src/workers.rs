//! Threads with the deep stacks that the host may need; starting one for each call would cost more than the call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use crate::host::{Moment, simulate};
use crate::record::LedgerState;
use crate::simulation::{SimulationAnswer, SimulationFailure, SimulationRequest};

/// What stellar-rpc gives a simulation.
pub const STACK_BYTES: usize = 100 * 1024 * 1024;

struct Job {
    request: SimulationRequest,
    state: Arc<LedgerState>,
    reply: oneshot::Sender<SimulationAnswer>,
}

/// A pool of simulating threads; they end when the pool is dropped.
#[derive(Clone)]
pub struct Workers {
    jobs: Sender<Job>,
}

impl Workers {
    pub fn start(threads: usize) -> std::io::Result<Workers> {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        for index in 0..threads.max(1) {
            let waiting = waiting.clone();
            thread::Builder::new()
                .name(format!("simulate-{index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(&waiting))?;
        }
        Ok(Workers { jobs })
    }

    pub async fn simulate(&self, request: SimulationRequest, state: Arc<LedgerState>) -> SimulationAnswer {
        let ledger = state.ledger.sequence;
        let (reply, answer) = oneshot::channel();
        if self.jobs.send(Job { request, state, reply }).is_err() {
            return failed(ledger, "the simulation threads have ended");
        }
        answer.await.unwrap_or_else(|_| failed(ledger, "the simulation ended without an answer"))
    }
}

fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { request, state, reply }) = job else { return };
        let answer = catch_unwind(AssertUnwindSafe(|| run(request, &state)));
        let answer = answer.unwrap_or_else(|_| failed(state.ledger.sequence, "the host panicked"));
        // Whoever asked may have gone away.
        let _ = reply.send(answer);
    }
}

fn run(request: SimulationRequest, state: &LedgerState) -> SimulationAnswer {
    let now = Moment {
        network_id: state.network_id,
        sequence: state.ledger.sequence,
        close_time_s: state.ledger.close_time_s(),
    };
    let outcome = simulate::simulate(request, state.entries.clone(), &state.config, &now);
    SimulationAnswer { ledger: state.ledger.sequence, outcome }
}

fn failed(ledger: u32, error: &str) -> SimulationAnswer {
    let failure = SimulationFailure { error: error.to_owned(), events: Vec::new() };
    SimulationAnswer { ledger, outcome: Err(failure) }
}
