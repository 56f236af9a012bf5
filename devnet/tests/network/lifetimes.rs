//! How long contract entries live, how that is extended, and how archived ones come back.

use farebox_devnet::draft::Ledger;
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::simulation::{AuthMode, Simulated, SimulationRequest};
use farebox_devnet::xdr::*;

use crate::support::*;

fn live_until(network: &Network, key: &LedgerKey) -> u32 {
    network.node.state().entries.find(key).expect("it exists").lifetime.expect("it ends").live_until
}

fn extended(record: &TransactionRecord) -> ExtendFootprintTtlResult {
    match only_result(record) {
        OperationResultTr::ExtendFootprintTtl(result) => result,
        other => panic!("{other:?}"),
    }
}

fn restored(record: &TransactionRecord) -> RestoreFootprintResult {
    match only_result(record) {
        OperationResultTr::RestoreFootprint(result) => result,
        other => panic!("{other:?}"),
    }
}

fn settle_prepared(
    scene: &Scene,
    body: OperationBody,
    simulated: Simulated,
) -> std::sync::Arc<TransactionRecord> {
    let tx = scene.network.soroban_transaction(&scene.relayer, body, simulated.transaction_data);
    scene.network.settle(scene.network.sign(tx, &[&scene.relayer]))
}

fn extend_body(extend_to: u32) -> OperationBody {
    OperationBody::ExtendFootprintTtl(ExtendFootprintTtlOp { ext: ExtensionPoint::V0, extend_to })
}

fn restore_body() -> OperationBody {
    OperationBody::RestoreFootprint(RestoreFootprintOp { ext: ExtensionPoint::V0 })
}

#[test]
fn a_nonce_lives_at_least_as_long_as_a_temporary_entry_must() {
    let scene = scene();
    let record = scene.network.settle(scene.payment_envelope(5));
    let nonce = meta_v4(&record).operations[0]
        .changes
        .0
        .iter()
        .find_map(|change| match change {
            LedgerEntryChange::Created(entry) => match &entry.data {
                LedgerEntryData::ContractData(_) => Some(entry.to_key()),
                _ => None,
            },
            _ => None,
        })
        .expect("the nonce is created");
    assert_eq!(live_until(&scene.network, &nonce), record.ledger + 17_280 - 1);
    let ttl_is_told = meta_v4(&record).operations[0].changes.0.iter().any(|change| {
        matches!(change, LedgerEntryChange::Created(entry) if matches!(entry.data, LedgerEntryData::Ttl(_)))
    });
    assert!(ttl_is_told);
}

#[test]
fn a_lifetime_is_extended_for_rent() {
    let scene = scene();
    let key = instance_key(scene.contract);
    let before = live_until(&scene.network, &key);
    let extend_to = 3_000_000;
    let simulated = scene
        .network
        .simulate(SimulationRequest::ExtendTtl { keys: vec![key.clone()], extend_to })
        .expect("it simulates");
    assert!(simulated.restore_preamble.is_none());
    let record = settle_prepared(&scene, extend_body(extend_to), simulated);
    assert_eq!(extended(&record), ExtendFootprintTtlResult::Success);
    assert_eq!(live_until(&scene.network, &key), record.ledger + extend_to);
    assert!(live_until(&scene.network, &key) > before);
    let Some(SorobanTransactionMetaV2 { ext: SorobanTransactionMetaExt::V1(costs), .. }) =
        &meta_v4(&record).soroban_meta
    else {
        panic!("the costs are told")
    };
    assert!(costs.rent_fee_charged > 0);
    let changes = &meta_v4(&record).operations[0].changes.0;
    assert_eq!(changes.len(), 2, "only the lifetime moved: {changes:?}");
}

#[test]
fn an_extension_has_a_limit_and_a_read_only_footprint() {
    let scene = scene();
    let key = instance_key(scene.contract);
    let refused =
        scene.network.simulate(SimulationRequest::ExtendTtl { keys: vec![key.clone()], extend_to: u32::MAX });
    assert!(refused.is_err());
    let simulated = scene
        .network
        .simulate(SimulationRequest::ExtendTtl { keys: vec![key], extend_to: 3_000_000 })
        .unwrap();
    let tx =
        scene.network.soroban_transaction(&scene.relayer, extend_body(3_110_400), simulated.transaction_data);
    let code = refusal(scene.network.submit(scene.network.sign(tx, &[&scene.relayer])));
    let TransactionResultResult::TxFailed(results) = code else { panic!("{code:?}") };
    let malformed = OperationResultTr::ExtendFootprintTtl(ExtendFootprintTtlResult::Malformed);
    assert_eq!(results.as_slice(), [OperationResult::OpInner(malformed)]);
}

