//! The journal: the same ledgers after every start, whatever the end of the last one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use farebox_devnet::node::Node;
use farebox_devnet::options::{LimitsProfile, NodeOptions};
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::*;

use crate::support::*;

/// A file of its own that is gone when the test ends.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("farebox-journal-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        Place(path)
    }

    fn options(&self) -> NodeOptions {
        NodeOptions { journal: Some(self.0.clone()), ..options() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn hashes(network: &Network) -> Vec<[u8; 32]> {
    let history = network.node.history();
    (1..=history.latest().sequence).map(|sequence| history.ledger(sequence).unwrap().hash).collect()
}

/// Why a network cannot start from this file.
fn refusal_to_open(options: NodeOptions) -> String {
    match Node::open(options) {
        Ok(_) => panic!("the journal should be refused"),
        Err(error) => format!("{error:#}"),
    }
}

fn append(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn the_same_ledgers_are_there_after_a_start_and_the_chain_goes_on() {
    let place = Place::new("same");
    let scene = scene_with(place.options());
    let paid = scene.network.settle(scene.payment_envelope(5));
    scene.network.archive(&instance_key(scene.contract));
    scene.network.runtime.block_on(scene.network.node.skip(3_600_000, 2));
    let foreign = scene.network.sign(
        scene.network.tx(&scene.payer, vec![payment(&scene.payee, &Asset::Native, 7)]),
        &[&scene.payer],
    );
    scene.network.runtime.block_on(scene.network.node.land(foreign.clone())).expect("it is valid");
    scene.network.close();
    let waits = scene.network.sign(
        scene.network.tx(&scene.relayer, vec![payment(&scene.payee, &Asset::Native, 9)]),
        &[&scene.relayer],
    );
    assert!(matches!(scene.network.submit(waits.clone()), Submission::Pending));
    let (before, payee) = (hashes(&scene.network), scene.network.balance(&scene.payee));
    let closed_at = scene.network.node.state().ledger.close_time_ms;
    drop(scene);

    let again = network_with(place.options());
    assert_eq!(hashes(&again), before);
    assert_eq!(again.balance(&key("payee")), payee);
    let record = again.node.history().transaction(&paid.hash).expect("history is there too");
    assert_eq!((record.ledger, &record.result), (paid.ledger, &paid.result));
    assert!(again.node.history().transaction(&again.hash(&foreign)).is_some());
    assert!(matches!(again.submit(waits.clone()), Submission::Duplicate), "what waited waits again");
    again.close();
    assert!(again.node.history().transaction(&again.hash(&waits)).is_some());
    let ledger = again.node.state().ledger.clone();
    assert!(ledger.close_time_ms > closed_at && ledger.close_time_ms < closed_at + 600_000);
    let (before, longer) = (hashes(&again), before.len() + 1);
    drop(again);
    assert_eq!(before.len(), longer);
    assert_eq!(hashes(&network_with(place.options())), before);
}

#[test]
fn a_damaged_tail_is_cut_off_and_the_rest_is_there() {
    let place = Place::new("tail");
    let first = network_with(place.options());
    first.account("account", 100 * LUMEN);
    first.close_many(3);
    let before = hashes(&first);
    drop(first);
    let sound = fs::read(&place.0).unwrap();
    for tail in [&b"0123"[..], b"\xff\xfe\n", b"0000000000000000 {}\nmore"] {
        append(&place.0, tail);
        assert_eq!(hashes(&network_with(place.options())), before);
        assert_eq!(fs::read(&place.0).unwrap(), sound, "only the tail is gone");
    }
    fs::write(&place.0, &sound[..sound.len() - 1]).unwrap();
    let shorter = network_with(place.options());
    assert_eq!(hashes(&shorter), before[..before.len() - 1], "a line without its end is not there yet");
}

#[test]
fn a_journal_that_is_not_this_networks_is_refused() {
    let place = Place::new("refused");
    drop(network_with(place.options()));
    let others = [
        NodeOptions { limits: LimitsProfile::Testnet, ..place.options() },
        NodeOptions { passphrase: "Another".to_owned(), ..place.options() },
    ];
    for other in others {
        assert!(refusal_to_open(other).contains("another network"));
    }
    fs::write(&place.0, "dear diary\n").unwrap();
    assert!(refusal_to_open(place.options()).contains("is not a journal"));
    assert_eq!(fs::read(&place.0).unwrap(), b"dear diary\n", "somebody's file stays as it is");
    let folder = NodeOptions { journal: Some(std::env::temp_dir()), ..options() };
    assert!(refusal_to_open(folder).contains("cannot be opened"));
}

#[test]
fn damage_in_the_middle_is_refused() {
    let place = Place::new("middle");
    let network = network_with(place.options());
    network.close_many(3);
    drop(network);
    let mut bytes = fs::read(&place.0).unwrap();
    let second_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[second_line] ^= 1;
    fs::write(&place.0, &bytes).unwrap();
    assert!(refusal_to_open(place.options()).contains("line 2 is damaged"));
    assert_eq!(fs::read(&place.0).unwrap(), bytes);
}
