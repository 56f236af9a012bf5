//! Transactions that get into the next ledger past the queue: foreign ones, and waiting ones that a stranger wraps.

use serde::Deserialize;

use super::keys::{KeyPair, Role};
use super::xdr_text::decode;
use crate::node::Node;
use crate::transaction::Frame;
use crate::xdr::{
    FeeBumpTransaction, FeeBumpTransactionEnvelope, FeeBumpTransactionExt, FeeBumpTransactionInnerTx,
    TransactionEnvelope,
};

/// How much more than the waiting bid a stranger pays.
const STRANGERS_FACTOR: i64 = 10;

/// Exactly one of the two.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandRequest {
    /// An envelope in base64.
    envelope: Option<String>,
    /// The hash of a waiting envelope, to be wrapped in the fee bump of an account nobody has heard of.
    wrap: Option<String>,
}

/// The hash of what the next ledger takes in, or why it does not.
pub async fn land(node: &Node, request: LandRequest) -> Result<String, String> {
    let envelope = match (request.envelope, request.wrap) {
        (Some(text), None) => decode(&text).ok_or("the envelope cannot be read")?,
        (None, Some(hash)) => wrapped(node, &hash).await?,
        _ => return Err("either envelope or wrap is needed".to_owned()),
    };
    match node.land(envelope).await {
        Ok(hash) => Ok(hex::encode(hash)),
        Err(result) => Err(format!("not valid: {}", result.result.name())),
    }
}

async fn wrapped(node: &Node, hash: &str) -> Result<TransactionEnvelope, String> {
    let mut wanted = [0; 32];
    hex::decode_to_slice(hash, &mut wanted).map_err(|_| "wrap must be a hash of 64 hex digits")?;
    let pending = node.pending(wanted).await.ok_or("no transaction with this hash waits")?;
    let inner = match pending {
        TransactionEnvelope::Tx(inner) => inner,
        TransactionEnvelope::TxFeeBump(bump) => {
            let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
            inner
        }
        TransactionEnvelope::TxV0(_) => return Err("the old envelope form cannot be wrapped".to_owned()),
    };
    let alone = Frame::read(TransactionEnvelope::Tx(inner.clone()), node.network_id())
        .map_err(|_| "the envelope cannot be read")?;
    let bid = alone.inclusion_fee().max(alone.min_inclusion_fee()) * 2 * STRANGERS_FACTOR;
    let stranger = stranger(node);
    let tx = FeeBumpTransaction {
        fee_source: stranger.source(),
        fee: bid.saturating_add(alone.resource_fee()),
        inner_tx: FeeBumpTransactionInnerTx::Tx(inner),
        ext: FeeBumpTransactionExt::V0,
    };
    let outer = tx.hash(node.network_id()).map_err(|error| error.to_string())?;
    let signatures = [stranger.sign(&outer)].try_into().map_err(|_| "too many signatures")?;
    Ok(TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope { tx, signatures }))
}

/// A funded account that takes no part in anything else.
pub fn stranger(node: &Node) -> KeyPair {
    KeyPair::derived(&node.network_id(), Role::Stranger, 0)
}
