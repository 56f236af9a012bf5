//! The edges of what a specification may say, and of what it lets pass: the last value that does,
//! and the first that does not.

mod support;

use soroban_sdk::{
    Address, IntoVal, Val,
    testutils::{Address as _, Ledger as _, storage::Instance as _},
};
use support::{
    Outcome, START, attempt,
    guarded::{Made, ROUTER_RULE, Scene, TOKEN_RULE},
    list,
    mandated::{Run, Scene as Mandated},
    pass, record,
    specs::{Call, INTERVAL, Parties, SOLD, Spec, WAIT, eq, rule},
    symbol,
};

const SPEC_REFUSED: u32 = 4008;
const CALL_NOT_LISTED: u32 = 4009;
const ARGUMENT_REFUSED: u32 = 4010;
const NO_TICKET: u32 = 4011;
const CAP_REACHED: u32 = 4014;
const PRICE_UNKNOWN: u32 = 4015;
const BOUGHT_RULE: u32 = 6;

/// A change of a specification: to a limit, or one past it.
type Change = fn(&Scene, &mut Spec, bool);

fn check(name: &str, change: Change) {
    for is_past in [false, true] {
        let scene = Scene::new();
        let mut spec = scene.parties.dca(&scene.env, "session");
        change(&scene, &mut spec, is_past);
        let expected = if is_past { Err(SPEC_REFUSED) } else { Ok(()) };
        let outcome = scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router));
        assert_eq!(outcome, expected, "{name}, past: {is_past}");
    }
}

#[test]
fn specification_is_taken_up_to_its_limits_and_not_past_them() {
    let changes: [(&str, Change); 8] = [
        ("calls", |_, spec, is_past| {
            let call = spec.calls[0].clone();
            spec.calls.resize(8 + usize::from(is_past), call);
        }),
        ("caps", |scene, spec, is_past| {
            spec.caps.resize_with(8 + usize::from(is_past), || (Address::generate(&scene.env), 0, 0));
        }),
        ("arguments", |scene, spec, is_past| {
            spec.calls[0].args = vec![eq(&scene.env, 1_u32); 12 + usize::from(is_past)];
        }),
        ("rows", |scene, spec, is_past| {
            let env = &scene.env;
            spec.calls[0].args = vec![rule(env, "Row", &[0_u32.into_val(env)])];
            spec.calls[0].rows =
                (0..32 + u32::from(is_past)).map(|at| list(env, &[at.into_val(env)])).collect();
        }),
        ("window", |_, spec, is_past| spec.not_after = spec.not_before + u64::from(!is_past)),
        ("least wait", |scene, spec, is_past| within(scene, spec, u64::from(!is_past))),
        ("longest wait", |scene, spec, is_past| within(scene, spec, 86_400 + u64::from(is_past))),
        ("amount's index", |scene, spec, is_past| {
            let mint = Call::new(&scene.parties.sold, "mint", &[eq(&scene.env, 1_i128)]);
            spec.calls[1] = mint.moving(u32::from(is_past)).under(0);
        }),
    ];
    for (name, change) in changes {
        check(name, change);
    }
}

fn within(scene: &Scene, spec: &mut Spec, seconds: u64) {
    spec.calls[0].args[4] = rule(&scene.env, "TimeWithin", &[seconds.into_val(&scene.env)]);
}

#[test]
fn call_of_a_capped_token_always_counts_an_amount() {
    check("another function", |scene, spec, is_past| {
        let mint = Call::new(&scene.parties.sold, "mint", &[eq(&scene.env, 1_i128)]).under(0);
        spec.calls[1] = if is_past { mint } else { mint.moving(0) };
    });
}

