//! Full ledgers: what fits, who gets in, what everybody pays, and what waits.

use ed25519_dalek::SigningKey;
use farebox_devnet::accounts::{new_account, trustline_asset};
use farebox_devnet::ledger_space::Space;
use farebox_devnet::options::{LimitsProfile, NodeOptions};
use farebox_devnet::submission::Submission;
use farebox_devnet::surge::select;
use farebox_devnet::transaction::Frame;
use farebox_devnet::xdr::TransactionResultResult as Code;
use farebox_devnet::xdr::*;

use crate::support::*;

const TRANSFER_BYTES: u32 = 1_084;
const LEDGER_BYTES: u64 = 266_240;

/// A scene with further relayers, whose payments all come from its one payer.
struct Crowd {
    scene: Scene,
    relayers: Vec<SigningKey>,
    payers: Vec<SigningKey>,
}

fn crowd(count: usize, limits: LimitsProfile) -> Crowd {
    let scene = scene_with(NodeOptions { limits, ..options() });
    let keys = |role: &str| (0..count).map(|index| key(&format!("{role} {index}"))).collect::<Vec<_>>();
    let (relayers, payers) = (keys("relayer"), keys("payer"));
    let entry = |data| LedgerEntry { last_modified_ledger_seq: 1, data, ext: LedgerEntryExt::V0 };
    let mut entries = Vec::new();
    for holder in relayers.iter().chain(&payers) {
        entries.push(entry(LedgerEntryData::Account(new_account(id(holder), 1_000 * LUMEN, 1))));
    }
    for payer in &payers {
        entries.push(entry(LedgerEntryData::Trustline(TrustLineEntry {
            account_id: id(payer),
            asset: trustline_asset(&scene.asset),
            balance: LUMEN,
            limit: i64::MAX,
            flags: TrustLineFlags::AuthorizedFlag as u32,
            ext: TrustLineEntryExt::V0,
        })));
    }
    scene.network.inject(entries);
    Crowd { scene, relayers, payers }
}

impl Crowd {
    /// Each payer's payment through its own relayer, who bids `bid` stroops for inclusion.
    fn payment(&self, index: usize, bid: u32) -> TransactionEnvelope {
        let (scene, relayer) = (&self.scene, &self.relayers[index]);
        let transfer = scene.transfer_between(&self.payers[index], &scene.payee, 1);
        let recorded = scene
            .network
            .simulate_invoke(relayer, transfer.clone(), Network::record_auth())
            .expect("it records");
        let mut auth = recorded.invocation.expect("an invocation").auth;
        let expires_at = scene.network.node.state().ledger.sequence + 100;
        auth.iter_mut().for_each(|entry| scene.network.sign_auth(entry, &self.payers[index], expires_at));
        let enforce = farebox_devnet::simulation::AuthMode::Enforce(auth.clone());
        let simulated =
            scene.network.simulate_invoke(relayer, transfer.clone(), enforce).expect("it enforces");
        let body = OperationBody::InvokeHostFunction(InvokeHostFunctionOp {
            host_function: transfer,
            auth: auth.try_into().unwrap(),
        });
        let mut tx = scene.network.soroban_transaction(relayer, body, simulated.transaction_data);
        tx.fee += bid - 100;
        tx.cond = Preconditions::Time(TimeBounds { min_time: TimePoint(0), max_time: TimePoint(u64::MAX) });
        scene.network.sign(tx, &[relayer])
    }

    fn submit(&self, envelope: TransactionEnvelope) {
        let submission = self.scene.network.submit(envelope);
        assert!(matches!(submission, Submission::Pending), "{submission:?}");
    }

    /// How many transactions the next ledger takes in, all of them successful.
    fn close(&self) -> usize {
        self.scene.network.close();
        let ledger = self.scene.network.node.state().ledger.clone();
        assert!(ledger.transactions.iter().all(|record| record.is_successful()));
        ledger.transactions.len()
    }

    fn space(&self, envelope: TransactionEnvelope) -> Space {
        Space::of(&Frame::read(envelope, self.scene.network.node.network_id()).unwrap())
    }
}

