//! A submitted envelope with what is asked of it again and again worked out once.

use crate::accounts::{BASE_FEE, unmuxed};
use crate::codec::encoded_size;
use crate::xdr::{
    AccountId, DecoratedSignature, FeeBumpTransactionEnvelope, FeeBumpTransactionInnerTx, Operation,
    OperationBody, SorobanTransactionData, Transaction, TransactionEnvelope, TransactionExt,
    TransactionV1Envelope,
};

/// An envelope of a kind that the network takes in, with its hashes.
#[derive(Clone, Debug)]
pub struct Frame {
    pub envelope: TransactionEnvelope,
    /// Of the envelope as a whole: of the fee bump where there is one.
    pub hash: [u8; 32],
    /// Of the transaction that runs; equal to `hash` without a fee bump.
    pub inner_hash: [u8; 32],
    /// The bytes of the whole envelope.
    pub size: u32,
    /// The bytes of the inner envelope, which is what Soroban fees are computed from.
    pub inner_size: u32,
}

/// The old envelope form, which the network no longer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvelopeNotSupported;

impl Frame {
    pub fn read(envelope: TransactionEnvelope, network_id: [u8; 32]) -> Result<Frame, EnvelopeNotSupported> {
        let hash = envelope.hash(network_id).map_err(|_| EnvelopeNotSupported)?;
        let (inner_hash, inner_size) = match &envelope {
            TransactionEnvelope::TxV0(_) => return Err(EnvelopeNotSupported),
            TransactionEnvelope::Tx(_) => (hash, encoded_size(&envelope)),
            TransactionEnvelope::TxFeeBump(bump) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = &bump.tx.inner_tx;
                let inner_hash = inner.hash(network_id).map_err(|_| EnvelopeNotSupported)?;
                // Four bytes of the union's arm come before the inner envelope when it travels alone.
                (inner_hash, encoded_size(inner).saturating_add(4))
            }
        };
        let size = match &envelope {
            TransactionEnvelope::TxFeeBump(_) => encoded_size(&envelope),
            _ => inner_size,
        };
        Ok(Frame { envelope, hash, inner_hash, size, inner_size })
    }

    pub fn inner(&self) -> &TransactionV1Envelope {
        match &self.envelope {
            TransactionEnvelope::Tx(inner) => inner,
            TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope { tx, .. }) => {
                let FeeBumpTransactionInnerTx::Tx(inner) = &tx.inner_tx;
                inner
            }
            TransactionEnvelope::TxV0(_) => unreachable!("Frame::read refuses the old form"),
        }
    }

    pub fn tx(&self) -> &Transaction {
        &self.inner().tx
    }

    pub fn fee_bump(&self) -> Option<&FeeBumpTransactionEnvelope> {
        match &self.envelope {
            TransactionEnvelope::TxFeeBump(bump) => Some(bump),
            _ => None,
        }
    }

    pub fn inner_signatures(&self) -> &[DecoratedSignature] {
        &self.inner().signatures
    }

    pub fn source(&self) -> AccountId {
        unmuxed(&self.tx().source_account)
    }

    /// Who pays: the fee bump's source, or the transaction's own.
    pub fn fee_source(&self) -> AccountId {
        self.fee_bump().map_or_else(|| self.source(), |bump| unmuxed(&bump.tx.fee_source))
    }

    pub fn operations(&self) -> &[Operation] {
        &self.tx().operations
    }

    pub fn operation_source(&self, operation: &Operation) -> AccountId {
        operation.source_account.as_ref().map_or_else(|| self.source(), unmuxed)
    }

    /// Operations that are paid for: a fee bump counts one more.
    pub fn paid_operations(&self) -> i64 {
        let operations = self.operations().len() as i64 + i64::from(self.fee_bump().is_some());
        operations.max(1)
    }

    pub fn soroban_data(&self) -> Option<&SorobanTransactionData> {
        match &self.tx().ext {
            TransactionExt::V1(data) => Some(data),
            TransactionExt::V0 => None,
        }
    }

    pub fn is_soroban(&self) -> bool {
        self.operations().iter().any(is_soroban_operation)
    }

    /// Stroops that the declared resources are paid with.
    pub fn resource_fee(&self) -> i64 {
        if self.is_soroban() { self.soroban_data().map_or(0, |data| data.resource_fee) } else { 0 }
    }

    /// Everything the submitter is willing to pay.
    pub fn full_fee(&self) -> i64 {
        self.fee_bump().map_or_else(|| i64::from(self.tx().fee), |bump| bump.tx.fee)
    }

    pub fn inclusion_fee(&self) -> i64 {
        self.full_fee().saturating_sub(self.resource_fee())
    }

    /// The inclusion fee that the inner transaction would offer alone.
    pub fn inner_inclusion_fee(&self) -> i64 {
        i64::from(self.tx().fee) - self.resource_fee()
    }

    pub fn min_inclusion_fee(&self) -> i64 {
        i64::from(BASE_FEE) * self.paid_operations()
    }

    /// What a ledger with this base fee takes before anything runs.
    pub fn fee_to_charge(&self, base_fee: i64) -> i64 {
        let inclusion = base_fee.saturating_mul(self.paid_operations());
        self.resource_fee().saturating_add(self.inclusion_fee().min(inclusion))
    }

    /// What a refusal names as the fee.
    pub fn quoted_fee(&self) -> i64 {
        self.resource_fee().saturating_add(self.min_inclusion_fee())
    }
}

pub fn is_soroban_operation(operation: &Operation) -> bool {
    matches!(
        operation.body,
        OperationBody::InvokeHostFunction(_)
            | OperationBody::ExtendFootprintTtl(_)
            | OperationBody::RestoreFootprint(_)
    )
}
