//! Ledger headers: each names the one before it, its transactions and its results.

use ed25519_dalek::{Signer, SigningKey};

use crate::accounts::{BASE_FEE, BASE_RESERVE};
use crate::codec::{encode, hash_of, sha256};
use crate::host::PROTOCOL_VERSION;
use crate::options::HeaderForm;
use crate::xdr::{
    EnvelopeType, Hash, LedgerCloseValueSignature, LedgerHeader, LedgerHeaderExt, NodeId, PublicKey,
    Signature, StellarValue, StellarValueExt, StellarValueSignedMsValue, TimePoint, TimePointMs, Uint256,
    VecM,
};

/// Everything there is: 100 billion lumens in stroops.
pub const TOTAL_COINS: i64 = 1_000_000_000_000_000_000;
/// Operations of classic transactions in one ledger.
pub const MAX_CLASSIC_OPERATIONS: u32 = 1_000;

/// What the new header says that the last one did not.
pub struct Closed {
    pub sequence: u32,
    pub close_time_ms: u64,
    pub transaction_set_hash: [u8; 32],
    pub result_set_hash: [u8; 32],
    pub fee_pool: i64,
}

/// Signs headers as this network's only validator.
pub struct Validator {
    key: SigningKey,
    network_id: [u8; 32],
    form: HeaderForm,
}

impl Validator {
    pub fn new(network_id: [u8; 32], form: HeaderForm) -> Validator {
        let seed = sha256(&[&network_id[..], b"validator"].concat());
        Validator { key: SigningKey::from_bytes(&seed), network_id, form }
    }

    pub fn genesis_header(&self, close_time_ms: u64) -> LedgerHeader {
        let closed = Closed {
            sequence: 1,
            close_time_ms,
            transaction_set_hash: [0; 32],
            result_set_hash: [0; 32],
            fee_pool: 0,
        };
        self.write(closed, [0; 32], [0; 32], std::array::from_fn(|_| Hash([0; 32])))
    }

    pub fn next_header(
        &self,
        previous: &LedgerHeader,
        previous_hash: [u8; 32],
        closed: Closed,
    ) -> LedgerHeader {
        // There are no buckets here; the chain of what happened stands in for the hash of the state.
        let state = sha256(
            &[previous.bucket_list_hash.0, closed.transaction_set_hash, closed.result_set_hash].concat(),
        );
        let skip_list = skip_list(&previous.skip_list, closed.sequence, state);
        self.write(closed, previous_hash, state, skip_list)
    }

    fn write(
        &self,
        closed: Closed,
        previous_hash: [u8; 32],
        state_hash: [u8; 32],
        skip_list: [Hash; 4],
    ) -> LedgerHeader {
        LedgerHeader {
            ledger_version: PROTOCOL_VERSION,
            previous_ledger_hash: Hash(previous_hash),
            scp_value: self.value(closed.transaction_set_hash, closed.close_time_ms),
            tx_set_result_hash: Hash(closed.result_set_hash),
            bucket_list_hash: Hash(state_hash),
            ledger_seq: closed.sequence,
            total_coins: TOTAL_COINS,
            fee_pool: closed.fee_pool,
            inflation_seq: 0,
            id_pool: 0,
            base_fee: BASE_FEE,
            base_reserve: BASE_RESERVE,
            max_tx_set_size: MAX_CLASSIC_OPERATIONS,
            skip_list,
            ext: LedgerHeaderExt::V0,
        }
    }

    fn value(&self, transaction_set_hash: [u8; 32], close_time_ms: u64) -> StellarValue {
        let seconds = close_time_ms / 1000;
        let signed_time = match self.form {
            HeaderForm::Ms => close_time_ms,
            HeaderForm::Seconds => seconds,
        };
        let signature = self.sign(transaction_set_hash, signed_time);
        let ext = match self.form {
            HeaderForm::Seconds => StellarValueExt::Signed(signature),
            HeaderForm::Ms => StellarValueExt::SignedMs(StellarValueSignedMsValue {
                close_time_ms: TimePointMs(close_time_ms),
                lc_value_signature: signature,
            }),
        };
        StellarValue {
            tx_set_hash: Hash(transaction_set_hash),
            close_time: TimePoint(seconds),
            upgrades: VecM::default(),
            ext,
        }
    }

    fn sign(&self, transaction_set_hash: [u8; 32], time: u64) -> LedgerCloseValueSignature {
        let mut payload = self.network_id.to_vec();
        payload.extend(encode(&EnvelopeType::Scpvalue));
        payload.extend(transaction_set_hash);
        payload.extend(time.to_be_bytes());
        let signature = self.key.sign(&sha256(&payload)).to_bytes();
        LedgerCloseValueSignature {
            node_id: NodeId(PublicKey::PublicKeyTypeEd25519(Uint256(self.key.verifying_key().to_bytes()))),
            signature: Signature(signature.to_vec().try_into().unwrap_or_default()),
        }
    }
}

pub fn hash(header: &LedgerHeader) -> [u8; 32] {
    hash_of(header)
}

/// State hashes of earlier ledgers, kept every 50, 5,000, 50,000 and 500,000 ledgers as the protocol does.
fn skip_list(kept: &[Hash; 4], sequence: u32, state_hash: [u8; 32]) -> [Hash; 4] {
    let mut list = kept.clone();
    let is_due = |before: u32, every: u32| sequence > before && (sequence - before).is_multiple_of(every);
    if !is_due(0, 50) {
        return list;
    }
    if is_due(50, 5_000) {
        if is_due(5_050, 50_000) {
            if is_due(55_050, 500_000) {
                list[3] = list[2].clone();
            }
            list[2] = list[1].clone();
        }
        list[1] = list[0].clone();
    }
    list[0] = Hash(state_hash);
    list
}
