//! What is charged, what is given back, and where the lumens are.

use farebox_devnet::header::TOTAL_COINS;
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::xdr::*;

use crate::support::*;

/// Stage and amount of each fee event.
fn fee_events(record: &TransactionRecord) -> Vec<(TransactionEventStage, ScVal)> {
    let event = |event: &TransactionEvent| {
        let ContractEventBody::V0(body) = &event.event.body;
        assert_eq!(body.topics[0], ScVal::Symbol(ScSymbol("fee".try_into().unwrap())));
        (event.stage, body.data.clone())
    };
    meta_v4(record).events.iter().map(event).collect()
}

#[test]
fn a_classic_transaction_pays_the_base_fee_for_each_operation_however_high_its_bid() {
    let network = network();
    let account = network.account("account", 100 * LUMEN);
    let pay = || payment(&network.root(), &Asset::Native, 1);
    let mut tx = network.tx(&account, vec![pay(), pay(), pay()]);
    tx.fee = 1_000_000;
    let record = network.settle(network.sign(tx, &[&account]));
    assert_eq!(record.fee_charged, 300);
    assert_eq!(record.result.fee_charged, 300);
    assert_eq!(record.inclusion_fee(), 100);
    assert_eq!(network.balance(&account), 100 * LUMEN - 300 - 3);
    assert_eq!(fee_events(&record), [(TransactionEventStage::BeforeAllTxs, i128_value(300))]);
}

#[test]
fn what_a_soroban_transaction_did_not_use_comes_back() {
    let scene = scene();
    let before = scene.network.balance(&scene.relayer);
    let envelope = scene.payment_envelope(9);
    let TransactionEnvelope::Tx(TransactionV1Envelope { tx, .. }) = &envelope else {
        panic!("not a fee bump")
    };
    let offered = i64::from(tx.fee);
    let record = scene.network.settle(envelope);
    assert!(record.is_successful());
    let Some(SorobanTransactionMetaV2 { ext: SorobanTransactionMetaExt::V1(costs), .. }) =
        &meta_v4(&record).soroban_meta
    else {
        panic!("the costs are told")
    };
    let resources =
        costs.total_non_refundable_resource_fee_charged + costs.total_refundable_resource_fee_charged;
    assert_eq!(record.fee_charged, resources + 100);
    assert_eq!(record.resource_fee_charged, resources);
    assert_eq!(record.inclusion_fee(), 100);
    assert!(costs.rent_fee_charged > 0, "the nonce pays rent");
    assert!(record.fee_charged < offered);
    assert_eq!(scene.network.balance(&scene.relayer), before - record.fee_charged);
    let refund = i128::from(record.fee_charged - offered);
    let expected = [
        (TransactionEventStage::BeforeAllTxs, i128_value(i128::from(offered))),
        (TransactionEventStage::AfterAllTxs, i128_value(refund)),
    ];
    assert_eq!(fee_events(&record), expected);
}

#[test]
fn a_failed_soroban_transaction_pays_only_what_is_never_given_back() {
    let scene = scene();
    let transfer = scene.transfer(9);
    let auth = scene.authorized(&transfer, false);
    let simulated = scene
        .network
        .simulate_invoke(
            &scene.relayer,
            transfer.clone(),
            farebox_devnet::simulation::AuthMode::Enforce(auth.clone()),
        )
        .unwrap();
    let envelope = scene.network.soroban(&scene.relayer, transfer, auth, simulated.transaction_data);
    // Between simulation and ledger the payer spends everything.
    let all = scene.network.credit_balance(&scene.payer, &scene.asset);
    scene.network.run(&scene.payer, vec![payment(&scene.issuer, &scene.asset, all)]);
    let before = scene.network.balance(&scene.relayer);
    let record = scene.network.settle(envelope);
    assert!(!record.is_successful());
    assert_eq!(
        only_result(&record),
        OperationResultTr::InvokeHostFunction(InvokeHostFunctionResult::Trapped)
    );
    assert!(meta_v4(&record).soroban_meta.is_none());
    assert!(meta_v4(&record).operations.is_empty());
    assert!(!meta_v4(&record).diagnostic_events.is_empty(), "the host says why");
    assert_eq!(record.fee_charged, record.resource_fee_charged + 100);
    assert_eq!(scene.network.balance(&scene.relayer), before - record.fee_charged);
    assert_eq!(fee_events(&record).len(), 2);
}

#[test]
fn a_fee_bump_is_paid_by_its_own_source_and_counts_one_operation_more() {
    let scene = scene();
    let network = &scene.network;
    let sponsor = network.account("sponsor", 100 * LUMEN);
    let inner = scene.payment_envelope(9);
    let inner_hash = network.hash(&inner);
    let TransactionEnvelope::Tx(TransactionV1Envelope { tx, .. }) = &inner else { panic!("not a fee bump") };
    let fee = i64::from(tx.fee) + 5_000;
    let relayer_before = network.balance(&scene.relayer);
    let envelope = network.bump(inner, &sponsor, fee);
    let outer_hash = network.hash(&envelope);
    let record = network.settle(envelope);
    assert!(record.is_successful(), "{:?}", record.result);
    assert_eq!(network.balance(&scene.relayer), relayer_before);
    assert_eq!(network.balance(&sponsor), 100 * LUMEN - record.fee_charged);
    assert_eq!(record.fee_charged, record.resource_fee_charged + 200);
    let TransactionResultResult::TxFeeBumpInnerSuccess(pair) = &record.result.result else {
        panic!("{:?}", record.result)
    };
    assert_eq!((pair.transaction_hash.0, pair.result.fee_charged), (inner_hash, 0));
    assert_eq!((record.hash, record.inner_hash), (outer_hash, Some(inner_hash)));
    let by_inner = network.node.history().transaction(&inner_hash).expect("found by the inner hash too");
    assert_eq!(by_inner.hash, outer_hash);
}

#[test]
fn no_lumen_is_made_or_lost() {
    let scene = scene();
    let network = &scene.network;
    for amount in [1, 2, 3] {
        network.settle(scene.payment_envelope(amount));
    }
    let state = network.node.state();
    let everyone = [network.root(), scene.issuer, scene.relayer, scene.payer, scene.payee];
    let held: i64 = everyone.iter().map(|key| network.balance(key)).sum();
    assert_eq!(held + state.ledger.header.fee_pool, TOTAL_COINS);
}

#[test]
fn fee_changes_stand_apart_from_what_the_transaction_did() {
    let scene = scene();
    let record = scene.network.settle(scene.payment_envelope(9));
    let ledger = scene.network.node.history().ledger(record.ledger).unwrap();
    let LedgerCloseMeta::V2(meta) = &ledger.meta else { panic!("version 2") };
    let processing = &meta.tx_processing[0];
    assert_eq!(processing.fee_processing.0.len(), 2);
    assert_eq!(processing.post_tx_apply_fee_processing.0.len(), 2);
    assert_eq!(processing.tx_apply_processing, record.meta);
    assert_eq!(processing.result.result, record.result);
}