#[test]
fn an_archived_entry_stops_calls_that_do_not_restore_it() {
    let scene = scene();
    let envelope = scene.payment_envelope(5);
    scene.network.archive(&instance_key(scene.contract));
    let record = scene.network.settle(envelope);
    assert_eq!(
        only_result(&record),
        OperationResultTr::InvokeHostFunction(InvokeHostFunctionResult::EntryArchived)
    );
}

#[test]
fn a_call_restores_what_it_needs_on_the_way() {
    let scene = scene();
    let key = instance_key(scene.contract);
    scene.network.archive(&key);
    let transfer = scene.transfer(5);
    let auth = scene.authorized(&transfer, false);
    let simulated = scene
        .network
        .simulate_invoke(&scene.relayer, transfer.clone(), AuthMode::Enforce(auth.clone()))
        .expect("archived entries do not stop a simulation");
    let SorobanTransactionDataExt::V1(ext) = &simulated.transaction_data.ext else {
        panic!("the data names what is restored")
    };
    assert_eq!(ext.archived_soroban_entries.len(), 1);
    let record = scene.network.settle(scene.network.soroban(
        &scene.relayer,
        transfer,
        auth,
        simulated.transaction_data,
    ));
    assert!(record.is_successful(), "{:?}", record.result);
    assert_eq!(scene.network.credit_balance(&scene.payee, &scene.asset), 5);
    assert_eq!(live_until(&scene.network, &key), record.ledger + 2_073_600 - 1);
    let restored = meta_v4(&record).operations[0]
        .changes
        .0
        .iter()
        .filter(|change| matches!(change, LedgerEntryChange::Restored(_)))
        .count();
    assert_eq!(restored, 2, "the entry and its lifetime");
}

#[test]
fn an_archived_entry_is_restored_by_an_operation_of_its_own() {
    let scene = scene();
    let key = instance_key(scene.contract);
    scene.network.archive(&key);
    let simulated =
        scene.network.simulate(SimulationRequest::Restore { keys: vec![key.clone()] }).expect("it simulates");
    let preamble = scene
        .network
        .simulate(SimulationRequest::ExtendTtl { keys: vec![key.clone()], extend_to: 3_000_000 })
        .unwrap()
        .restore_preamble
        .expect("what is archived is restored before it is extended");
    assert_eq!(
        preamble.transaction_data.resources.footprint.read_write.as_slice(),
        std::slice::from_ref(&key)
    );
    let record = settle_prepared(&scene, restore_body(), simulated);
    assert_eq!(restored(&record), RestoreFootprintResult::Success);
    assert_eq!(live_until(&scene.network, &key), record.ledger + 2_073_600 - 1);
    assert!(scene.network.settle(scene.payment_envelope(5)).is_successful());
}

#[test]
fn an_expired_temporary_entry_is_as_if_it_had_never_been() {
    let scene = scene();
    let transfer = scene.transfer(5);
    let auth = scene.authorized(&transfer, false);
    let data = scene
        .network
        .simulate_invoke(&scene.relayer, transfer.clone(), AuthMode::Enforce(auth.clone()))
        .unwrap()
        .transaction_data;
    let nonce = data
        .resources
        .footprint
        .read_write
        .iter()
        .find(|key| matches!(key, LedgerKey::ContractData(data) if data.durability == ContractDataDurability::Temporary))
        .expect("the nonce is written")
        .clone();
    let settle = || {
        scene.network.settle(scene.network.soroban(
            &scene.relayer,
            transfer.clone(),
            auth.clone(),
            data.clone(),
        ))
    };
    assert!(settle().is_successful());
    assert!(!settle().is_successful(), "a replay");
    scene.network.archive(&nonce);
    // Only a scene can do this: a nonce outlives its signature.
    assert!(settle().is_successful());
}