#[test]
fn a_ledger_of_mainnet_admits_245_payments_and_the_next_one_takes_the_rest() {
    let crowd = crowd(260, LimitsProfile::Mainnet);
    for index in 0..260 {
        let envelope = crowd.payment(index, 100);
        assert_eq!(crowd.space(envelope.clone()).bytes, u64::from(TRANSFER_BYTES));
        crowd.submit(envelope);
    }
    assert_eq!(crowd.close(), 245);
    assert_eq!(LEDGER_BYTES / u64::from(TRANSFER_BYTES), 245);
    assert_eq!(crowd.close(), 15);
}

#[test]
fn nobody_who_bids_like_everybody_is_passed_over_in_every_ledger() {
    let crowd = crowd(250, LimitsProfile::Mainnet);
    let network_id = crowd.scene.network.node.network_id();
    let waiting: Vec<Frame> =
        (0..250).map(|index| Frame::read(crowd.payment(index, 100), network_id).unwrap()).collect();
    let offered: Vec<&Frame> = waiting.iter().collect();
    let limits = crowd.scene.network.node.state().limits.ledger.clone();
    let mut always_left_out: Vec<usize> = (0..waiting.len()).collect();
    for sequence in 1..=4 {
        let taken = select(&offered, &limits, sequence).taken;
        assert_eq!(taken.len(), 245);
        always_left_out.retain(|index| !taken.contains(index));
    }
    assert!(always_left_out.is_empty(), "{always_left_out:?}");
}

#[test]
fn a_ledger_of_mainnet_admits_219_fee_bumped_payments() {
    let crowd = crowd(230, LimitsProfile::Mainnet);
    let sponsor = crowd.scene.network.account("paymaster", 100_000 * LUMEN);
    for index in 0..230 {
        let inner = crowd.payment(index, 100);
        let fee = match &inner {
            TransactionEnvelope::Tx(envelope) => i64::from(envelope.tx.fee) + 100,
            other => panic!("{other:?}"),
        };
        let envelope = crowd.scene.network.bump(inner, &sponsor, fee);
        assert_eq!(crowd.space(envelope.clone()).bytes, u64::from(TRANSFER_BYTES) + 128);
        crowd.submit(envelope);
    }
    assert_eq!(crowd.close(), 219);
    assert_eq!(crowd.close(), 11);
}

#[test]
fn in_a_full_ledger_the_highest_bids_get_in_and_all_pay_the_lowest_of_them() {
    // Testnet: 250 written entries, of which a payment needs three.
    let crowd = crowd(87, LimitsProfile::Testnet);
    for index in 0..87 {
        crowd.submit(crowd.payment(index, 200 + index as u32));
    }
    assert_eq!(crowd.close(), 83);
    let ledger = crowd.scene.network.node.state().ledger.clone();
    assert!(ledger.transactions.iter().all(|record| record.inclusion_fee() == 204));
    let LedgerCloseMeta::V2(meta) = &ledger.meta else { panic!("version 2") };
    let GeneralizedTransactionSet::V1(set) = &meta.tx_set;
    let TransactionPhase::V1(soroban) = &set.phases[1] else { panic!("the second phase is Soroban's") };
    assert_eq!(soroban.base_fee, Some(204));
    // With room again the rest pays the usual fee, whatever it bids.
    assert_eq!(crowd.close(), 4);
    let ledger = crowd.scene.network.node.state().ledger.clone();
    assert!(ledger.transactions.iter().all(|record| record.inclusion_fee() == 100));
}

#[test]
fn a_queue_of_two_ledgers_lets_a_higher_bid_in_for_the_lowest() {
    let crowd = crowd(169, LimitsProfile::Testnet);
    let cheapest = crowd.payment(0, 150);
    crowd.submit(cheapest.clone());
    for index in 1..166 {
        crowd.submit(crowd.payment(index, 200));
    }
    let low = crowd.payment(166, 150);
    let resource_fee = match &low {
        TransactionEnvelope::Tx(envelope) => i64::from(envelope.tx.fee) - 150,
        other => panic!("{other:?}"),
    };
    let refused = crowd.scene.network.submit(low.clone());
    assert_eq!(quoted_fee(refused.clone()), resource_fee + 151);
    assert_eq!(refusal(refused), Code::TxInsufficientFee);
    let again = crowd.scene.network.submit(low);
    assert!(matches!(again, Submission::TryAgainLater), "it is not looked at for a while: {again:?}");
    crowd.submit(crowd.payment(167, 200));
    let evicted = crowd.scene.network.submit(cheapest);
    assert!(matches!(evicted, Submission::TryAgainLater), "the lowest bid had to go: {evicted:?}");
    assert_eq!(refusal(crowd.scene.network.submit(crowd.payment(168, 200))), Code::TxInsufficientFee);
    assert_eq!((crowd.close(), crowd.close(), crowd.close()), (83, 83, 0));
}

