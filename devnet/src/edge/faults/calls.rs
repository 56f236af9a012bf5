//! RPC calls with the faults that are set: the rules decide, here it happens.

use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Faults;
use super::plan::Cut;
use crate::accounts::{public_key, unmuxed};
use crate::edge::jsonrpc::{Methods, Outcome, RpcError};
use crate::edge::keys::address;
use crate::edge::methods::Rpc;
use crate::edge::xdr_text::decode;
use crate::xdr::{FeeBumpTransactionInnerTx, TransactionEnvelope};

/// The calls of one HTTP request.
pub struct FaultyCalls<'a> {
    rpc: &'a Rpc,
    faults: &'a Faults,
    cut: Mutex<Option<Cut>>,
}

impl<'a> FaultyCalls<'a> {
    pub fn new(rpc: &'a Rpc, faults: &'a Faults) -> FaultyCalls<'a> {
        FaultyCalls { rpc, faults, cut: Mutex::new(None) }
    }

    /// What the whole request is answered with instead of its results.
    pub fn cut(self) -> Option<Cut> {
        self.cut.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, cut: Cut) {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut);
    }
}

impl Methods for FaultyCalls<'_> {
    async fn call(&self, method: &str, params: Option<&RawValue>) -> Option<Outcome> {
        self.rpc.counts().add_call(method);
        let verdict = self.faults.strike(method, || source(method, params));
        if !verdict.delay.is_zero() {
            tokio::time::sleep(verdict.delay).await;
        }
        if let Some(cut) = verdict.cut_before {
            self.note(cut);
            return Some(Err(RpcError::internal("cut off")));
        }
        let outcome = match verdict.error_before {
            Some((code, message)) => Err(RpcError::new(code, message)),
            None => self.rpc.call(method, params, &verdict.effects).await?,
        };
        if let Some(cut) = verdict.cut_after {
            self.note(cut);
            return Some(outcome);
        }
        let outcome = match verdict.error_after {
            Some((code, message)) => Err(RpcError::new(code, message)),
            None => outcome,
        };
        self.rpc.counts().add_bytes(method, answer_bytes(&outcome));
        Some(outcome)
    }
}

/// The length of the result, or of the error, as JSON.
fn answer_bytes(outcome: &Outcome) -> usize {
    match outcome {
        Ok(result) => result.len(),
        Err(error) => serde_json::to_vec(error).map_or(0, |json| json.len()),
    }
}

#[derive(Deserialize)]
struct Carrier {
    transaction: String,
}

/// The address of the account whose transaction the call carries.
fn source(method: &str, params: Option<&RawValue>) -> Option<String> {
    if !matches!(method, "sendTransaction" | "simulateTransaction") {
        return None;
    }
    let carrier: Carrier = serde_json::from_str(params?.get()).ok()?;
    let account = match decode(&carrier.transaction)? {
        TransactionEnvelope::Tx(envelope) => envelope.tx.source_account,
        TransactionEnvelope::TxFeeBump(bump) => {
            let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
            inner.tx.source_account
        }
        TransactionEnvelope::TxV0(_) => return None,
    };
    Some(address(public_key(&unmuxed(&account))))
}
