//! Hashes that name a specification and that the delegate signs. Each begins with a domain and the
//! network, so that none can stand for another.

use soroban_sdk::{Address, Bytes, BytesN, Env, Vec, xdr::ToXdr};

use crate::spec::{Invocation, SessionSpec};

const POLICY: &[u8] = b"x402.automation.policy.v1\0";
const RUN: &[u8] = b"x402.automation.run.v1\0";
const CLOSE: &[u8] = b"x402.automation.close.v1\0";

pub fn policy_id(env: &Env, spec: &SessionSpec) -> BytesN<32> {
    digest(env, POLICY, spec.clone().to_xdr(env))
}

/// What the delegate signs so that a mandate makes these calls, up to the ledger `valid_until`.
pub fn run_digest(
    env: &Env,
    mandate: &Address,
    policy_id: &BytesN<32>,
    run_index: u32,
    valid_until: u32,
    calls: &Vec<Invocation>,
) -> BytesN<32> {
    let signed = (mandate.clone(), policy_id.clone(), run_index, valid_until, calls.clone());
    digest(env, RUN, signed.to_xdr(env))
}

/// What the delegate signs to close a session at a guard or mandate.
pub fn close_digest(env: &Env, contract: &Address, policy_id: &BytesN<32>) -> BytesN<32> {
    digest(env, CLOSE, (contract.clone(), policy_id.clone()).to_xdr(env))
}

fn digest(env: &Env, domain: &[u8], content: Bytes) -> BytesN<32> {
    let mut preimage = Bytes::from_slice(env, domain);
    preimage.append(&env.ledger().network_id().into());
    preimage.append(&content);
    env.crypto().sha256(&preimage).into()
}
