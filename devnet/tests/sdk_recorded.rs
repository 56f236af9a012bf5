//! Transactions that the public test network took in: they decode, encode again to the same bytes, carry the
//! hashes that they are known by, and what the devnet makes of the same facts is what is in them.

use ed25519_dalek::{Signature, VerifyingKey};
use farebox_devnet::edge::xdr_text::{decode, encode};
use farebox_devnet::events::{asset_contract, fee};
use farebox_devnet::xdr::{
    Asset, ContractEvent, Hash, InvokeHostFunctionResult, InvokeHostFunctionSuccessPreImage, MuxedAccount,
    OperationResult, OperationResultTr, ReadXdr, ScVal, TransactionEnvelope, TransactionEventStage,
    TransactionMeta, TransactionResult, TransactionResultResult, TransactionV1Envelope, WriteXdr,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
struct Recorded {
    what: String,
    hash: String,
    envelope: String,
    result: Option<String>,
    meta: Option<String>,
}

fn recorded() -> Vec<Recorded> {
    serde_json::from_str(include_str!("sdk_recorded.json")).unwrap()
}

fn testnet() -> [u8; 32] {
    Sha256::digest("Test SDF Network ; September 2015").into()
}

fn read<T: ReadXdr + WriteXdr>(text: &str, what: &str) -> T {
    let value: T = decode(text).unwrap_or_else(|| panic!("{what} does not decode"));
    assert_eq!(encode(&value), text, "{what} encodes to other bytes");
    value
}

fn envelope(of: &Recorded) -> TransactionV1Envelope {
    match read(&of.envelope, &of.what) {
        TransactionEnvelope::Tx(envelope) => envelope,
        other => panic!("{}: {}", of.what, other.name()),
    }
}

#[test]
fn each_decodes_and_encodes_to_the_same_bytes() {
    for transaction in recorded() {
        envelope(&transaction);
        transaction.result.iter().for_each(|text| drop(read::<TransactionResult>(text, &transaction.what)));
        transaction.meta.iter().for_each(|text| drop(read::<TransactionMeta>(text, &transaction.what)));
    }
}

#[test]
fn each_has_the_hash_it_is_known_by_and_its_source_s_signature_over_it() {
    for transaction in recorded() {
        let envelope = envelope(&transaction);
        let hash = envelope.tx.hash(testnet()).unwrap();
        assert_eq!(hex::encode(hash), transaction.hash, "{}", transaction.what);
        let MuxedAccount::Ed25519(source) = envelope.tx.source_account else { panic!("a plain source") };
        let signature = Signature::from_slice(envelope.signatures[0].signature.as_slice()).unwrap();
        VerifyingKey::from_bytes(&source.0).unwrap().verify_strict(&hash, &signature).unwrap();
    }
}

/// The transaction whose meta has the form that the devnet writes.
fn current() -> (TransactionV1Envelope, TransactionResult, TransactionMeta) {
    let transaction = recorded().pop().unwrap();
    let result = read(transaction.result.as_deref().unwrap(), "result");
    let meta = read(transaction.meta.as_deref().unwrap(), "meta");
    (envelope(&transaction), result, meta)
}

#[test]
fn the_result_s_hash_is_that_of_the_value_and_the_events_in_the_meta() {
    let (_, result, TransactionMeta::V4(meta)) = current() else { panic!("meta v4") };
    let return_value: ScVal = meta.soroban_meta.unwrap().return_value.unwrap();
    let events: Vec<ContractEvent> = meta.operations[0].events.to_vec();
    let preimage = InvokeHostFunctionSuccessPreImage { return_value, events: events.try_into().unwrap() };
    let hash = Hash(Sha256::digest(farebox_devnet::codec::encode(&preimage)).into());
    let TransactionResultResult::TxSuccess(operations) = result.result else { panic!("successful") };
    let expected = OperationResult::OpInner(OperationResultTr::InvokeHostFunction(
        InvokeHostFunctionResult::Success(hash),
    ));
    assert_eq!(operations[0], expected);
}

#[test]
fn the_devnet_s_fee_event_is_the_one_in_the_meta() {
    let (envelope, result, TransactionMeta::V4(meta)) = current() else { panic!("meta v4") };
    let native = asset_contract(&Asset::Native, testnet());
    let payer = envelope.tx.source_account.account_id();
    // 0x4ce621 was charged in the end: 0x58eb8e before, 0xc056d given back.
    let taken = fee(native, &payer, 0x58_eb8e, TransactionEventStage::BeforeAllTxs);
    let given_back = fee(native, &payer, -0xc_056d, TransactionEventStage::AfterTx);
    assert_eq!(result.fee_charged, 0x58_eb8e - 0xc_056d);
    assert_eq!(meta.events.to_vec(), [taken.unwrap(), given_back.unwrap()]);
}
