//! Ledgers as a chain: headers, clocks, history, and the XDR of everything that is served.

use std::time::Duration;

use farebox_devnet::codec::{decode, encode, hash_of};
use farebox_devnet::options::{CloseMode, HeaderForm, NodeOptions};
use farebox_devnet::xdr::*;

use crate::support::*;

#[test]
fn every_header_names_the_one_before_it_and_what_it_took_in() {
    let scene = scene();
    scene.network.close_many(60);
    let history = scene.network.node.history();
    let latest = history.latest().sequence;
    for sequence in 2..=latest {
        let (before, ledger) = (history.ledger(sequence - 1).unwrap(), history.ledger(sequence).unwrap());
        assert_eq!(ledger.header.previous_ledger_hash.0, before.hash);
        assert_eq!(ledger.hash, hash_of(&ledger.header));
        assert_eq!(ledger.header.ledger_seq, sequence);
        assert!(ledger.close_time_ms > before.close_time_ms);
        let LedgerCloseMeta::V2(meta) = &ledger.meta else { panic!("version 2") };
        assert_eq!(meta.ledger_header, ledger.header_entry());
        assert_eq!(ledger.header.scp_value.tx_set_hash.0, hash_of(&meta.tx_set));
        let results = meta.tx_processing.iter().map(|one| one.result.clone()).collect::<Vec<_>>();
        let results = TransactionResultSet { results: results.try_into().unwrap() };
        assert_eq!(ledger.header.tx_set_result_hash.0, hash_of(&results));
    }
    assert_ne!(history.ledger(latest).unwrap().header.skip_list[0], Hash([0; 32]));
}

#[test]
fn a_header_states_its_time_in_the_form_that_was_asked_for() {
    for (form, is_ms) in [(HeaderForm::Ms, true), (HeaderForm::Seconds, false)] {
        let network = network_with(NodeOptions { header: form, ..options() });
        network.close();
        let ledger = network.node.state().ledger.clone();
        let value = &ledger.header.scp_value;
        assert_eq!(value.close_time.0, ledger.close_time_ms / 1000);
        match &value.ext {
            StellarValueExt::SignedMs(signed) => {
                assert!(is_ms);
                assert_eq!(signed.close_time_ms.0, ledger.close_time_ms);
            }
            StellarValueExt::Signed(_) => assert!(!is_ms),
            other => panic!("{other:?}"),
        }
        assert_eq!(ledger.header.ledger_version, 30);
    }
}

#[test]
fn a_clock_closes_ledgers_and_tells_of_each() {
    let network = network_with(NodeOptions { close: CloseMode::EveryMs(20), ..options() });
    let mut closed = network.node.closed();
    let reached = network.runtime.block_on(async {
        let wait = closed.wait_for(|sequence| *sequence >= 10);
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the clock runs").map(|seen| *seen)
    });
    let reached = reached.unwrap();
    let history = network.node.history();
    for sequence in 2..=reached {
        let (before, after) = (history.ledger(sequence - 1).unwrap(), history.ledger(sequence).unwrap());
        assert!(after.close_time_s() >= before.close_time_s(), "seconds never go back");
    }
}

#[test]
fn history_forgets_what_falls_out_of_its_window() {
    let network = network_with(NodeOptions { retention_ledgers: 5, ..options() });
    let account = network.account("account", 100 * LUMEN);
    let record = network.run(&account, vec![payment(&network.root(), &Asset::Native, 1)]);
    assert!(network.node.history().transaction(&record.hash).is_some());
    let latest = network.close_many(5);
    let history = network.node.history();
    assert!(history.transaction(&record.hash).is_none());
    assert!(history.ledger(record.ledger).is_none());
    assert_eq!(history.oldest().sequence, latest - 4);
    assert_eq!(history.latest().sequence, latest);
    assert!(history.ledger(latest + 1).is_none());
}

#[test]
fn transactions_of_one_ledger_are_numbered_from_one_classic_first() {
    let scene = scene();
    let network = &scene.network;
    let soroban = scene.payment_envelope(5);
    let accounts: Vec<_> = (0..5).map(|index| network.account(&format!("a{index}"), 10 * LUMEN)).collect();
    network.submit(soroban);
    for account in &accounts {
        let tx = network.tx(account, vec![payment(&network.root(), &Asset::Native, 1)]);
        network.submit(network.sign(tx, &[account]));
    }
    network.close();
    let ledger = network.node.state().ledger.clone();
    let orders: Vec<_> = ledger.transactions.iter().map(|record| record.application_order).collect();
    assert_eq!(orders, [1, 2, 3, 4, 5, 6]);
    let kinds: Vec<_> = ledger.transactions.iter().map(|record| record.is_soroban).collect();
    assert_eq!(kinds, [false, false, false, false, false, true]);
}

#[test]
fn everything_that_is_served_survives_a_round_trip() {
    fn same<T: ReadXdr + WriteXdr + PartialEq + std::fmt::Debug>(value: &T) {
        let bytes = encode(value);
        let read: T = decode(&bytes).expect("what is served can be read within bounds");
        assert_eq!(read, *value);
        assert_eq!(encode(&read), bytes);
    }
    let scene = scene();
    let network = &scene.network;
    let sponsor = network.account("sponsor", 100 * LUMEN);
    network.settle(network.bump(scene.payment_envelope(5), &sponsor, 1_000_000));
    network.run(&scene.payee, vec![payment(&scene.payer, &scene.asset, 1_000 * LUMEN)]);
    let history = network.node.history();
    for sequence in 1..=history.latest().sequence {
        let ledger = history.ledger(sequence).unwrap();
        same(&ledger.meta);
        same(&ledger.header);
        same(&ledger.header_entry());
        for record in &ledger.transactions {
            same(&record.envelope);
            same(&record.result);
            same(&record.meta);
        }
    }
}

#[test]
fn injected_entries_are_there_in_the_next_ledger() {
    let network = network();
    let before = network.node.state().ledger.sequence;
    let newcomer = key("newcomer");
    let account = farebox_devnet::accounts::new_account(id(&newcomer), 55 * LUMEN, before);
    let sequence = network.inject(vec![LedgerEntry {
        last_modified_ledger_seq: 0,
        data: LedgerEntryData::Account(account),
        ext: LedgerEntryExt::V0,
    }]);
    assert_eq!(sequence, before + 1);
    assert_eq!(network.balance(&newcomer), 55 * LUMEN);
    assert!(network.run(&newcomer, vec![payment(&network.root(), &Asset::Native, 1)]).is_successful());
}

#[test]
fn a_passphrase_names_the_network_and_its_root() {
    let network = network_with(NodeOptions { passphrase: "another".to_owned(), ..options() });
    assert_eq!(network.node.passphrase(), "another");
    assert_eq!(network.node.network_id(), farebox_devnet::codec::sha256(b"another"));
    assert_eq!(network.balance(&network.root()), farebox_devnet::header::TOTAL_COINS);
}
