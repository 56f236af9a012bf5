//! The classic operations: what they do, refuse, and tell in events.

use ed25519_dalek::SigningKey;
use farebox_devnet::accounts::{find_account, find_trustline};
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::xdr::*;

use crate::support::*;

fn created(record: &TransactionRecord) -> CreateAccountResult {
    match only_result(record) {
        OperationResultTr::CreateAccount(result) => result,
        other => panic!("{other:?}"),
    }
}

fn paid(record: &TransactionRecord) -> PaymentResult {
    match only_result(record) {
        OperationResultTr::Payment(result) => result,
        other => panic!("{other:?}"),
    }
}

fn trusted(record: &TransactionRecord) -> ChangeTrustResult {
    match only_result(record) {
        OperationResultTr::ChangeTrust(result) => result,
        other => panic!("{other:?}"),
    }
}

/// The topics' first symbol, the other topics and the data of an operation's only event.
fn only_event(record: &TransactionRecord) -> (String, Vec<ScVal>, ScVal) {
    let events = &meta_v4(record).operations[0].events;
    assert_eq!(events.len(), 1);
    let ContractEventBody::V0(body) = &events[0].body;
    let ScVal::Symbol(name) = &body.topics[0] else { panic!("the first topic is a symbol") };
    (name.to_string(), body.topics[1..].to_vec(), body.data.clone())
}

fn text(value: &str) -> ScVal {
    ScVal::String(ScString(value.try_into().unwrap()))
}

#[test]
fn an_account_is_created_once_above_the_reserve_and_within_the_means() {
    let network = network();
    let (rich, newcomer) = (network.account("rich", 10 * LUMEN), key("newcomer"));
    assert_eq!(
        created(&network.run(&rich, vec![create(&newcomer, LUMEN - 1)])),
        CreateAccountResult::LowReserve
    );
    assert_eq!(
        created(&network.run(&rich, vec![create(&newcomer, 10 * LUMEN)])),
        CreateAccountResult::Underfunded
    );
    let record = network.run(&rich, vec![create(&newcomer, LUMEN)]);
    assert_eq!(created(&record), CreateAccountResult::Success);
    assert_eq!(network.balance(&newcomer), LUMEN);
    assert_eq!(
        created(&network.run(&rich, vec![create(&newcomer, LUMEN)])),
        CreateAccountResult::AlreadyExist
    );
    let (name, topics, data) = only_event(&record);
    assert_eq!(name, "transfer");
    assert_eq!(topics, [ScVal::Address(address(&rich)), ScVal::Address(address(&newcomer)), text("native")]);
    assert_eq!(data, i128_value(i128::from(LUMEN)));
}

#[test]
fn a_native_payment_moves_lumens_above_the_reserve() {
    let network = network();
    let (one, other) = (network.account("one", 3 * LUMEN), network.account("other", 3 * LUMEN));
    let pay = |amount| paid(&network.run(&one, vec![payment(&other, &Asset::Native, amount)]));
    assert_eq!(pay(2 * LUMEN), PaymentResult::Underfunded);
    assert_eq!(pay(LUMEN), PaymentResult::Success);
    assert_eq!(network.balance(&other), 4 * LUMEN);
    assert_eq!(network.balance(&one), 2 * LUMEN - 200);
    let to_nobody = network.run(&one, vec![payment(&key("nobody"), &Asset::Native, 1)]);
    assert_eq!(paid(&to_nobody), PaymentResult::NoDestination);
}

struct Credit {
    network: Network,
    issuer: SigningKey,
    holder: SigningKey,
    other: SigningKey,
    asset: Asset,
}

fn issued() -> Credit {
    let network = network();
    let [issuer, holder, other] =
        ["issuer", "holder", "other"].map(|name| network.account(name, 100 * LUMEN));
    let asset = credit("USDC", &issuer);
    assert_eq!(trusted(&network.run(&holder, vec![trust(&asset, 1_000)])), ChangeTrustResult::Success);
    Credit { network, issuer, holder, other, asset }
}

#[test]
fn the_issuers_payment_mints_and_a_payment_to_it_burns() {
    let Credit { network, issuer, holder, asset, .. } = issued();
    let minted = network.run(&issuer, vec![payment(&holder, &asset, 700)]);
    assert_eq!(paid(&minted), PaymentResult::Success);
    assert_eq!(network.credit_balance(&holder, &asset), 700);
    let name = farebox_devnet::events::asset_name(&asset);
    assert!(name.starts_with("USDC:G") && name.len() == 61, "{name}");
    assert_eq!(
        only_event(&minted),
        ("mint".to_owned(), vec![ScVal::Address(address(&holder)), text(&name)], i128_value(700))
    );
    let burnt = network.run(&holder, vec![payment(&issuer, &asset, 200)]);
    assert_eq!(network.credit_balance(&holder, &asset), 500);
    assert_eq!(
        only_event(&burnt),
        ("burn".to_owned(), vec![ScVal::Address(address(&holder)), text(&name)], i128_value(200))
    );
}

