//! Transactions of the network's own accounts: built, signed, submitted and waited for.

use std::sync::Arc;
use std::time::Duration;

use super::keys::KeyPair;
use crate::node::Node;
use crate::record::TransactionRecord;
use crate::submission::Submission;
use crate::xdr::{
    AccountEntry, AccountId, LedgerEntryData, LedgerKey, LedgerKeyAccount, Memo, Operation, OperationBody,
    Preconditions, SequenceNumber, SorobanTransactionData, Transaction, TransactionEnvelope, TransactionExt,
    TransactionV1Envelope,
};

const INCLUSION_BID_STROOPS: i64 = 10_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// The account as of the latest ledger.
pub fn find_account(node: &Node, id: &AccountId) -> Option<AccountEntry> {
    let key = LedgerKey::Account(LedgerKeyAccount { account_id: id.clone() });
    let (entry, _) = node.state().entries.get(&key)?;
    match &entry.data {
        LedgerEntryData::Account(account) => Some(account.clone()),
        _ => None,
    }
}

/// A signed transaction of one operation, next in the source's sequence.
pub fn build(
    node: &Node,
    source: &KeyPair,
    body: OperationBody,
    soroban: Option<SorobanTransactionData>,
) -> Result<TransactionEnvelope, String> {
    let account = find_account(node, &source.account_id())
        .ok_or_else(|| format!("the account {} is not in the ledger", source.address()))?;
    let resource_fee = soroban.as_ref().map_or(0, |data| data.resource_fee);
    let operation = Operation { source_account: None, body };
    let tx = Transaction {
        source_account: source.source(),
        fee: u32::try_from(INCLUSION_BID_STROOPS + resource_fee).unwrap_or(u32::MAX),
        seq_num: SequenceNumber(account.seq_num.0 + 1),
        cond: Preconditions::None,
        memo: Memo::None,
        operations: [operation].try_into().map_err(|_| "too many operations")?,
        ext: soroban.map_or(TransactionExt::V0, TransactionExt::V1),
    };
    let hash = tx.hash(node.network_id()).map_err(|error| error.to_string())?;
    let signatures = [source.sign(&hash)].try_into().map_err(|_| "too many signatures")?;
    Ok(TransactionEnvelope::Tx(TransactionV1Envelope { tx, signatures }))
}

/// Who makes the ledger that takes the transaction in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// It comes by itself.
    ByTheClock,
    /// It is closed here, at once.
    Now,
}

/// Submits and waits until a ledger holds the transaction, successful or not.
pub async fn settle(
    node: &Node,
    envelope: TransactionEnvelope,
    closing: Closing,
) -> Result<Arc<TransactionRecord>, String> {
    let hash = envelope.hash(node.network_id()).map_err(|error| error.to_string())?;
    let mut closed = node.closed();
    closed.mark_unchanged();
    match node.submit(envelope).await {
        Submission::Pending | Submission::Duplicate => {}
        Submission::TryAgainLater => return Err("the queue is full: try again later".to_owned()),
        Submission::Error { result, .. } => return Err(format!("refused: {}", result.result.name())),
    }
    if closing == Closing::Now {
        node.close_ledgers(1).await;
    }
    let included = async {
        loop {
            if let Some(record) = node.history().transaction(&hash) {
                return Ok(record);
            }
            closed.changed().await.map_err(|_| "the network stopped".to_owned())?;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, included).await;
    waited.unwrap_or_else(|_| Err("no ledger took the transaction in within 60 seconds".to_owned()))
}
