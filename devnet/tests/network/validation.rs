//! Which result code a transaction that may not be in the next ledger gets.

use crate::support::*;
use farebox_devnet::chain::now_ms;
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::TransactionResultResult as Code;
use farebox_devnet::xdr::*;

fn conditions() -> PreconditionsV2 {
    PreconditionsV2 {
        time_bounds: None,
        ledger_bounds: None,
        min_seq_num: None,
        min_seq_age: Duration(0),
        min_seq_ledger_gap: 0,
        extra_signers: VecM::default(),
    }
}

/// Submits a payment of the root account to itself after `change`.
fn answer(network: &Network, change: impl FnOnce(&mut Transaction)) -> Submission {
    let root = network.root();
    let mut tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
    change(&mut tx);
    network.submit(network.sign(tx, &[&root]))
}

fn code(network: &Network, change: impl FnOnce(&mut Transaction)) -> Code {
    refusal(answer(network, change))
}

fn between(min: u64, max: u64) -> Preconditions {
    Preconditions::Time(TimeBounds { min_time: TimePoint(min), max_time: TimePoint(max) })
}

#[test]
fn the_old_envelope_form_is_not_supported() {
    let network = network();
    let root = network.root();
    let old = TransactionEnvelope::TxV0(TransactionV0Envelope {
        tx: TransactionV0 {
            source_account_ed25519: Uint256(root.verifying_key().to_bytes()),
            fee: 100,
            seq_num: SequenceNumber(1),
            time_bounds: None,
            memo: Memo::None,
            operations: vec![operation(payment(&root, &Asset::Native, 1))].try_into().unwrap(),
            ext: TransactionV0Ext::V0,
        },
        signatures: VecM::default(),
    });
    assert_eq!(refusal(network.submit(old)), Code::TxNotSupported);
}

#[test]
fn a_transaction_has_operations_and_pays_for_each() {
    let network = network();
    assert_eq!(code(&network, |tx| tx.operations = VecM::default()), Code::TxMissingOperation);
    assert_eq!(code(&network, |tx| tx.fee = 99), Code::TxInsufficientFee);
    let two = |tx: &mut Transaction| {
        let both = [tx.operations[0].clone(), tx.operations[0].clone()];
        tx.operations = both.to_vec().try_into().unwrap();
        tx.fee = 199;
    };
    assert_eq!(quoted_fee(answer(&network, two)), 200);
    assert_eq!(code(&network, two), Code::TxInsufficientFee);
}

#[test]
fn the_sequence_number_is_the_next_one() {
    let network = network();
    for wrong in [-1, 1, 2, 1 << 40] {
        assert_eq!(code(&network, |tx| tx.seq_num.0 += wrong), Code::TxBadSeq);
    }
    let account = network.account("newcomer", 100 * LUMEN);
    let created_in = i64::from(network.node.state().ledger.sequence);
    assert_eq!(network.sequence(&account), created_in << 32);
}

#[test]
fn a_minimum_sequence_number_allows_gaps() {
    let network = network();
    let gap = |minimum| {
        move |tx: &mut Transaction| {
            tx.seq_num.0 += 5;
            tx.cond = Preconditions::V2(PreconditionsV2 {
                min_seq_num: Some(SequenceNumber(minimum)),
                ..conditions()
            });
        }
    };
    assert_eq!(code(&network, gap(1)), Code::TxBadSeq);
    assert!(matches!(answer(&network, gap(0)), Submission::Pending));
    network.close();
    assert_eq!(network.sequence(&network.root()), 6);
}

#[test]
fn the_sequence_number_can_have_to_be_old_enough() {
    let network = network();
    let root = network.root();
    network.run(&root, vec![payment(&root, &Asset::Native, 1)]);
    let aged = |age, gap| {
        move |tx: &mut Transaction| {
            tx.cond = Preconditions::V2(PreconditionsV2 {
                min_seq_age: Duration(age),
                min_seq_ledger_gap: gap,
                ..conditions()
            });
        }
    };
    assert_eq!(code(&network, aged(3_600, 0)), Code::TxBadMinSeqAgeOrGap);
    assert_eq!(code(&network, aged(0, 3)), Code::TxBadMinSeqAgeOrGap);
    network.close_many(2);
    assert!(matches!(answer(&network, aged(0, 3)), Submission::Pending));
}

#[test]
fn time_bounds_leave_room_for_two_ledgers() {
    let network = network();
    let now = now_ms() / 1000;
    assert_eq!(code(&network, |tx| tx.cond = between(now + 60, 0)), Code::TxTooEarly);
    assert_eq!(code(&network, |tx| tx.cond = between(0, now - 1)), Code::TxTooLate);
    // Five-second ledgers: what ends within ten seconds is refused although it is not over yet.
    assert_eq!(code(&network, |tx| tx.cond = between(0, now + 8)), Code::TxTooLate);
    assert!(matches!(answer(&network, |tx| tx.cond = between(0, now + 20)), Submission::Pending));
}

