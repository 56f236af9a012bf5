//! Reserves that somebody else pays, and accounts that are merged away.

use ed25519_dalek::SigningKey;
use farebox_devnet::accounts::{BASE_RESERVE, account_key, find_account, starting_sequence, trustline_key};
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::xdr::TransactionResultResult as Code;
use farebox_devnet::xdr::*;

use crate::support::*;

const RESERVE: i64 = BASE_RESERVE as i64;

fn begin(sponsor: &SigningKey, sponsored: &SigningKey) -> Operation {
    let op = BeginSponsoringFutureReservesOp { sponsored_id: id(sponsored) };
    operation_from(sponsor, OperationBody::BeginSponsoringFutureReserves(op))
}

fn end(sponsored: &SigningKey) -> Operation {
    operation_from(sponsored, OperationBody::EndSponsoringFutureReserves)
}

fn merge(source: &SigningKey, destination: &SigningKey) -> Operation {
    operation_from(source, OperationBody::AccountMerge(muxed(destination)))
}

fn signer(key: &SigningKey, weight: u32) -> OperationBody {
    let key = SignerKey::Ed25519(Uint256(key.verifying_key().to_bytes()));
    OperationBody::SetOptions(SetOptionsOp { signer: Some(Signer { key, weight }), ..no_options() })
}

fn settle(
    network: &Network,
    source: &SigningKey,
    operations: Vec<Operation>,
    signers: &[&SigningKey],
) -> std::sync::Arc<TransactionRecord> {
    let tx = transaction(source, network.sequence(source) + 1, operations);
    network.settle(network.sign(tx, signers))
}

/// What the account pays for others, and what others pay for it.
fn counts(network: &Network, key: &SigningKey) -> (u32, u32) {
    let account = find_account(&network.node.state().entries, &id(key)).expect("the account exists");
    match farebox_devnet::accounts::extension_v2(&account) {
        Some(extension) => (extension.num_sponsoring, extension.num_sponsored),
        None => (0, 0),
    }
}

fn sponsor_of(network: &Network, key: &LedgerKey) -> Option<AccountId> {
    let (entry, _) = network.node.state().entries.get(key).expect("the entry exists");
    match &entry.ext {
        LedgerEntryExt::V1(extension) => extension.sponsoring_id.0.clone(),
        LedgerEntryExt::V0 => None,
    }
}

fn create_sponsored(sponsor: &SigningKey, created: &[SigningKey]) -> Vec<Operation> {
    let one = |key| [begin(sponsor, key), operation_from(sponsor, create(key, 0)), end(key)];
    created.iter().flat_map(one).collect()
}

#[test]
fn nineteen_accounts_without_a_lumen_are_made_and_merged_with_twenty_signatures() {
    let network = network();
    let sponsor = network.account("sponsor", 100 * LUMEN);
    let channels: Vec<_> = (0..19).map(|index| key(&format!("channel {index}"))).collect();
    let everybody: Vec<_> = std::iter::once(&sponsor).chain(&channels).collect();
    let made = settle(&network, &sponsor, create_sponsored(&sponsor, &channels), &everybody);
    assert!(made.is_successful(), "{:?}", made.result);
    assert_eq!(counts(&network, &sponsor), (38, 0));
    for channel in &channels {
        assert_eq!((network.balance(channel), counts(&network, channel)), (0, (0, 2)));
        assert_eq!(network.sequence(channel), starting_sequence(made.ledger));
        assert_eq!(sponsor_of(&network, &account_key(&id(channel))), Some(id(&sponsor)));
    }
    let before = network.balance(&sponsor);
    let merges = channels.iter().map(|channel| merge(channel, &sponsor)).collect();
    let merged = settle(&network, &sponsor, merges, &everybody);
    assert!(merged.is_successful(), "{:?}", merged.result);
    assert_eq!(counts(&network, &sponsor), (0, 0));
    assert_eq!(network.balance(&sponsor), before - 1_900);
    let state = network.node.state();
    assert!(channels.iter().all(|channel| find_account(&state.entries, &id(channel)).is_none()));
}

#[test]
fn a_sponsored_account_without_a_lumen_sends_what_somebody_else_pays() {
    let network = network();
    let sponsor = network.account("sponsor", 100 * LUMEN);
    let channel = key("channel");
    settle(&network, &sponsor, create_sponsored(&sponsor, &[key("channel")]), &[&sponsor, &channel]);
    let tx = transaction(
        &channel,
        network.sequence(&channel) + 1,
        vec![operation_from(&sponsor, payment(&network.root(), &Asset::Native, 1))],
    );
    let inner = network.sign(tx, &[&channel, &sponsor]);
    let sent = network.settle(network.bump(inner, &sponsor, 400));
    assert!(sent.is_successful(), "{:?}", sent.result);
    assert_eq!(counts(&network, &channel), (0, 2), "moving the sequence keeps the counts");
}