#[test]
fn every_function_that_moves_or_allows_a_token_is_bound() {
    for (function, count, index) in
        [("transfer", 3, 2), ("transfer_from", 4, 3), ("approve", 4, 2), ("burn", 2, 1), ("burn_from", 3, 2)]
    {
        let scene = Scene::new();
        let env = &scene.env;
        let args = vec![eq(env, 1_i128); count];
        let call = |args: &[Val]| Call::new(&scene.parties.sold, function, args).moving(index).under(0);
        let mut more = args.clone();
        more.push(eq(env, 1_i128));
        let mut loose = args.clone();
        loose[0] = rule(env, "Any", &[]);
        let uncounted = Call { amount: None, ..call(&args) };
        let refused = [uncounted, call(&args).moving(0), call(&more), call(&args[1..]), call(&loose)];
        let install = |call: Call| {
            let mut spec = scene.parties.dca(env, "session");
            spec.calls[1] = call;
            scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router))
        };
        for (at, each) in refused.into_iter().enumerate() {
            assert_eq!(install(each), Err(SPEC_REFUSED), "{function} {at}");
        }
        assert_eq!(install(call(&args)), Ok(()), "the control: {function}");
    }
}

/// The floor under what is bought with the argument `in_arg`; three numbers: bps and both scales.
fn floor(scene: &Scene, numbers: (u32, i128, i128), in_arg: u32, buy: &Address) -> Val {
    let env = &scene.env;
    let fields = record(
        env,
        &[
            ("bps", numbers.0.into_val(env)),
            ("buy", buy.to_val()),
            ("in_arg", in_arg.into_val(env)),
            ("max_age", 600_u64.into_val(env)),
            ("oracle", scene.parties.oracle.to_val()),
            ("scale_den", numbers.2.into_val(env)),
            ("scale_num", numbers.1.into_val(env)),
            ("sell", scene.parties.sold.to_val()),
        ],
    );
    rule(env, "OracleFloor", &[fields])
}

#[test]
fn oracle_floor_that_is_none_is_refused() {
    let changes: [(&str, Change); 6] = [
        ("all of it", |scene, spec, is_past| {
            let bps = 9_999 + u32::from(is_past);
            spec.calls[0].args[1] = floor(scene, (bps, 1, 1), 0, &scene.parties.bought);
        }),
        ("numerator", |scene, spec, is_past| {
            let scale = i128::from(!is_past);
            spec.calls[0].args[1] = floor(scene, (100, scale, 1), 0, &scene.parties.bought);
        }),
        ("denominator", |scene, spec, is_past| {
            let scale = i128::from(!is_past);
            spec.calls[0].args[1] = floor(scene, (100, 1, scale), 0, &scene.parties.bought);
        }),
        ("the same token", |scene, spec, is_past| {
            let Parties { bought, sold, .. } = &scene.parties;
            spec.calls[0].args[1] = floor(scene, (100, 1, 1), 0, if is_past { sold } else { bought });
        }),
        ("of itself", |scene, spec, is_past| {
            spec.calls[0].args[1] = floor(scene, (100, 1, 1), u32::from(is_past), &scene.parties.bought);
        }),
        ("of no argument", |scene, spec, is_past| {
            let at = if is_past { 5 } else { 4 };
            spec.calls[0].args[1] = floor(scene, (100, 1, 1), at, &scene.parties.bought);
        }),
    ];
    for (name, change) in changes {
        check(name, change);
    }
}

/// A session whose swap has this floor, with a price of 1 for both tokens.
fn of_floor(numbers: (u32, i128, i128)) -> Scene {
    let scene = Scene::new();
    let mut spec = scene.parties.dca(&scene.env, "session");
    spec.calls[0].args[1] = floor(&scene, numbers, 0, &scene.parties.bought);
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router)), Ok(()));
    for token in [&scene.parties.sold, &scene.parties.bought] {
        price(&scene, token, 1);
    }
    scene
}

fn price(scene: &Scene, token: &Address, price: i128) {
    let env = &scene.env;
    let asset = list(env, &[symbol(env, "Stellar"), token.to_val()]);
    let args = [asset, price.into_val(env), scene.now().into_val(env)];
    support::call(env, &scene.parties.oracle, "set", &args);
}

fn swap_for(scene: &Scene, least: i128) -> Outcome {
    let mut swap = scene.swap();
    swap.args[1] = least.into_val(&scene.env);
    scene.enforce(&swap)
}

#[test]
fn oracle_floor_counts_both_scales() {
    for (numbers, least) in [((100, 1, 1), 990), ((100, 3, 2), 1_485), ((0, 2, 3), 667)] {
        assert_eq!(swap_for(&of_floor(numbers), least - 1), Err(ARGUMENT_REFUSED), "{numbers:?}");
        assert_eq!(swap_for(&of_floor(numbers), least), Ok(()), "{numbers:?}");
    }
}

