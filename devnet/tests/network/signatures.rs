//! Who has to sign what, and that no signature is superfluous.

use crate::support::*;
use ed25519_dalek::SigningKey;
use farebox_devnet::codec::sha256;
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::TransactionResultResult as Code;
use farebox_devnet::xdr::*;

/// An account of three signers: master 1, `medium` 2, `high` 3; thresholds 1, 2 and 3.
struct Shared {
    network: Network,
    account: SigningKey,
    medium: SigningKey,
    high: SigningKey,
}

fn shared() -> Shared {
    let network = network();
    let account = network.account("shared", 1_000 * LUMEN);
    let (medium, high) = (key("medium"), key("high"));
    let signer = |key: &SigningKey, weight| {
        OperationBody::SetOptions(SetOptionsOp {
            signer: Some(Signer { key: SignerKey::Ed25519(Uint256(key.verifying_key().to_bytes())), weight }),
            ..no_options()
        })
    };
    let thresholds = OperationBody::SetOptions(SetOptionsOp {
        low_threshold: Some(1),
        med_threshold: Some(2),
        high_threshold: Some(3),
        ..no_options()
    });
    let record = network.run(&account, vec![signer(&medium, 2), signer(&high, 3), thresholds]);
    assert!(record.is_successful(), "{:?}", record.result);
    Shared { network, account, medium, high }
}

impl Shared {
    fn submit(&self, body: OperationBody, signers: &[&SigningKey]) -> Submission {
        self.network.submit(self.network.sign(self.network.tx(&self.account, vec![body]), signers))
    }
}

fn is_bad_auth(code: Code) -> bool {
    matches!(code, Code::TxFailed(results) if results.as_slice() == [OperationResult::OpBadAuth])
}

#[test]
fn a_transaction_without_the_sources_signature_is_refused() {
    let shared = shared();
    let pay = || payment(&shared.network.root(), &Asset::Native, 1);
    assert_eq!(refusal(shared.submit(pay(), &[])), Code::TxBadAuth);
    assert_eq!(refusal(shared.submit(pay(), &[&key("stranger")])), Code::TxBadAuth);
    let tx = shared.network.tx(&shared.account, vec![pay()]);
    let TransactionEnvelope::Tx(mut envelope) = shared.network.sign(tx, &[&shared.high]) else {
        panic!("not a fee bump")
    };
    envelope.tx.fee += 1;
    assert_eq!(refusal(shared.network.submit(TransactionEnvelope::Tx(envelope))), Code::TxBadAuth);
}

#[test]
fn a_payment_asks_for_the_medium_and_a_change_of_signers_for_the_high_threshold() {
    let shared = shared();
    let pay = || payment(&shared.network.root(), &Asset::Native, 1);
    let change = || OperationBody::SetOptions(SetOptionsOp { master_weight: Some(5), ..no_options() });
    assert!(is_bad_auth(refusal(shared.submit(pay(), &[&shared.account]))), "weight 1 of 2");
    assert!(is_bad_auth(refusal(shared.submit(change(), &[&shared.medium]))), "weight 2 of 3");
    assert!(matches!(shared.submit(change(), &[&shared.account, &shared.medium]), Submission::Pending));
    shared.network.close();
    assert!(matches!(shared.submit(pay(), &[&shared.medium]), Submission::Pending));
}

#[test]
fn a_signature_that_nobody_needed_is_refused() {
    let shared = shared();
    let pay = || payment(&shared.network.root(), &Asset::Native, 1);
    assert_eq!(refusal(shared.submit(pay(), &[&shared.high, &shared.account])), Code::TxBadAuthExtra);
    assert_eq!(refusal(shared.submit(pay(), &[&shared.high, &key("stranger")])), Code::TxBadAuthExtra);
    assert_eq!(refusal(shared.submit(pay(), &[&shared.high, &shared.high])), Code::TxBadAuthExtra);
    assert!(matches!(shared.submit(pay(), &[&shared.high]), Submission::Pending));
}

#[test]
fn a_master_key_without_weight_signs_nothing() {
    let shared = shared();
    let silence = OperationBody::SetOptions(SetOptionsOp { master_weight: Some(0), ..no_options() });
    assert!(matches!(shared.submit(silence, &[&shared.high]), Submission::Pending));
    shared.network.close();
    let pay = || payment(&shared.network.root(), &Asset::Native, 1);
    assert_eq!(refusal(shared.submit(pay(), &[&shared.account])), Code::TxBadAuth);
    assert!(matches!(shared.submit(pay(), &[&shared.medium]), Submission::Pending));
}

