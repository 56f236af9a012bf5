//! Closes the ledgers of a journal again.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, bail};

use super::line::{LedgerLine, Record, from_text};
use crate::chain::{Chain, Contents};
use crate::codec::hash_of;
use crate::record::LedgerState;
use crate::surge::BaseFees;
use crate::transaction::Frame;
use crate::xdr::TransactionEnvelope;

/// Envelopes that the queue took in and no ledger has yet, by their hash in order of arrival.
#[derive(Default)]
struct Waiting {
    arrived: u64,
    by_hash: HashMap<String, (u64, TransactionEnvelope)>,
}

/// Closes every ledger of `records` on top of a chain that has only its genesis ledger.
///
/// What was accepted and is in no ledger is offered to the queue again; `publish` sees each ledger.
///
/// # Errors
/// When a record cannot be used, or a ledger comes out different from what was written.
pub fn replay(
    chain: &mut Chain,
    records: Vec<Record>,
    mut publish: impl FnMut(Arc<LedgerState>),
) -> anyhow::Result<()> {
    let mut waiting = Waiting::default();
    for record in records {
        match record {
            Record::Genesis { .. } => bail!("a second genesis ledger"),
            Record::Accepted { envelope } => waiting.add(from_text(&envelope)?),
            Record::Ledger(line) => publish(close(chain, line, &mut waiting)?),
        }
    }
    for envelope in waiting.in_order() {
        // Whether it is still valid is the queue's to say.
        let _ = chain.submit(envelope);
    }
    chain.resume_clock();
    Ok(())
}

fn close(chain: &mut Chain, line: LedgerLine, waiting: &mut Waiting) -> anyhow::Result<Arc<LedgerState>> {
    let LedgerLine { sequence, hash, .. } = &line;
    let network_id = chain.state().network_id;
    let read = |envelope| {
        Frame::read(envelope, network_id).map_err(|_| anyhow::anyhow!("an envelope of the old form"))
    };
    let mut frames = Vec::with_capacity(line.accepted.len() + line.landed.len());
    for accepted in &line.accepted {
        let envelope = waiting.take(accepted);
        frames.push(read(envelope.with_context(|| format!("ledger {sequence} names an unknown envelope"))?)?);
    }
    for landed in &line.landed {
        frames.push(read(from_text(landed)?)?);
    }
    let injected = line.injected.iter().map(|entry| from_text(entry)).collect::<anyhow::Result<_>>()?;
    let base_fees = BaseFees { classic: line.classic_base_fee, soroban: line.soroban_base_fee };
    let state = chain.close(Contents { close_time_ms: line.close_time_ms, injected, frames, base_fees });
    if state.ledger.sequence != *sequence || hex::encode(state.ledger.hash) != *hash {
        bail!("ledger {sequence} came out different; another version of this program wrote the journal");
    }
    Ok(state)
}

impl Waiting {
    fn add(&mut self, envelope: TransactionEnvelope) {
        self.arrived += 1;
        self.by_hash.insert(hex::encode(hash_of(&envelope)), (self.arrived, envelope));
    }

    fn take(&mut self, hash: &str) -> Option<TransactionEnvelope> {
        self.by_hash.remove(hash).map(|(_, envelope)| envelope)
    }

    fn in_order(self) -> Vec<TransactionEnvelope> {
        let mut left: Vec<_> = self.by_hash.into_values().collect();
        left.sort_by_key(|(arrived, _)| *arrived);
        left.into_iter().map(|(_, envelope)| envelope).collect()
    }
}