#[test]
fn price_counts_to_its_last_second_and_only_if_it_is_one() {
    for (age, expected) in [(600, Ok(())), (601, Err(PRICE_UNKNOWN))] {
        let scene = of_floor((100, 1, 1));
        pass(&scene.env, age);
        assert_eq!(swap_for(&scene, SOLD), expected, "{age}");
    }
    for nothing in [0, -1] {
        let scene = of_floor((100, 1, 1));
        price(&scene, &scene.parties.sold, nothing);
        assert_eq!(swap_for(&scene, SOLD), Err(PRICE_UNKNOWN));
    }
}

#[test]
fn negative_amount_that_is_sold_meets_no_rate() {
    let scene = Scene::new();
    let env = &scene.env;
    let mut spec = scene.parties.dca(env, "session");
    spec.calls[0].args[0] = rule(env, "Range", &[(-SOLD).into_val(env), SOLD.into_val(env)]);
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router)), Ok(()));
    let mut swap = scene.swap();
    swap.args[0] = (-SOLD).into_val(env);
    assert_eq!(scene.enforce(&swap), Err(ARGUMENT_REFUSED));
    assert_eq!(scene.enforce(&scene.swap()), Ok(()), "the control");
}

#[test]
fn range_lets_pass_the_numbers_from_its_first_to_its_last() {
    let outcome = |number: fn(&Scene) -> Val| {
        let scene = Scene::new();
        let (env, target) = (&scene.env, scene.parties.target.clone());
        let spec = scene.parties.loose(env, "session");
        assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &target)), Ok(()));
        let args = vec![scene.parties.account.to_val(), ().into_val(env), number(&scene)];
        scene.enforce(&scene.made(&target, "note", args, ROUTER_RULE))
    };
    let within: [fn(&Scene) -> Val; 4] = [
        |scene| (-5_i128).into_val(&scene.env),
        |scene| 5_i128.into_val(&scene.env),
        |scene| 5_u32.into_val(&scene.env),
        |scene| 5_u64.into_val(&scene.env),
    ];
    for number in within {
        assert_eq!(outcome(number), Ok(()));
    }
    let outside: [fn(&Scene) -> Val; 4] = [
        |scene| (-6_i128).into_val(&scene.env),
        |scene| 6_i128.into_val(&scene.env),
        |scene| 6_u64.into_val(&scene.env),
        |scene| u128::MAX.into_val(&scene.env),
    ];
    for number in outside {
        assert_eq!(outcome(number), Err(ARGUMENT_REFUSED));
    }
}

#[test]
fn account_of_an_argument_is_the_sessions_own() {
    let scene = Scene::new();
    let (env, target) = (&scene.env, scene.parties.target.clone());
    let spec = scene.parties.loose(env, "session");
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &target)), Ok(()));
    let note = |account: &Address| {
        let args = vec![account.to_val(), true.into_val(env), 0_i128.into_val(env)];
        scene.enforce(&scene.made(&target, "note", args, ROUTER_RULE))
    };
    assert_eq!(note(&Address::generate(env)), Err(ARGUMENT_REFUSED));
    assert_eq!(note(&scene.parties.account), Ok(()), "the control");
}

#[test]
fn function_of_another_listed_contract_is_refused() {
    let (scene, _) = Scene::of_dca();
    let elsewhere = Made { contract: scene.parties.sold.clone(), rule: TOKEN_RULE, ..scene.swap() };
    assert_eq!(scene.enforce(&elsewhere), Err(CALL_NOT_LISTED));
    assert_eq!(scene.enforce(&scene.swap()), Ok(()), "the control");
}