#[test]
fn a_credit_payment_names_what_is_missing() {
    let Credit { network, issuer, holder, other, asset } = issued();
    let pay = |from: &SigningKey, to: &SigningKey, amount| {
        paid(&network.run(from, vec![payment(to, &asset, amount)]))
    };
    assert_eq!(pay(&issuer, &other, 1), PaymentResult::NoTrust);
    assert_eq!(pay(&issuer, &holder, 1_001), PaymentResult::LineFull);
    assert_eq!(pay(&issuer, &key("nobody"), 1), PaymentResult::NoDestination);
    assert_eq!(pay(&other, &holder, 1), PaymentResult::SrcNoTrust);
    assert_eq!(trusted(&network.run(&other, vec![trust(&asset, 10)])), ChangeTrustResult::Success);
    assert_eq!(pay(&other, &holder, 1), PaymentResult::Underfunded);
    assert_eq!(pay(&issuer, &other, 10), PaymentResult::Success);
    assert_eq!(pay(&other, &holder, 10), PaymentResult::Success);
}

#[test]
fn a_payment_to_a_muxed_account_tells_its_id() {
    let Credit { network, issuer, holder, asset, .. } = issued();
    let destination = MuxedAccount::MuxedEd25519(MuxedAccountMed25519 {
        id: 42,
        ed25519: Uint256(holder.verifying_key().to_bytes()),
    });
    let body = OperationBody::Payment(PaymentOp { destination, asset, amount: 5 });
    let (_, _, data) = only_event(&network.run(&issuer, vec![body]));
    let ScVal::Map(Some(map)) = data else { panic!("the data is a map") };
    let fields: Vec<_> = map.iter().map(|entry| (entry.key.clone(), entry.val.clone())).collect();
    let symbol = |name: &str| ScVal::Symbol(ScSymbol(name.try_into().unwrap()));
    assert_eq!(fields, [(symbol("amount"), i128_value(5)), (symbol("to_muxed_id"), ScVal::U64(42))]);
}

#[test]
fn a_trustline_counts_as_an_entry_and_closes_when_empty() {
    let Credit { network, issuer, holder, asset, .. } = issued();
    let entries = || find_account(&network.node.state().entries, &id(&holder)).unwrap().num_sub_entries;
    assert_eq!(entries(), 1);
    network.run(&issuer, vec![payment(&holder, &asset, 700)]);
    assert_eq!(trusted(&network.run(&holder, vec![trust(&asset, 699)])), ChangeTrustResult::InvalidLimit);
    assert_eq!(trusted(&network.run(&holder, vec![trust(&asset, 0)])), ChangeTrustResult::InvalidLimit);
    network.run(&holder, vec![payment(&issuer, &asset, 700)]);
    let closed = network.run(&holder, vec![trust(&asset, 0)]);
    assert_eq!(trusted(&closed), ChangeTrustResult::Success);
    let removed = meta_v4(&closed).operations[0].changes.0.windows(2).any(|pair| {
        matches!(pair, [LedgerEntryChange::State(before), LedgerEntryChange::Removed(key)] if before.to_key() == *key)
    });
    assert!(removed, "the meta shows what was removed");
    assert_eq!(entries(), 0);
    assert!(find_trustline(&network.node.state().entries, &id(&holder), &asset).is_none());
    assert_eq!(trusted(&network.run(&holder, vec![trust(&asset, 0)])), ChangeTrustResult::InvalidLimit);
}

#[test]
fn a_trustline_needs_an_issuer_and_a_reserve() {
    let network = network();
    let poor = network.account("poor", LUMEN + 200);
    let ghost = credit("USDC", &key("ghost"));
    assert_eq!(trusted(&network.run(&poor, vec![trust(&ghost, 1)])), ChangeTrustResult::NoIssuer);
    let real = credit("USDC", &network.root());
    assert_eq!(trusted(&network.run(&poor, vec![trust(&real, 1)])), ChangeTrustResult::LowReserve);
}

#[test]
fn nonsense_is_refused_before_it_reaches_a_ledger() {
    let network = network();
    let root = network.root();
    let usdc = credit("USDC", &key("issuer"));
    let bad_code = credit("U C", &key("issuer"));
    let bodies = [
        payment(&root, &Asset::Native, 0),
        payment(&root, &bad_code, 1),
        trust(&usdc, -1),
        trust(&Asset::Native, 1),
        trust(&credit("USDC", &root), 1),
        create(&root, LUMEN),
        create(&key("new"), -1),
        OperationBody::SetOptions(SetOptionsOp { set_flags: Some(16), ..no_options() }),
        OperationBody::SetOptions(SetOptionsOp { set_flags: Some(1), clear_flags: Some(1), ..no_options() }),
        OperationBody::SetOptions(SetOptionsOp { low_threshold: Some(256), ..no_options() }),
        OperationBody::Inflation,
        OperationBody::BumpSequence(BumpSequenceOp { bump_to: SequenceNumber(9) }),
    ];
    for body in bodies {
        let submission = network.submit(network.sign(network.tx(&root, vec![body.clone()]), &[&root]));
        let TransactionResultResult::TxFailed(results) = refusal(submission) else {
            panic!("{body:?} fails as an operation")
        };
        assert_eq!(results.len(), 1, "{body:?}");
    }
}

