//! What `sendTransaction` answers while a transaction waits, and after.

use crate::support::*;
use farebox_devnet::options::{CloseMode, NodeOptions};
use farebox_devnet::queue::Queue;
use farebox_devnet::record::LedgerState;
use farebox_devnet::submission::Submission;
use farebox_devnet::transaction::Frame;
use farebox_devnet::validation::Against;
use farebox_devnet::xdr::TransactionResultResult as Code;
use farebox_devnet::xdr::*;

fn payments(network: &Network) -> (ed25519_dalek::SigningKey, ed25519_dalek::SigningKey) {
    (network.account("first", 100 * LUMEN), network.account("second", 100 * LUMEN))
}

#[test]
fn the_same_envelope_is_a_duplicate_while_it_waits_banned_once_applied_and_a_used_sequence_after() {
    let network = network();
    let (first, second) = payments(&network);
    let envelope = network.sign(network.tx(&first, vec![payment(&second, &Asset::Native, 1)]), &[&first]);
    assert!(matches!(network.submit(envelope.clone()), Submission::Pending));
    assert!(matches!(network.submit(envelope.clone()), Submission::Duplicate));
    for _ in 0..9 {
        network.close();
        assert!(matches!(network.submit(envelope.clone()), Submission::TryAgainLater));
    }
    network.close();
    assert_eq!(refusal(network.submit(envelope)), Code::TxBadSeq);
}

#[test]
fn an_applied_fee_bump_is_banned_by_its_own_hash_and_not_by_the_inner_one() {
    let network = network();
    let (first, second) = payments(&network);
    let inner = network.sign(network.tx(&first, vec![payment(&second, &Asset::Native, 1)]), &[&first]);
    let bump = network.bump(inner.clone(), &second, 400);
    assert!(matches!(network.submit(bump.clone()), Submission::Pending));
    network.close();
    assert!(matches!(network.submit(bump), Submission::TryAgainLater));
    assert_eq!(refusal(network.submit(inner)), Code::TxBadSeq);
}

#[test]
fn what_waits_leaves_without_a_ban_when_another_transaction_uses_its_sequence_number() {
    let network = network();
    let (first, second) = payments(&network);
    let pay =
        |amount| network.sign(network.tx(&first, vec![payment(&second, &Asset::Native, amount)]), &[&first]);
    let (ours, foreign) = (pay(1), pay(2));
    assert!(matches!(network.submit(ours.clone()), Submission::Pending));
    network.runtime.block_on(network.node.land(foreign.clone())).unwrap();
    network.close();
    assert!(network.node.history().transaction(&network.hash(&foreign)).is_some());
    assert_eq!(refusal(network.submit(ours)), Code::TxBadSeq);
}

/// Valid until so many seconds after the latest ledger closed.
fn valid_for(network: &Network, seconds: u64) -> Preconditions {
    let max_time = TimePoint(network.node.state().ledger.close_time_s() + seconds);
    Preconditions::Time(TimeBounds { min_time: TimePoint(0), max_time })
}

#[test]
fn a_close_drops_and_bans_what_has_less_than_two_ledgers_of_time_left() {
    let network = network();
    let (first, second) = payments(&network);
    let pay = |source, seconds| {
        let mut tx = network.tx(source, vec![payment(&second, &Asset::Native, 1)]);
        tx.cond = valid_for(&network, seconds);
        network.sign(tx, &[source])
    };
    let (short, long) = (pay(&first, 40), pay(&second, 60));
    assert!(matches!(network.submit(short.clone()), Submission::Pending));
    assert!(matches!(network.submit(long.clone()), Submission::Pending));
    // Ten seconds are two ledgers of this network: 35 + 10 is past the one bound and not past the other.
    network.runtime.block_on(network.node.skip(35_000, 1));
    assert!(matches!(network.submit(short.clone()), Submission::TryAgainLater));
    assert!(matches!(network.submit(long.clone()), Submission::Duplicate));
    network.close();
    assert!(network.node.history().transaction(&network.hash(&short)).is_none());
    assert!(network.node.history().transaction(&network.hash(&long)).is_some());
}

