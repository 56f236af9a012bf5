//! The set of transactions that a ledger agrees on, and the order in which it applies them.

use crate::accounts::BASE_FEE;
use crate::codec::hash_of;
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
pub fn build(mut frames: Vec<Frame>, previous_ledger_hash: [u8; 32]) -> TransactionSet {
    frames.sort_by_key(|frame| frame.hash);
    let envelopes = |wants_soroban: bool| -> Vec<TransactionEnvelope> {
        let wanted = frames.iter().filter(|frame| frame.is_soroban() == wants_soroban);
        wanted.map(|frame| frame.envelope.clone()).collect()
    };
    let set = GeneralizedTransactionSet::V1(TransactionSetV1 {
        previous_ledger_hash: Hash(previous_ledger_hash),
        phases: vec![classic_phase(envelopes(false)), soroban_phase(envelopes(true))]
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

fn classic_phase(txs: Vec<TransactionEnvelope>) -> TransactionPhase {
    if txs.is_empty() {
        return TransactionPhase::V0(VecM::default());
    }
    let component = TxSetComponent::TxsetCompTxsMaybeDiscountedFee(TxSetComponentTxsMaybeDiscountedFee {
        base_fee: Some(i64::from(BASE_FEE)),
        txs: txs.try_into().unwrap_or_default(),
    });
    TransactionPhase::V0(vec![component].try_into().unwrap_or_default())
}

fn soroban_phase(txs: Vec<TransactionEnvelope>) -> TransactionPhase {
    let mut stages = Vec::new();
    if !txs.is_empty() {
        let cluster = DependentTxCluster(txs.try_into().unwrap_or_default());
        stages.push(ParallelTxExecutionStage(vec![cluster].try_into().unwrap_or_default()));
    }
    TransactionPhase::V1(ParallelTxsComponent {
        base_fee: Some(i64::from(BASE_FEE)),
        execution_stages: stages.try_into().unwrap_or_default(),
    })
}