#[test]
fn a_sponsor_needs_the_reserve_it_takes_on() {
    let network = network();
    let sponsor = network.account("sponsor", 2 * RESERVE + 2 * RESERVE + 299);
    let channel = key("channel");
    let operations = create_sponsored(&sponsor, std::slice::from_ref(&channel));
    let refused = settle(&network, &sponsor, operations, &[&sponsor, &channel]);
    let results = operation_results(&refused.result);
    let low = OperationResultTr::CreateAccount(CreateAccountResult::LowReserve);
    assert_eq!(results[1], OperationResult::OpInner(low));
    assert_eq!(counts(&network, &sponsor), (0, 0));
}

#[test]
fn trustlines_and_signers_can_be_sponsored_and_give_the_reserve_back() {
    let network = network();
    let [issuer, sponsor] = ["issuer", "sponsor"].map(|name| network.account(name, 100 * LUMEN));
    // Nothing above its own reserve: what it adds must be paid by the sponsor.
    let poor = network.account("poor", 2 * RESERVE);
    let asset = credit("USDC", &issuer);
    let adds = |bodies: Vec<OperationBody>| {
        let mut operations = vec![begin(&sponsor, &poor)];
        operations.extend(bodies.into_iter().map(|body| operation_from(&poor, body)));
        operations.push(end(&poor));
        settle(&network, &sponsor, operations, &[&sponsor, &poor])
    };
    let added = adds(vec![trust(&asset, 100), signer(&key("helper"), 1)]);
    assert!(added.is_successful(), "{:?}", added.result);
    assert_eq!((counts(&network, &sponsor), counts(&network, &poor)), ((2, 0), (0, 2)));
    assert_eq!(sponsor_of(&network, &trustline_key(&id(&poor), &asset)), Some(id(&sponsor)));
    let account = find_account(&network.node.state().entries, &id(&poor)).unwrap();
    let sponsors = &farebox_devnet::accounts::extension_v2(&account).unwrap().signer_sponsoring_i_ds;
    assert_eq!(sponsors.to_vec(), [SponsorshipDescriptor(Some(id(&sponsor)))]);
    let removals = [trust(&asset, 0), signer(&key("helper"), 0)].map(|body| operation_from(&poor, body));
    let removed = settle(&network, &sponsor, removals.to_vec(), &[&sponsor, &poor]);
    assert!(removed.is_successful(), "{:?}", removed.result);
    assert_eq!((counts(&network, &sponsor), counts(&network, &poor)), ((0, 0), (0, 0)));
}

#[test]
fn a_sponsorship_that_is_not_ended_undoes_the_transaction() {
    let network = network();
    let [sponsor, other] = ["sponsor", "other"].map(|name| network.account(name, 100 * LUMEN));
    let pays = operation_from(&sponsor, payment(&other, &Asset::Native, LUMEN));
    let open = settle(&network, &sponsor, vec![begin(&sponsor, &other), pays], &[&sponsor]);
    assert_eq!(open.result.result, Code::TxBadSponsorship);
    assert_eq!(network.balance(&other), 100 * LUMEN);
    let unopened = settle(&network, &other, vec![end(&other)], &[&other]);
    let expected = EndSponsoringFutureReservesResult::NotSponsored;
    assert_eq!(only_result(&unopened), OperationResultTr::EndSponsoringFutureReserves(expected));
}

#[test]
fn a_merge_is_refused_with_the_reason() {
    let network = network();
    let [sponsor, other] = ["sponsor", "other"].map(|name| network.account(name, 100 * LUMEN));
    let asset = credit("USDC", &sponsor);
    let refused = |source: &SigningKey, operations: Vec<Operation>, signers: &[&SigningKey]| {
        let record = settle(&network, source, operations, signers);
        match operation_results(&record.result).last() {
            Some(OperationResult::OpInner(OperationResultTr::AccountMerge(code))) => code.clone(),
            found => panic!("{found:?} is not the result of a merge"),
        }
    };
    let to_nobody = refused(&other, vec![merge(&other, &key("nobody"))], &[&other]);
    assert_eq!(to_nobody, AccountMergeResult::NoAccount);
    let channel = key("channel");
    settle(&network, &sponsor, create_sponsored(&sponsor, &[key("channel")]), &[&sponsor, &channel]);
    let as_sponsor = refused(&sponsor, vec![merge(&sponsor, &other)], &[&sponsor]);
    assert_eq!(as_sponsor, AccountMergeResult::IsSponsor);
    let fresh = key("fresh");
    let at_once = vec![operation_from(&other, create(&fresh, LUMEN)), merge(&fresh, &other)];
    assert_eq!(refused(&other, at_once, &[&other, &fresh]), AccountMergeResult::SeqnumTooFar);
    assert!(network.run(&other, vec![trust(&asset, 5)]).is_successful());
    let with_line = refused(&other, vec![merge(&other, &sponsor)], &[&other]);
    assert_eq!(with_line, AccountMergeResult::HasSubEntries);
}