#[test]
fn a_faster_network_asks_for_two_of_its_own_ledgers_of_time() {
    let answer = |close| {
        let network = network_with(NodeOptions { close, ..options() });
        let root = network.root();
        let mut tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
        tx.cond = valid_for(&network, 7);
        network.submit(network.sign(tx, &[&root]))
    };
    assert_eq!(refusal(answer(CloseMode::Manual)), Code::TxTooLate);
    assert!(matches!(answer(CloseMode::EveryMs(1_000)), Submission::Pending));
}

#[test]
fn what_the_fee_source_can_no_longer_pay_for_is_dropped() {
    let network = network();
    let (first, second) = payments(&network);
    let payer = network.account("payer", 20 * LUMEN);
    let tx = network.tx(&first, vec![payment(&second, &Asset::Native, 1)]);
    let bump = network.bump(network.sign(tx, &[&first]), &payer, 10 * LUMEN);
    let frame = Frame::read(bump, network.node.network_id()).unwrap();
    let rich = network.node.state();
    let spend = network.tx(&payer, vec![payment(&second, &Asset::Native, 10 * LUMEN)]);
    assert!(matches!(network.submit(network.sign(spend, &[&payer])), Submission::Pending));
    network.close();
    let poor = network.node.state();
    let mut queue = Queue::default();
    let now_s = poor.ledger.close_time_s();
    assert!(matches!(queue.offer(frame, &against(&rich, now_s)), Submission::Pending));
    queue.drop_invalid(&against(&rich, now_s));
    assert_eq!(queue.len(), 1);
    queue.drop_invalid(&against(&poor, now_s));
    assert!(queue.is_empty());
}

#[test]
fn a_second_transaction_of_the_source_has_to_wait() {
    let network = network();
    let (first, second) = payments(&network);
    let pay = |amount, ahead| {
        let mut tx = network.tx(&first, vec![payment(&second, &Asset::Native, amount)]);
        tx.seq_num.0 += ahead;
        network.sign(tx, &[&first])
    };
    assert!(matches!(network.submit(pay(1, 0)), Submission::Pending));
    assert!(matches!(network.submit(pay(2, 0)), Submission::TryAgainLater));
    assert!(matches!(network.submit(pay(2, 1)), Submission::TryAgainLater));
    assert_eq!(refusal(network.submit(pay(2, -1))), Code::TxBadSeq);
    network.close();
    assert!(matches!(network.submit(pay(2, 0)), Submission::Pending));
}

#[test]
fn classic_and_soroban_share_the_one_place_of_a_source() {
    let scene = scene();
    let network = &scene.network;
    let soroban = scene.payment_envelope(5);
    let classic = network
        .sign(network.tx(&scene.relayer, vec![payment(&scene.payee, &Asset::Native, 1)]), &[&scene.relayer]);
    assert!(matches!(network.submit(classic), Submission::Pending));
    assert!(matches!(network.submit(soroban.clone()), Submission::TryAgainLater));
    network.close();
    let soroban_again = scene.payment_envelope(5);
    assert!(matches!(network.submit(soroban_again), Submission::Pending));
    assert!(matches!(
        network.submit(network.sign(
            network.tx(&scene.relayer, vec![payment(&scene.payee, &Asset::Native, 1)]),
            &[&scene.relayer]
        )),
        Submission::TryAgainLater
    ));
}

#[test]
fn a_soroban_transaction_over_the_limits_is_refused_before_it_is_told_to_wait() {
    let scene = scene();
    let network = &scene.network;
    let TransactionEnvelope::Tx(envelope) = scene.payment_envelope(5) else { panic!("not a fee bump") };
    assert!(matches!(network.submit(TransactionEnvelope::Tx(envelope.clone())), Submission::Pending));
    let mut tx = envelope.tx;
    let TransactionExt::V1(data) = &mut tx.ext else { panic!("it has resource data") };
    data.resources.instructions = 400_000_001;
    assert_eq!(refusal(network.submit(network.sign(tx, &[&scene.relayer]))), Code::TxSorobanInvalid);
}