#[test]
fn ledger_bounds_speak_of_the_next_ledger() {
    let network = network();
    let next = network.node.state().ledger.sequence + 1;
    let bounds = |min_ledger, max_ledger| {
        move |tx: &mut Transaction| {
            let ledger_bounds = Some(LedgerBounds { min_ledger, max_ledger });
            tx.cond = Preconditions::V2(PreconditionsV2 { ledger_bounds, ..conditions() });
        }
    };
    assert_eq!(code(&network, bounds(next + 1, 0)), Code::TxTooEarly);
    assert_eq!(code(&network, bounds(0, next)), Code::TxTooLate);
    assert!(matches!(answer(&network, bounds(next, next + 1)), Submission::Pending));
}

#[test]
fn a_source_exists_and_can_pay() {
    let network = network();
    let nobody = key("nobody");
    let tx = transaction(&nobody, 1, vec![operation(payment(&nobody, &Asset::Native, 1))]);
    assert_eq!(refusal(network.submit(network.sign(tx, &[&nobody]))), Code::TxNoAccount);
    let poor = network.account("poor", LUMEN + 150);
    let pay = |fee| {
        let mut tx = network.tx(&poor, vec![payment(&network.root(), &Asset::Native, 1)]);
        tx.fee = fee;
        network.submit(network.sign(tx, &[&poor]))
    };
    assert_eq!(refusal(pay(151)), Code::TxInsufficientBalance);
    assert!(matches!(pay(150), Submission::Pending));
}

/// Submits a finished payment through the asset contract after `change`, signed anew by the relayer.
fn soroban_code(scene: &Scene, change: impl FnOnce(&mut Transaction, &mut SorobanTransactionData)) -> Code {
    let TransactionEnvelope::Tx(envelope) = scene.payment_envelope(1) else { panic!("not a fee bump") };
    let mut tx = envelope.tx;
    let TransactionExt::V1(mut data) = tx.ext.clone() else { panic!("it has resource data") };
    change(&mut tx, &mut data);
    if tx.ext != TransactionExt::V0 {
        tx.ext = TransactionExt::V1(data);
    }
    refusal(scene.network.submit(scene.network.sign(tx, &[&scene.relayer])))
}

#[test]
fn a_soroban_transaction_has_one_operation_and_its_data() {
    let scene = scene();
    let twice = |tx: &mut Transaction, _: &mut SorobanTransactionData| {
        let both = [tx.operations[0].clone(), tx.operations[0].clone()];
        tx.operations = both.to_vec().try_into().unwrap();
    };
    assert_eq!(soroban_code(&scene, twice), Code::TxMalformed);
    let mixed = |tx: &mut Transaction, _: &mut SorobanTransactionData| {
        let both = [tx.operations[0].clone(), operation(payment(&scene.payee, &Asset::Native, 1))];
        tx.operations = both.to_vec().try_into().unwrap();
    };
    assert_eq!(soroban_code(&scene, mixed), Code::TxMalformed);
    assert_eq!(soroban_code(&scene, |tx, _| tx.ext = TransactionExt::V0), Code::TxMalformed);
    let classic_with_data = |tx: &mut Transaction, _: &mut SorobanTransactionData| {
        tx.operations = vec![operation(payment(&scene.payee, &Asset::Native, 1))].try_into().unwrap();
    };
    assert_eq!(soroban_code(&scene, classic_with_data), Code::TxMalformed);
}

#[test]
fn a_soroban_transaction_has_neither_memo_nor_muxed_source() {
    let scene = scene();
    let muxed_relayer = MuxedAccount::MuxedEd25519(MuxedAccountMed25519 {
        id: 7,
        ed25519: Uint256(scene.relayer.verifying_key().to_bytes()),
    });
    assert_eq!(soroban_code(&scene, |tx, _| tx.memo = Memo::Id(1)), Code::TxSorobanInvalid);
    assert_eq!(
        soroban_code(&scene, |tx, _| tx.source_account = muxed_relayer.clone()),
        Code::TxSorobanInvalid
    );
    let on_operation = |tx: &mut Transaction, _: &mut SorobanTransactionData| {
        let mut first = tx.operations[0].clone();
        first.source_account = Some(muxed_relayer.clone());
        tx.operations = vec![first].try_into().unwrap();
    };
    assert_eq!(soroban_code(&scene, on_operation), Code::TxSorobanInvalid);
}

type Change = fn(&mut Transaction, &mut SorobanTransactionData);