#[test]
fn instructions_are_limited_for_those_that_depend_on_each_other_and_for_all_clusters_together() {
    // Mainnet: two clusters of 580 million instructions, 400 million for one transaction.
    let crowd = crowd(6, LimitsProfile::Mainnet);
    let heavy = |index: usize, depends: bool| {
        let TransactionEnvelope::Tx(mut envelope) = crowd.payment(index, 100) else { panic!("not a bump") };
        let TransactionExt::V1(data) = &mut envelope.tx.ext else { panic!("it has resource data") };
        data.resources.instructions = 300_000_000;
        data.resource_fee += 1_000_000;
        if !depends {
            // Reading what nobody writes leaves it alone in its group; it will fail, which is no matter here.
            data.resources.footprint.read_write = VecM::default();
        }
        envelope.tx.fee += 1_000_000;
        crowd.scene.network.sign(envelope.tx, &[&crowd.relayers[index]])
    };
    let taken = || {
        crowd.scene.network.close();
        crowd.scene.network.node.state().ledger.transactions.len()
    };
    for index in 0..3 {
        crowd.submit(heavy(index, true));
    }
    assert_eq!((taken(), taken(), taken()), (1, 1, 1), "all pay the same payee");
    for index in 3..6 {
        crowd.submit(heavy(index, false));
    }
    assert_eq!((taken(), taken()), (2, 1), "one for each cluster");
    let previous = crowd.scene.network.node.state().ledger.sequence - 1;
    let ledger = crowd.scene.network.node.history().ledger(previous).unwrap();
    let LedgerCloseMeta::V2(meta) = &ledger.meta else { panic!("version 2") };
    let GeneralizedTransactionSet::V1(set) = &meta.tx_set;
    let TransactionPhase::V1(soroban) = &set.phases[1] else { panic!("the second phase is Soroban's") };
    assert_eq!(soroban.execution_stages[0].0.len(), 2);
}

#[test]
fn classic_operations_have_a_limit_of_their_own() {
    let crowd = crowd(12, LimitsProfile::Mainnet);
    for relayer in &crowd.relayers {
        let pays = (0..100).map(|_| payment(&crowd.scene.payee, &Asset::Native, 1)).collect();
        let tx = crowd.scene.network.tx(relayer, pays);
        crowd.submit(crowd.scene.network.sign(tx, &[relayer]));
    }
    assert_eq!((crowd.close(), crowd.close()), (10, 2));
}

#[test]
fn nobody_gets_in_for_what_just_had_to_go_until_a_ledger_closes() {
    let crowd = crowd(22, LimitsProfile::Mainnet);
    let pays = |index: usize, operations: usize, fee: u32| {
        let bodies = (0..operations).map(|_| payment(&crowd.scene.payee, &Asset::Native, 1)).collect();
        let mut tx = crowd.scene.network.tx(&crowd.relayers[index], bodies);
        tx.fee = fee;
        crowd.scene.network.sign(tx, &[&crowd.relayers[index]])
    };
    crowd.submit(pays(0, 100, 11_000));
    for index in 1..20 {
        crowd.submit(pays(index, 100, 20_000));
    }
    // One operation more than the queue holds: a hundred have to go, and 99 places are free.
    crowd.submit(pays(20, 1, 200));
    let refused = crowd.scene.network.submit(pays(21, 1, 110));
    assert_eq!(quoted_fee(refused.clone()), 111);
    assert_eq!(refusal(refused), Code::TxInsufficientFee);
    crowd.scene.network.close();
    crowd.submit(pays(21, 1, 109));
}