#[test]
fn only_a_fee_bump_with_ten_times_the_bid_takes_a_place() {
    let network = network();
    let (first, second) = payments(&network);
    let inner = network.sign(network.tx(&first, vec![payment(&second, &Asset::Native, 1)]), &[&first]);
    assert!(matches!(network.submit(inner.clone()), Submission::Pending));
    // The bump counts two operations, so ten times the rate is 2,000 stroops.
    let cheap = network.submit(network.bump(inner.clone(), &second, 1_999));
    assert_eq!(quoted_fee(cheap.clone()), 2_000);
    assert_eq!(refusal(cheap), Code::TxInsufficientFee);
    let mut later = network.tx(&first, vec![payment(&second, &Asset::Native, 1)]);
    later.seq_num.0 += 1;
    let later = network.bump(network.sign(later, &[&first]), &second, 1_000_000);
    assert!(matches!(network.submit(later), Submission::TryAgainLater));
    let bump = network.bump(inner.clone(), &second, 2_000);
    assert!(matches!(network.submit(bump.clone()), Submission::Pending));
    assert!(matches!(network.submit(bump.clone()), Submission::Duplicate));
    assert!(matches!(network.submit(inner.clone()), Submission::Duplicate), "the bump wraps this very one");
    network.close();
    assert!(network.node.history().transaction(&network.hash(&bump)).is_some());
    assert_eq!(network.balance(&second), 100 * LUMEN + 1 - 200);
}

#[test]
fn a_payer_cannot_promise_more_than_it_has() {
    let network = network();
    let (first, second) = payments(&network);
    let payer = network.account("payer", 2 * LUMEN);
    let bump = |source, fee| {
        let tx = network.tx(source, vec![payment(&network.root(), &Asset::Native, 1)]);
        network.bump(network.sign(tx, &[source]), &payer, fee)
    };
    // One lumen is above the reserve.
    assert!(matches!(network.submit(bump(&first, LUMEN - 400)), Submission::Pending));
    assert_eq!(refusal(network.submit(bump(&second, 401))), Code::TxInsufficientBalance);
    assert!(matches!(network.submit(bump(&second, 400)), Submission::Pending));
}

/// The ledger a queue is asked against, as the chain itself would state it.
fn against(state: &LedgerState, close_time_s: u64) -> Against<'_> {
    Against {
        ledger: &state.entries,
        config: &state.config,
        limits: &state.limits,
        sequence: state.ledger.sequence + 1,
        close_time_s,
        time_to_spare_s: 0,
        takes_fee: true,
    }
}

fn frame(network: &Network, cond: Preconditions) -> Frame {
    let root = network.root();
    let mut tx = network.tx(&root, vec![payment(&root, &Asset::Native, 1)]);
    tx.cond = cond;
    Frame::read(network.sign(tx, &[&root]), network.node.network_id()).unwrap()
}

#[test]
fn one_that_stops_being_valid_is_dropped_and_not_looked_at_for_ten_ledgers() {
    let network = network();
    let state = network.node.state();
    let until = Preconditions::Time(TimeBounds { min_time: TimePoint(0), max_time: TimePoint(1_000) });
    let frame = frame(&network, until);
    let mut queue = Queue::default();
    assert!(matches!(queue.offer(frame.clone(), &against(&state, 1_000)), Submission::Pending));
    assert!(queue.take(&against(&state, 1_001), &[]).frames.is_empty());
    for _ in 0..10 {
        assert!(matches!(queue.offer(frame.clone(), &against(&state, 1_000)), Submission::TryAgainLater));
        queue.ledger_closed(&[]);
    }
    assert!(matches!(queue.offer(frame, &against(&state, 1_000)), Submission::Pending));
}

#[test]
fn one_that_waits_for_four_ledgers_is_dropped_and_not_looked_at_for_ten() {
    let network = network();
    let state = network.node.state();
    let frame = frame(&network, Preconditions::None);
    let mut queue = Queue::default();
    assert!(matches!(queue.offer(frame.clone(), &against(&state, 1)), Submission::Pending));
    for _ in 0..3 {
        queue.ledger_closed(&[]);
        assert_eq!(queue.len(), 1);
    }
    queue.ledger_closed(&[]);
    assert!(queue.is_empty());
    for _ in 0..10 {
        assert!(matches!(queue.offer(frame.clone(), &against(&state, 1)), Submission::TryAgainLater));
        queue.ledger_closed(&[]);
    }
    assert!(matches!(queue.offer(frame, &against(&state, 1)), Submission::Pending));
}
