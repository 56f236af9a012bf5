//! What the guard accepts to be installed: rules that are as narrow as the specification, and
//! specifications that bind what they say they bind.

mod support;

use soroban_sdk::{
    Address, IntoVal, Symbol, Val,
    testutils::{Address as _, Ledger as _, storage::Persistent as _},
};
use support::{
    MONTH, START,
    guarded::{Made, ROUTER_RULE, Scene, TOKEN_RULE},
    key, list, pass,
    specs::{Call, INTERVAL, SOLD, Spec, eq, rule},
    symbol,
};

const EXPIRED: u32 = 4004;
const RULE_REFUSED: u32 = 4006;
const SPEC_REFUSED: u32 = 4008;
const ARGUMENT_REFUSED: u32 = 4010;
const INTERVAL_NOT_PASSED: u32 = 4013;
const PRICE_UNKNOWN: u32 = 4015;

#[test]
fn rule_wider_than_the_specification_is_refused() {
    let scene = Scene::new();
    let (env, parties) = (&scene.env, &scene.parties);
    let spec = parties.dca(env, "session");
    let router = scene.call_contract(&parties.router);
    let delegated = list(env, &[symbol(env, "Delegated"), parties.account.to_val()]);
    let other = scene.external(key(8).verifying_key().to_bytes());
    let wasm = list(env, &[symbol(env, "CreateContract"), support::bytes(env, [1; 32])]);
    let delegate = [scene.delegate()];
    let wide = [
        (list(env, &[symbol(env, "Default")]), &delegate[..], Some(900_000)),
        (wasm, &delegate[..], Some(900_000)),
        (scene.call_contract(&parties.account), &delegate[..], Some(900_000)),
        (scene.call_contract(&parties.target), &delegate[..], Some(900_000)),
        (router, &delegate[..], None),
        (router, &[], Some(900_000)),
        (router, &[delegated], Some(900_000)),
        (router, &[other], Some(900_000)),
        (router, &[scene.delegate(), other], Some(900_000)),
        (router, &[other, scene.delegate()], Some(900_000)),
    ];
    for (kind, signers, until) in wide {
        let rule = scene.rule_of(ROUTER_RULE, kind, signers, until);
        assert_eq!(scene.install(&spec, rule), Err(RULE_REFUSED));
    }
    let fitting = scene.rule_of(ROUTER_RULE, router, &delegate, Some(900_000));
    assert_eq!(scene.install(&spec, fitting), Ok(()), "the control");
}

type Change = fn(&Scene, &mut Spec);

#[test]
fn specification_that_is_not_well_formed_is_refused() {
    let changes: [(&str, Change); 31] = [
        ("another version", |_, spec| spec.version = 2),
        ("the other mode", |_, spec| spec.mode = "mandate"),
        ("an unknown mode", |_, spec| spec.mode = "open"),
        ("no uses", |_, spec| spec.max_uses = 0),
        ("no interval", |_, spec| spec.interval = 0),
        ("an empty window", |_, spec| spec.not_before = spec.not_after),
        ("another account", |scene, spec| spec.account = Address::generate(&scene.env)),
        ("no calls", |_, spec| spec.calls.clear()),
        ("too many calls", |_, spec| spec.calls = vec![spec.calls[0].clone(); 9]),
        ("no root call", |_, spec| spec.calls[0].under = Some(1)),
        ("nested under nothing", |_, spec| spec.calls[1].under = Some(2)),
        ("nested under itself", |_, spec| spec.calls[1].under = Some(1)),
        ("a call of the account", |_, spec| spec.calls[0].contract = spec.account.clone()),
        ("a call of the guard", |scene, spec| spec.calls[0].contract = scene.guard.clone()),
        ("no cap of the token", |_, spec| spec.caps.clear()),
        ("two caps of a token", |_, spec| spec.caps.push(spec.caps[0].clone())),
        ("a negative cap", |_, spec| spec.caps[0].1 = -1),
        ("more a run than in all", |_, spec| spec.caps[0].2 = SOLD - 1),
        ("an amount that is not counted", |_, spec| spec.calls[1].amount = None),
        ("another argument as the amount", |_, spec| spec.calls[1].amount = Some(1)),
        ("an amount without a cap", |_, spec| spec.calls[0].amount = Some(0)),
        ("a transfer to anybody", |scene, spec| spec.calls[1].args[1] = rule(&scene.env, "Any", &[])),
        ("a transfer without amount", |_, spec| {
            spec.calls[1].args.pop();
        }),
        ("too many arguments", |scene, spec| spec.calls[0].args = vec![eq(&scene.env, 1_u32); 13]),
        ("rows that no argument names", |scene, spec| spec.calls[0].rows = vec![list(&scene.env, &[])]),
        ("an empty range", |scene, spec| {
            let env = &scene.env;
            spec.calls[0].args[0] = rule(env, "Range", &[2_i128.into_val(env), 1_i128.into_val(env)]);
        }),
        ("a rate of itself", |scene, spec| spec.calls[0].args[1] = rate(scene, 1, 1, 2)),
        ("a rate of nothing", |scene, spec| spec.calls[0].args[1] = rate(scene, 5, 1, 2)),
        ("a rate of zero", |scene, spec| spec.calls[0].args[1] = rate(scene, 0, 0, 2)),
        ("a rate by zero", |scene, spec| spec.calls[0].args[1] = rate(scene, 0, 1, 0)),
        ("a rate of anything", |scene, spec| spec.calls[0].args[0] = rule(&scene.env, "Any", &[])),
    ];
    for (name, change) in changes {
        let scene = Scene::new();
        let mut spec = scene.parties.dca(&scene.env, "session");
        change(&scene, &mut spec);
        let contract = scene.parties.router.clone();
        let outcome = scene.install(&spec, scene.rule(ROUTER_RULE, &contract));
        assert_eq!(outcome, Err(SPEC_REFUSED), "{name}");
        let unchanged = scene.parties.dca(&scene.env, "session");
        assert_eq!(scene.install(&unchanged, scene.rule(ROUTER_RULE, &contract)), Ok(()), "{name}");
    }
}

