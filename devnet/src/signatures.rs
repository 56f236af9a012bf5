//! Which signatures of an envelope count for whom, and whether each of them counted.

use std::cell::RefCell;
use std::collections::HashSet;

use ed25519_dalek::{Signature, VerifyingKey};

use crate::accounts::public_key;
use crate::codec::sha256;
use crate::xdr::{AccountEntry, DecoratedSignature, Signer, SignerKey};

/// How much weight an operation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    Low = 1,
    Medium = 2,
    High = 3,
}

impl Threshold {
    pub fn of(self, account: &AccountEntry) -> i32 {
        i32::from(account.thresholds.0[self as usize])
    }
}

const REMEMBERED_SIGNATURES: usize = 100_000;

thread_local! {
    // A transaction is checked when it is queued, when the ledger is put together and when it is applied.
    static VERIFIED: RefCell<HashSet<[u8; 32]>> = RefCell::new(HashSet::new());
}

/// The signatures of one envelope over one hash.
pub struct SignatureCheck<'a> {
    hash: [u8; 32],
    signatures: &'a [DecoratedSignature],
    used: Vec<bool>,
}

impl<'a> SignatureCheck<'a> {
    pub fn new(hash: [u8; 32], signatures: &'a [DecoratedSignature]) -> SignatureCheck<'a> {
        SignatureCheck { hash, signatures, used: vec![false; signatures.len()] }
    }

    /// Whether the account's signers reach the threshold; signatures that counted are marked as used.
    pub fn reaches(&mut self, account: &AccountEntry, threshold: Threshold) -> bool {
        let mut signers: Vec<(SignerKey, u32)> =
            account.signers.iter().map(|Signer { key, weight }| (key.clone(), *weight)).collect();
        let master = u32::from(account.thresholds.0[0]);
        if master > 0 {
            signers.push((SignerKey::Ed25519(crate::xdr::Uint256(*public_key(&account.account_id))), master));
        }
        self.weigh(signers, threshold.of(account))
    }

    /// Whether the master key of an account that does not exist signed.
    pub fn reaches_as_absent(&mut self, account_key: &[u8; 32]) -> bool {
        self.weigh(vec![(SignerKey::Ed25519(crate::xdr::Uint256(*account_key)), 1)], 0)
    }

    /// Whether this extra signer of the preconditions signed.
    pub fn is_signed_by(&mut self, signer: &SignerKey) -> bool {
        self.weigh(vec![(signer.clone(), 1)], 1)
    }

    pub fn all_used(&self) -> bool {
        self.used.iter().all(|used| *used)
    }

    // At least one signature has to count, also where the threshold is zero.
    fn weigh(&mut self, mut signers: Vec<(SignerKey, u32)>, needed: i32) -> bool {
        let mut total = 0;
        for (index, signature) in self.signatures.iter().enumerate() {
            let Some(position) = signers.iter().position(|(key, _)| signs(key, signature, &self.hash)) else {
                continue;
            };
            let (_, weight) = signers.swap_remove(position);
            self.used[index] = true;
            total += weight.min(255) as i32;
            if total >= needed {
                return true;
            }
        }
        false
    }
}

fn signs(key: &SignerKey, signature: &DecoratedSignature, hash: &[u8; 32]) -> bool {
    match key {
        SignerKey::Ed25519(key) => {
            signature.hint.0[..] == key.0[28..] && verifies(&key.0, hash, &signature.signature.0)
        }
        SignerKey::HashX(expected) => {
            signature.hint.0[..] == expected.0[28..] && sha256(&signature.signature.0) == expected.0
        }
        SignerKey::Ed25519SignedPayload(signed) => {
            let payload = signed.payload.as_slice();
            let mut tail = [0; 4];
            let kept = payload.len().min(4);
            tail[..kept].copy_from_slice(&payload[payload.len() - kept..]);
            let hint_fits = (0..4).all(|i| signature.hint.0[i] == signed.ed25519.0[28 + i] ^ tail[i]);
            hint_fits && verifies(&signed.ed25519.0, payload, &signature.signature.0)
        }
        // Pre-authorised transactions are refused as signers, so none is ever stored.
        SignerKey::PreAuthTx(_) => false,
    }
}

fn verifies(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    let Ok(parsed) = Signature::from_slice(signature) else { return false };
    let fingerprint = sha256(&[key.as_slice(), message, signature].concat());
    VERIFIED.with_borrow_mut(|verified| {
        if verified.contains(&fingerprint) {
            return true;
        }
        let holds =
            VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &parsed).is_ok());
        if holds {
            if verified.len() >= REMEMBERED_SIGNATURES {
                verified.clear();
            }
            verified.insert(fingerprint);
        }
        holds
    })
}