#[test]
fn an_issuer_can_ask_to_be_asked_and_take_its_leave_back() {
    let network = network();
    let [issuer, holder] = ["issuer", "holder"].map(|name| network.account(name, 100 * LUMEN));
    let asset = credit("USDC", &issuer);
    let flags = |set, clear| {
        OperationBody::SetTrustLineFlags(SetTrustLineFlagsOp {
            trustor: id(&holder),
            asset: asset.clone(),
            clear_flags: clear,
            set_flags: set,
        })
    };
    let required = OperationBody::SetOptions(SetOptionsOp { set_flags: Some(1), ..no_options() });
    assert!(network.run(&issuer, vec![required]).is_successful());
    network.run(&holder, vec![trust(&asset, 1_000)]);
    let pay = || paid(&network.run(&issuer, vec![payment(&holder, &asset, 1)]));
    assert_eq!(pay(), PaymentResult::NotAuthorized);
    let allowed = network.run(&issuer, vec![flags(1, 0)]);
    assert!(allowed.is_successful());
    let (name, topics, data) = only_event(&allowed);
    assert_eq!(
        (name.as_str(), &topics[0], data),
        ("set_authorized", &ScVal::Address(address(&holder)), ScVal::Bool(true))
    );
    assert_eq!(pay(), PaymentResult::Success);
    let revoked = network.run(&issuer, vec![flags(0, 1)]);
    assert_eq!(
        only_result(&revoked),
        OperationResultTr::SetTrustLineFlags(SetTrustLineFlagsResult::CantRevoke)
    );
    let revocable = OperationBody::SetOptions(SetOptionsOp { set_flags: Some(2), ..no_options() });
    assert!(network.run(&issuer, vec![revocable]).is_successful());
    assert!(network.run(&issuer, vec![flags(0, 1)]).is_successful());
    assert_eq!(pay(), PaymentResult::NotAuthorized);
}

#[test]
fn options_are_kept_and_an_immutable_account_stays_as_it_is() {
    let network = network();
    let account = network.account("account", 100 * LUMEN);
    let set = |options: SetOptionsOp| network.run(&account, vec![OperationBody::SetOptions(options)]);
    let domain = String32("example.org".try_into().unwrap());
    assert!(set(SetOptionsOp { home_domain: Some(domain.clone()), ..no_options() }).is_successful());
    assert!(set(SetOptionsOp { set_flags: Some(4), ..no_options() }).is_successful());
    let stored = find_account(&network.node.state().entries, &id(&account)).unwrap();
    assert_eq!((stored.home_domain, stored.flags), (domain, 4));
    let refused = set(SetOptionsOp { set_flags: Some(1), ..no_options() });
    assert_eq!(only_result(&refused), OperationResultTr::SetOptions(SetOptionsResult::CantChange));
    let friend = SignerKey::Ed25519(Uint256(key("friend").verifying_key().to_bytes()));
    let signer =
        |weight| SetOptionsOp { signer: Some(Signer { key: friend.clone(), weight }), ..no_options() };
    assert!(set(signer(1)).is_successful());
    let with_friend = find_account(&network.node.state().entries, &id(&account)).unwrap();
    assert_eq!((with_friend.signers.len(), with_friend.num_sub_entries), (1, 1));
    assert!(set(signer(0)).is_successful());
    let alone = find_account(&network.node.state().entries, &id(&account)).unwrap();
    assert_eq!((alone.signers.len(), alone.num_sub_entries), (0, 0));
}

#[test]
fn when_one_operation_fails_none_of_them_happened() {
    let network = network();
    let (one, other) = (network.account("one", 10 * LUMEN), network.account("other", 10 * LUMEN));
    let record = network.run(
        &one,
        vec![payment(&other, &Asset::Native, LUMEN), payment(&other, &Asset::Native, 100 * LUMEN)],
    );
    assert!(!record.is_successful());
    let results = operation_results(&record.result);
    assert_eq!(results[0], OperationResult::OpInner(OperationResultTr::Payment(PaymentResult::Success)));
    assert_eq!(results[1], OperationResult::OpInner(OperationResultTr::Payment(PaymentResult::Underfunded)));
    assert_eq!(network.balance(&other), 10 * LUMEN);
    assert_eq!(network.balance(&one), 10 * LUMEN - 200);
    assert!(meta_v4(&record).operations.is_empty());
    assert!(!meta_v4(&record).tx_changes_before.0.is_empty(), "the sequence number is used up");
}
