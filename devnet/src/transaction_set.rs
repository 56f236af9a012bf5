//! The set of transactions that a ledger agrees on, and the order in which it applies them.

use crate::clusters::Dependencies;
use crate::codec::hash_of;
use crate::ledger_space::LedgerLimits;
use crate::surge::BaseFees;
use crate::transaction::Frame;
use crate::xdr::{
    DependentTxCluster, GeneralizedTransactionSet, Hash, ParallelTxExecutionStage, ParallelTxsComponent,
    TransactionEnvelope, TransactionPhase, TransactionSetV1, TxSetComponent,
    TxSetComponentTxsMaybeDiscountedFee, VecM,
};

/// A transaction set with its hash and its transactions as they are to be applied.
pub struct TransactionSet {
    pub set: GeneralizedTransactionSet,
    pub hash: [u8; 32],
    pub in_order: Vec<Frame>,
}

/// Builds the set on top of a ledger: classic transactions apply first, each kind in an order nobody chooses.
pub fn build(
    mut frames: Vec<Frame>,
    previous_ledger_hash: [u8; 32],
    base_fees: BaseFees,
    limits: &LedgerLimits,
) -> TransactionSet {
    frames.sort_by_key(|frame| frame.hash);
    let (soroban, classic): (Vec<&Frame>, Vec<&Frame>) = frames.iter().partition(|frame| frame.is_soroban());
    let set = GeneralizedTransactionSet::V1(TransactionSetV1 {
        previous_ledger_hash: Hash(previous_ledger_hash),
        phases: vec![
            classic_phase(&classic, base_fees.classic),
            soroban_phase(&soroban, base_fees.soroban, limits),
        ]
        .try_into()
        .unwrap_or_default(),
    });
    let hash = hash_of(&set);
    frames.sort_by_key(|frame| (frame.is_soroban(), shuffled(&frame.hash, &hash)));
    TransactionSet { set, hash, in_order: frames }
}

fn shuffled(transaction: &[u8; 32], set: &[u8; 32]) -> [u8; 32] {
    std::array::from_fn(|index| transaction[index] ^ set[index])
}

fn envelopes<'a>(frames: impl Iterator<Item = &'a Frame>) -> VecM<TransactionEnvelope> {
    frames.map(|frame| frame.envelope.clone()).collect::<Vec<_>>().try_into().unwrap_or_default()
}

fn classic_phase(frames: &[&Frame], base_fee: i64) -> TransactionPhase {
    if frames.is_empty() {
        return TransactionPhase::V0(VecM::default());
    }
    let component = TxSetComponent::TxsetCompTxsMaybeDiscountedFee(TxSetComponentTxsMaybeDiscountedFee {
        base_fee: Some(base_fee),
        txs: envelopes(frames.iter().copied()),
    });
    TransactionPhase::V0(vec![component].try_into().unwrap_or_default())
}

/// One stage, in which the clusters could run side by side.
fn soroban_phase(frames: &[&Frame], base_fee: i64, limits: &LedgerLimits) -> TransactionPhase {
    let mut dependencies = Dependencies::new(limits.cluster_instructions, limits.clusters);
    // What was put into the ledger past its limits stands in a cluster of its own.
    let beyond: Vec<&Frame> = frames.iter().copied().filter(|frame| !dependencies.add(frame)).collect();
    let within: Vec<&Frame> =
        frames.iter().copied().filter(|frame| !beyond.iter().any(|other| other.hash == frame.hash)).collect();
    let mut clusters: Vec<DependentTxCluster> = dependencies
        .clusters()
        .iter()
        .map(|cluster| DependentTxCluster(envelopes(cluster.iter().map(|index| within[*index]))))
        .collect();
    if !beyond.is_empty() {
        clusters.push(DependentTxCluster(envelopes(beyond.into_iter())));
    }
    let stage = ParallelTxExecutionStage(clusters.try_into().unwrap_or_default());
    let stages = if stage.0.is_empty() { Vec::new() } else { vec![stage] };
    TransactionPhase::V1(ParallelTxsComponent {
        base_fee: Some(base_fee),
        execution_stages: stages.try_into().unwrap_or_default(),
    })
}