#[test]
fn declared_resources_stay_within_the_limits_and_are_paid_for() {
    let scene = scene();
    let changes: [(&str, Change); 9] = [
        ("instructions", |_, data| data.resources.instructions = 400_000_001),
        ("read bytes", |_, data| data.resources.disk_read_bytes = 200_001),
        ("write bytes", |_, data| data.resources.write_bytes = 132_097),
        ("resource fee above the fee", |tx, data| data.resource_fee = i64::from(tx.fee) + 1),
        ("resource fee below the price", |_, data| data.resource_fee = 1_000),
        ("duplicate keys", |_, data| {
            let footprint = &mut data.resources.footprint;
            let mut keys = footprint.read_write.to_vec();
            keys.push(footprint.read_only[0].clone());
            footprint.read_write = keys.try_into().unwrap();
        }),
        ("a settings key", |_, data| {
            let mut keys = data.resources.footprint.read_only.to_vec();
            keys.push(LedgerKey::ConfigSetting(LedgerKeyConfigSetting {
                config_setting_id: ConfigSettingId::StateArchival,
            }));
            data.resources.footprint.read_only = keys.try_into().unwrap();
        }),
        ("an oversized key", |_, data| {
            let mut keys = data.resources.footprint.read_only.to_vec();
            keys.push(LedgerKey::ContractData(LedgerKeyContractData {
                contract: ScAddress::Contract(ContractId(Hash([0; 32]))),
                key: ScVal::Bytes(vec![0; 251].try_into().unwrap()),
                durability: ContractDataDurability::Persistent,
            }));
            data.resources.footprint.read_only = keys.try_into().unwrap();
        }),
        ("an archived index beyond the footprint", |_, data| {
            data.ext = SorobanTransactionDataExt::V1(SorobanResourcesExtV0 {
                archived_soroban_entries: vec![99].try_into().unwrap(),
            });
        }),
    ];
    for (what, change) in changes {
        assert_eq!(soroban_code(&scene, change), Code::TxSorobanInvalid, "{what}");
    }
    let negative: Change = |_, data| data.resource_fee = -1;
    assert_eq!(soroban_code(&scene, negative), Code::TxMalformed);
}

#[test]
fn a_fee_bump_bids_at_least_the_rate_of_what_it_wraps() {
    let network = network();
    let root = network.root();
    let payer = network.account("payer", 100 * LUMEN);
    let mut tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
    tx.fee = 500;
    let inner = network.sign(tx, &[&root]);
    assert_eq!(refusal(network.submit(network.bump(inner.clone(), &payer, 199))), Code::TxInsufficientFee);
    let below = network.submit(network.bump(inner.clone(), &payer, 999));
    assert_eq!(quoted_fee(below.clone()), 1_000);
    assert_eq!(refusal(below), Code::TxInsufficientFee);
    assert!(matches!(network.submit(network.bump(inner, &payer, 1_000)), Submission::Pending));
}

#[test]
fn a_fee_bump_names_the_fault_of_what_it_wraps() {
    let network = network();
    let root = network.root();
    let payer = network.account("payer", 100 * LUMEN);
    let mut tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
    tx.seq_num.0 += 3;
    let inner = network.sign(tx, &[&root]);
    let inner_hash = network.hash(&inner);
    match refusal(network.submit(network.bump(inner, &payer, 1_000))) {
        Code::TxFeeBumpInnerFailed(pair) => {
            assert_eq!(pair.transaction_hash, Hash(inner_hash));
            assert_eq!(pair.result.result, InnerTransactionResultResult::TxBadSeq);
            assert_eq!(pair.result.fee_charged, 0);
        }
        other => panic!("{other:?}"),
    }
    let stranger = key("stranger");
    let tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
    let by_nobody = network.bump(network.sign(tx, &[&root]), &stranger, 1_000);
    assert_eq!(refusal(network.submit(by_nobody)), Code::TxNoAccount);
}

#[test]
fn a_fee_bump_may_wrap_a_fee_that_would_not_cover_the_resources() {
    let scene = scene();
    let sponsor = scene.network.account("sponsor", 100 * LUMEN);
    let TransactionEnvelope::Tx(envelope) = scene.payment_envelope(1) else { panic!("not a fee bump") };
    let mut tx = envelope.tx;
    let offered = i64::from(tx.fee);
    tx.fee = 100;
    let inner = || scene.network.sign(tx.clone(), &[&scene.relayer]);
    assert_eq!(refusal(scene.network.submit(inner())), Code::TxSorobanInvalid);
    let short = scene.network.submit(scene.network.bump(inner(), &sponsor, offered + 99));
    assert_eq!(refusal(short), Code::TxInsufficientFee);
    assert!(scene.network.settle(scene.network.bump(inner(), &sponsor, offered + 100)).is_successful());
}

#[test]
fn a_fee_bump_is_signed_by_its_payer_and_nobody_else() {
    let network = network();
    let root = network.root();
    let payer = network.account("payer", 100 * LUMEN);
    let inner = network.sign(network.tx(&root, vec![payment(&root, &Asset::Native, 1)]), &[&root]);
    let TransactionEnvelope::TxFeeBump(bump) = network.bump(inner, &payer, 1_000) else {
        panic!("a fee bump")
    };
    let hash = bump.tx.hash(network.node.network_id()).unwrap();
    let signed_by = |keys: &[&ed25519_dalek::SigningKey]| {
        let signatures: Vec<_> = keys.iter().map(|key| signature(key, &hash)).collect();
        let signatures = signatures.try_into().unwrap();
        network.submit(TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope {
            tx: bump.tx.clone(),
            signatures,
        }))
    };
    assert_eq!(refusal(signed_by(&[])), Code::TxBadAuth);
    assert_eq!(refusal(signed_by(&[&root])), Code::TxBadAuth);
    assert_eq!(refusal(signed_by(&[&payer, &root])), Code::TxBadAuthExtra);
    assert!(matches!(signed_by(&[&payer]), Submission::Pending));
}