fn rate(scene: &Scene, index: u32, numerator: i128, denominator: i128) -> Val {
    let env = &scene.env;
    rule(env, "MinRate", &[index.into_val(env), numerator.into_val(env), denominator.into_val(env)])
}

#[test]
fn specification_with_unknown_parts_is_refused() {
    let scene = Scene::new();
    let (env, router) = (&scene.env, scene.parties.router.clone());
    let mut unknown = scene.parties.dca(env, "session");
    unknown.calls[0].args[3] = rule(env, "Whoever", &[]);
    assert_eq!(scene.install(&unknown, scene.rule(ROUTER_RULE, &router)), Err(0));
    let mut overfull = scene.parties.dca(env, "session");
    overfull.calls[0].args[3] = rule(env, "Actor", &[1_u32.into_val(env)]);
    assert_eq!(scene.install(&overfull, scene.rule(ROUTER_RULE, &router)), Err(0));
}

#[test]
fn plan_that_is_over_cannot_be_installed() {
    let scene = Scene::new();
    let spec = scene.parties.dca(&scene.env, "session");
    pass(&scene.env, MONTH + 1);
    assert_eq!(scene.now(), START + MONTH + 1);
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router)), Err(EXPIRED));
}

fn of_disbursement() -> (Scene, Spec) {
    let scene = Scene::new();
    let spec = scene.parties.disbursement(&scene.env, "session");
    assert_eq!(scene.install(&spec, scene.rule(TOKEN_RULE, &scene.parties.sold)), Ok(()));
    (scene, spec)
}

fn leg(scene: &Scene, payee: &Address, amount: i128) -> Made {
    let env = &scene.env;
    let args = vec![scene.parties.account.to_val(), payee.to_val(), amount.into_val(env)];
    scene.made(&scene.parties.sold, "transfer", args, TOKEN_RULE)
}

#[test]
fn each_leg_of_a_disbursement_passes_once_an_interval() {
    let (scene, spec) = of_disbursement();
    let payees = scene.parties.payees.clone();
    for (payee, amount) in payees.iter().zip([100, 200, 300]) {
        assert_eq!(scene.enforce(&leg(&scene, payee, amount)), Ok(()));
    }
    assert_eq!(scene.uses(&spec), 3);
    let (other, _) = of_disbursement();
    let first = leg(&other, &other.parties.payees[0], 100);
    assert_eq!(other.enforce(&first), Ok(()));
    assert_eq!(other.enforce(&first), Err(INTERVAL_NOT_PASSED));
    pass(&other.env, INTERVAL);
    assert_eq!(other.enforce(&first), Ok(()));
}