#[test]
fn sum_that_is_no_number_reaches_the_cap() {
    let scene = Scene::new();
    let env = &scene.env;
    let mut spec = scene.parties.dca(env, "session");
    spec.caps[0] = (scene.parties.sold.clone(), i128::MAX, i128::MAX);
    spec.calls[1].args[2] = rule(env, "Range", &[1_i128.into_val(env), i128::MAX.into_val(env)]);
    for (id, contract) in [(ROUTER_RULE, &scene.parties.router), (TOKEN_RULE, &scene.parties.sold)] {
        assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
    }
    for (amount, expected) in [(1, Ok(())), (i128::MAX, Err(CAP_REACHED))] {
        assert_eq!(scene.enforce(&scene.swap()), Ok(()));
        let mut pay = scene.pay();
        pay.args[2] = amount.into_val(env);
        assert_eq!(scene.enforce(&pay), expected);
        pass(env, INTERVAL);
    }
}

/// Both directions of a rebalancing, with a cap for what the second one sells.
fn of_rebalance(bought_cap: i128) -> Scene {
    let scene = Scene::new();
    let mut spec = scene.parties.rebalance(&scene.env, "session");
    spec.caps[1] = (scene.parties.bought.clone(), bought_cap, bought_cap);
    let Parties { bought, router, sold, .. } = &scene.parties;
    for (id, contract) in [(ROUTER_RULE, router), (TOKEN_RULE, sold), (BOUGHT_RULE, bought)] {
        assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
    }
    price(&scene, sold, 1);
    price(&scene, bought, 1);
    scene
}

fn back(scene: &Scene) -> (Made, Made) {
    let env = &scene.env;
    let Parties { bought, sold, .. } = &scene.parties;
    let mut swap = scene.swap();
    swap.args[1] = SOLD.into_val(env);
    swap.args[2] = list(env, &[bought.to_val(), sold.to_val()]);
    (swap, Made { contract: bought.clone(), rule: BOUGHT_RULE, ..scene.pay() })
}

#[test]
fn each_direction_has_its_own_interval_cap_and_nested_transfer() {
    let scene = of_rebalance(SOLD);
    let (swap, pay) = back(&scene);
    assert_eq!(swap_for(&scene, SOLD), Ok(()));
    assert_eq!(scene.enforce(&swap), Ok(()), "the other direction, at once");
    assert_eq!(scene.enforce(&scene.pay()), Err(NO_TICKET), "it belongs to the first");
    assert_eq!(scene.enforce(&pay), Ok(()));
    let narrow = of_rebalance(SOLD - 1);
    let (swap, pay) = back(&narrow);
    assert_eq!(narrow.enforce(&swap), Ok(()));
    assert_eq!(narrow.enforce(&pay), Err(CAP_REACHED), "the cap of what it sells");
}

#[test]
fn mandate_is_kept_to_the_end_of_the_plan_and_extended_by_its_use() {
    let scene = Mandated::new(|env, parties| parties.keeper(env, "mandate"));
    let env = &scene.env;
    let lives = || env.as_contract(&scene.mandate, || env.storage().instance().get_ttl());
    let kept = 30 * 86_400 / 4 + 17_280;
    assert_eq!(lives(), kept);
    env.ledger().set_sequence_number(env.ledger().sequence() + 560_000);
    env.ledger().set_timestamp(START + 20 * 86_400);
    assert_eq!(lives(), kept - 560_000);
    let calls = vec![(0, vec![scene.mandate.to_val()])];
    assert_eq!(scene.run(&Run { index: 1, valid_until: scene.last_ledger(), calls }), Ok(()));
    assert_eq!(lives(), 10 * 86_400 / 4 + 17_280, "to the end of the plan and a day");
}

#[test]
fn more_or_fewer_arguments_of_a_mandates_run_are_refused() {
    let scene = Mandated::new(|env, parties| parties.dca(env, "mandate"));
    let recorded = scene.swap(1);
    for call in 0..recorded.calls.len() {
        let (mut more, mut fewer) = (recorded.clone(), recorded.clone());
        more.calls[call].1.push(WAIT.into_val(&scene.env));
        fewer.calls[call].1.pop();
        for run in [more, fewer] {
            assert_eq!(scene.run(&run), Err(ARGUMENT_REFUSED), "call {call}");
        }
    }
    assert_eq!(scene.run(&recorded), Ok(()), "the control");
    let nothing = attempt(&scene.env, &scene.mandate, "run", &[]);
    assert_eq!(nothing, Err(0));
}