#[test]
fn every_operation_source_signs() {
    let network = network();
    let (one, other) = (network.account("one", 100 * LUMEN), network.account("other", 100 * LUMEN));
    let operations = || vec![operation_from(&other, payment(&one, &Asset::Native, 5))];
    let tx = transaction(&one, network.sequence(&one) + 1, operations());
    assert!(is_bad_auth(refusal(network.submit(network.sign(tx.clone(), &[&one])))));
    assert_eq!(refusal(network.submit(network.sign(tx.clone(), &[&other]))), Code::TxBadAuth);
    let record = network.settle(network.sign(tx, &[&one, &other]));
    assert!(record.is_successful());
    assert_eq!(network.balance(&other), 100 * LUMEN - 5);
}

#[test]
fn an_operation_source_that_does_not_exist_shows_when_it_is_applied() {
    let network = network();
    let one = network.account("one", 100 * LUMEN);
    let nobody = key("nobody");
    let operations = vec![operation_from(&nobody, payment(&one, &Asset::Native, 5))];
    let tx = transaction(&one, network.sequence(&one) + 1, operations);
    let record = network.settle(network.sign(tx, &[&one, &nobody]));
    assert_eq!(operation_results(&record.result), [OperationResult::OpNoAccount]);
}

#[test]
fn a_hash_and_a_signed_payload_can_sign() {
    let network = network();
    let account = network.account("odd", 100 * LUMEN);
    let secret = b"open sesame".to_vec();
    let friend = key("friend");
    let payload = b"agreed on monday".to_vec();
    let hash_signer = SignerKey::HashX(Uint256(sha256(&secret)));
    let payload_signer = SignerKey::Ed25519SignedPayload(SignerKeyEd25519SignedPayload {
        ed25519: Uint256(friend.verifying_key().to_bytes()),
        payload: payload.clone().try_into().unwrap(),
    });
    let add = |key: &SignerKey| {
        let signer = Some(Signer { key: key.clone(), weight: 1 });
        OperationBody::SetOptions(SetOptionsOp { signer, ..no_options() })
    };
    assert!(network.run(&account, vec![add(&hash_signer), add(&payload_signer)]).is_successful());
    let digest = sha256(&secret);
    let by_hash = DecoratedSignature {
        hint: SignatureHint(digest[28..].try_into().unwrap()),
        signature: Signature(secret.try_into().unwrap()),
    };
    let mut by_payload = {
        use ed25519_dalek::Signer as _;
        let public = friend.verifying_key().to_bytes();
        DecoratedSignature {
            hint: SignatureHint(public[28..].try_into().unwrap()),
            signature: Signature(friend.sign(&payload).to_bytes().to_vec().try_into().unwrap()),
        }
    };
    for (byte, tail) in by_payload.hint.0.iter_mut().zip(&payload[payload.len() - 4..]) {
        *byte ^= tail;
    }
    for signature in [by_hash, by_payload] {
        let tx = network.tx(&account, vec![payment(&network.root(), &Asset::Native, 1)]);
        let signatures = vec![signature].try_into().unwrap();
        let record = network.settle(TransactionEnvelope::Tx(TransactionV1Envelope { tx, signatures }));
        assert!(record.is_successful());
    }
}

#[test]
fn an_extra_signer_of_the_preconditions_signs_too() {
    let network = network();
    let account = network.account("careful", 100 * LUMEN);
    let witness = key("witness");
    let mut tx = network.tx(&account, vec![payment(&network.root(), &Asset::Native, 1)]);
    let extra = SignerKey::Ed25519(Uint256(witness.verifying_key().to_bytes()));
    tx.cond = Preconditions::V2(PreconditionsV2 {
        time_bounds: None,
        ledger_bounds: None,
        min_seq_num: None,
        min_seq_age: Duration(0),
        min_seq_ledger_gap: 0,
        extra_signers: vec![extra].try_into().unwrap(),
    });
    assert_eq!(refusal(network.submit(network.sign(tx.clone(), &[&account]))), Code::TxBadAuth);
    assert!(matches!(network.submit(network.sign(tx, &[&account, &witness])), Submission::Pending));
}