#[test]
fn payee_and_amount_of_a_disbursement_belong_together() {
    let (scene, _) = of_disbursement();
    let payees = scene.parties.payees.clone();
    let stranger = Address::generate(&scene.env);
    for (payee, amount) in
        [(&payees[0], 200), (&payees[0], 300), (&payees[2], 100), (&payees[1], 199), (&stranger, 100)]
    {
        assert_eq!(scene.enforce(&leg(&scene, payee, amount)), Err(ARGUMENT_REFUSED));
    }
    assert_eq!(scene.enforce(&leg(&scene, &payees[2], 300)), Ok(()), "the control");
}

#[test]
fn rows_that_are_not_well_formed_are_refused() {
    let changes: [fn(&Scene, &mut Call); 5] = [
        |_, call| call.rows.clear(),
        |_, call| call.rows.push(call.rows[0]),
        |scene, call| call.rows.push(list(&scene.env, &[1_i128.into_val(&scene.env)])),
        |scene, call| call.args[2] = rule(&scene.env, "Row", &[0_u32.into_val(&scene.env)]),
        |scene, call| call.args[2] = rule(&scene.env, "Row", &[2_u32.into_val(&scene.env)]),
    ];
    for change in changes {
        let scene = Scene::new();
        let mut spec = scene.parties.disbursement(&scene.env, "session");
        change(&scene, &mut spec.calls[0]);
        let outcome = scene.install(&spec, scene.rule(TOKEN_RULE, &scene.parties.sold));
        assert_eq!(outcome, Err(SPEC_REFUSED));
    }
}

fn price(scene: &Scene, token: &Address, price: i128, at: u64) {
    let env = &scene.env;
    let asset = list(env, &[symbol(env, "Stellar"), token.to_val()]);
    support::call(env, &scene.parties.oracle, "set", &[asset, price.into_val(env), at.into_val(env)]);
}

#[test]
fn oracle_floor_follows_the_prices_while_they_are_recent() {
    let scene = Scene::new();
    let env = &scene.env;
    let spec = scene.parties.rebalance(env, "session");
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router)), Ok(()));
    let swap = |least: i128| {
        let mut made = scene.swap();
        made.args[1] = least.into_val(env);
        scene.enforce(&made)
    };
    assert_eq!(swap(1), Err(PRICE_UNKNOWN));
    price(&scene, &scene.parties.sold, 3_000, scene.now());
    price(&scene, &scene.parties.bought, 1_500, scene.now() + 1);
    assert_eq!(swap(i128::MAX), Err(PRICE_UNKNOWN), "a price of the future");
    price(&scene, &scene.parties.bought, 1_500, scene.now());
    // 1,000 sold at 2 bring 2,000, less one percent
    assert_eq!(swap(1_979), Err(ARGUMENT_REFUSED));
    assert_eq!(swap(1_980), Ok(()));
    pass(env, INTERVAL);
    assert_eq!(swap(1_980), Err(PRICE_UNKNOWN), "prices of an hour ago");
}

#[test]
fn state_is_kept_to_the_end_of_the_plan_and_extended_by_its_use() {
    let scene = Scene::new();
    let env = &scene.env;
    let mut spec = scene.parties.dca(env, "session");
    spec.not_after = START + 150 * 86_400;
    spec.max_uses = 1_000;
    for (id, contract) in [(ROUTER_RULE, &scene.parties.router), (TOKEN_RULE, &scene.parties.sold)] {
        assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
    }
    let account = scene.parties.account.to_val();
    let lives = |name: &str| {
        let last =
            if name == "Installed" { ROUTER_RULE.into_val(env) } else { scene.policy_id(&spec).to_val() };
        let key = (Symbol::new(env, name), account, last);
        env.as_contract(&scene.guard, || env.storage().persistent().get_ttl(&key))
    };
    let most = env.as_contract(&scene.guard, || env.storage().max_ttl());
    let names = ["Spec", "State", "Installed"];
    assert_eq!(names.map(lives), [most; 3], "150 days are longer than the network keeps anything");
    env.ledger().set_sequence_number(env.ledger().sequence() + 2_600_000);
    env.ledger().set_timestamp(START + 100 * 86_400);
    assert_eq!(names.map(lives), [most - 2_600_000; 3]);
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
    let left = 50 * 86_400 / 4 + 17_280;
    assert_eq!(names.map(lives), [left; 3], "to the end of the plan and a day");
}
