//! The guard lets the recorded calls of a plan pass, and refuses every single change of them.

mod support;

use soroban_sdk::{
    Address, BytesN, IntoVal, Symbol, Val,
    testutils::{Address as _, Ledger as _, MockAuth, MockAuthInvoke},
};
use support::{
    MONTH, START, attempt,
    guarded::{Made, ROUTER_RULE, Scene, TOKEN_RULE},
    key, list, pass, sign,
    specs::{INTERVAL, SOLD, USES, WAIT},
    symbol,
};

const NOT_FOUND: u32 = 4001;
const CLOSED: u32 = 4002;
const TOO_EARLY: u32 = 4003;
const EXPIRED: u32 = 4004;
const DELEGATE_MISSING: u32 = 4005;
const RULE_REFUSED: u32 = 4006;
const ALREADY_INSTALLED: u32 = 4007;
const CALL_NOT_LISTED: u32 = 4009;
const ARGUMENT_REFUSED: u32 = 4010;
const NO_TICKET: u32 = 4011;
const USED_UP: u32 = 4012;
const INTERVAL_NOT_PASSED: u32 = 4013;
const CAP_REACHED: u32 = 4014;

/// Values that an argument might be given instead of its own.
fn others(scene: &Scene) -> Vec<Val> {
    let (env, parties) = (&scene.env, &scene.parties);
    let stranger = Address::generate(env);
    vec![
        (SOLD + 1).into_val(env),
        (SOLD - 1).into_val(env),
        0_i128.into_val(env),
        (-SOLD).into_val(env),
        i128::MAX.into_val(env),
        (SOLD as u64).into_val(env),
        ().into_val(env),
        true.into_val(env),
        stranger.to_val(),
        parties.router.to_val(),
        parties.sold.to_val(),
        list(env, &[parties.bought.to_val(), parties.sold.to_val()]),
        list(env, &[parties.sold.to_val(), parties.bought.to_val(), parties.bought.to_val()]),
        list(env, &[]),
        (scene.now() - 1).into_val(env),
        (scene.now() + WAIT + 1).into_val(env),
        symbol(env, "transfer"),
    ]
}

fn with_args(made: &Made, args: Vec<Val>) -> Made {
    Made { args, ..made.clone() }
}

#[test]
fn recorded_run_passes_once_an_interval_until_it_is_used_up() {
    let (scene, spec) = Scene::of_dca();
    for use_ in 1..=USES {
        assert_eq!(scene.enforce(&scene.swap()), Ok(()));
        assert_eq!(scene.enforce(&scene.pay()), Ok(()));
        assert_eq!(scene.uses(&spec), use_);
        pass(&scene.env, INTERVAL);
    }
    assert_eq!(scene.enforce(&scene.swap()), Err(USED_UP));
    assert_eq!(scene.enforce(&scene.pay()), Err(NO_TICKET));
}

#[test]
fn every_other_value_of_every_argument_is_refused() {
    let (scene, _) = Scene::of_dca();
    let (swap, pay) = (scene.swap(), scene.pay());
    refuse_all(&scene, &swap);
    assert_eq!(scene.enforce(&swap), Ok(()), "the control: nothing was changed");
    refuse_all(&scene, &pay);
    assert_eq!(scene.enforce(&pay), Ok(()), "the control: nothing was changed");
}

/// Every call that differs in one argument is refused.
fn refuse_all(scene: &Scene, made: &Made) {
    for at in 0..made.args.len() {
        let is_rate = made.function != "transfer" && at == 1;
        for value in others(scene) {
            if is_rate && support::is_number_above(&scene.env, value, SOLD / 2) {
                continue; // better than the owner asks for
            }
            let mut args = made.args.clone();
            args[at] = value;
            let outcome = scene.enforce(&with_args(made, args));
            assert_eq!(outcome, Err(ARGUMENT_REFUSED), "argument {at} as {value:?}");
        }
    }
}

#[test]
fn rate_is_met_from_the_owners_price_on() {
    for (least, expected) in [
        (SOLD / 2 - 1, Err(ARGUMENT_REFUSED)),
        (SOLD / 2, Ok(())),
        (SOLD, Ok(())),
        (i128::MAX, Ok(())),
        (i128::MIN, Err(ARGUMENT_REFUSED)),
    ] {
        let (scene, _) = Scene::of_dca();
        let mut swap = scene.swap();
        swap.args[1] = least.into_val(&scene.env);
        assert_eq!(scene.enforce(&swap), expected, "{least}");
    }
}

#[test]
fn more_or_fewer_arguments_are_refused() {
    let (scene, _) = Scene::of_dca();
    let swap = scene.swap();
    let mut more = swap.args.clone();
    more.push(().into_val(&scene.env));
    assert_eq!(scene.enforce(&with_args(&swap, more)), Err(ARGUMENT_REFUSED));
    let fewer = swap.args[..4].to_vec();
    assert_eq!(scene.enforce(&with_args(&swap, fewer)), Err(ARGUMENT_REFUSED));
}

#[test]
fn another_contract_or_function_is_refused() {
    let (scene, _) = Scene::of_dca();
    let (swap, pay) = (scene.swap(), scene.pay());
    let elsewhere = Made { contract: Address::generate(&scene.env), ..swap.clone() };
    assert_eq!(scene.enforce(&elsewhere), Err(RULE_REFUSED));
    let renamed = Made { function: "swap_tokens_for_exact_tokens", ..swap.clone() };
    assert_eq!(scene.enforce(&renamed), Err(CALL_NOT_LISTED));
    assert_eq!(scene.enforce(&swap), Ok(()));
    for function in ["approve", "burn", "transfer_from", "set_admin"] {
        assert_eq!(scene.enforce(&Made { function, ..pay.clone() }), Err(CALL_NOT_LISTED));
    }
}

#[test]
fn deadline_may_be_now_or_the_wait_away() {
    for (offset, expected) in [(0, Ok(())), (WAIT, Ok(())), (WAIT + 1, Err(ARGUMENT_REFUSED))] {
        let (scene, _) = Scene::of_dca();
        let mut swap = scene.swap();
        swap.args[4] = (scene.now() + offset).into_val(&scene.env);
        assert_eq!(scene.enforce(&swap), expected);
    }
}

#[test]
fn call_outside_of_the_window_is_refused() {
    for (at, expected) in [
        (START - 1, Err(TOO_EARLY)),
        (START, Ok(())),
        (START + MONTH, Ok(())),
        (START + MONTH + 1, Err(EXPIRED)),
    ] {
        let (scene, _) = Scene::of_dca();
        scene.env.ledger().set_timestamp(at);
        assert_eq!(scene.enforce(&scene.swap()), expected, "at {at}");
    }
}

#[test]
fn call_before_the_interval_has_passed_is_refused() {
    let (scene, _) = Scene::of_dca();
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
    pass(&scene.env, INTERVAL - 1);
    assert_eq!(scene.enforce(&scene.swap()), Err(INTERVAL_NOT_PASSED));
    pass(&scene.env, 1);
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
}

#[test]
fn call_without_the_delegate_among_the_signers_is_refused() {
    let (scene, _) = Scene::of_dca();
    let env = &scene.env;
    let stranger = Address::generate(env);
    let forged =
        list(env, &[symbol(env, "External"), stranger.to_val(), support::bytes(env, scene.parties.delegate)]);
    let delegated = list(env, &[symbol(env, "Delegated"), scene.parties.account.to_val()]);
    let other = scene.external(key(8).verifying_key().to_bytes());
    for signers in [vec![], vec![forged], vec![delegated], vec![other], vec![forged, delegated, other]] {
        assert_eq!(scene.enforce(&Made { signers, ..scene.swap() }), Err(DELEGATE_MISSING));
    }
    let both = vec![other, scene.delegate()];
    assert_eq!(scene.enforce(&Made { signers: both, ..scene.swap() }), Ok(()));
}

#[test]
fn nested_transfer_is_refused_as_a_root_and_in_another_ledger_and_twice() {
    let (scene, _) = Scene::of_dca();
    assert_eq!(scene.enforce(&scene.pay()), Err(NO_TICKET), "as a root");
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
    pass(&scene.env, 0);
    assert_eq!(scene.enforce(&scene.pay()), Err(NO_TICKET), "in the next ledger");
    pass(&scene.env, INTERVAL);
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
    assert_eq!(scene.enforce(&scene.pay()), Ok(()));
    assert_eq!(scene.enforce(&scene.pay()), Err(NO_TICKET), "twice");
}

#[test]
fn rule_that_was_not_installed_is_refused() {
    let (scene, _) = Scene::of_dca();
    assert_eq!(scene.enforce(&Made { rule: 6, ..scene.swap() }), Err(NOT_FOUND));
    let crossed = Made { rule: TOKEN_RULE, ..scene.swap() };
    assert_eq!(scene.enforce(&crossed), Err(RULE_REFUSED), "the rule of the token");
    let account = Address::generate(&scene.env);
    assert_eq!(scene.enforce(&Made { account, ..scene.swap() }), Err(NOT_FOUND), "another account");
}

#[test]
fn guard_acts_only_with_the_authority_of_the_account() {
    let (scene, spec) = Scene::of_dca();
    scene.env.set_auths(&[]);
    assert_eq!(scene.enforce(&scene.swap()), Err(0));
    assert_eq!(scene.install(&spec, scene.rule(8, &scene.parties.router)), Err(0));
    assert_eq!(scene.close(&spec, None), Err(0));
    let rule = scene.rule(ROUTER_RULE, &scene.parties.router);
    let args = [rule, scene.parties.account.to_val()];
    assert_eq!(attempt(&scene.env, &scene.guard, "uninstall", &args), Err(0));
    // the control: the same with it
    let stranger = Address::generate(&scene.env);
    let id = scene.policy_id(&spec);
    let close = (&scene.parties.account, &id, None::<BytesN<64>>).into_val(&scene.env);
    for (address, expected) in [(&stranger, Err(0)), (&scene.parties.account, Ok(()))] {
        let invoke = MockAuthInvoke {
            contract: &scene.guard,
            fn_name: "close",
            args: soroban_sdk::Vec::clone(&close),
            sub_invokes: &[],
        };
        scene.env.mock_auths(&[MockAuth { address, invoke: &invoke }]);
        assert_eq!(scene.close(&spec, None), expected);
    }
}

#[test]
fn closed_session_allows_nothing_for_ever() {
    for by_delegate in [false, true] {
        let (scene, spec) = Scene::of_dca();
        let signature = by_delegate.then(|| sign(&scene.env, &key(9), &scene.close_digest(&spec)));
        assert_eq!(scene.close(&spec, signature), Ok(()));
        assert_eq!(scene.enforce(&scene.swap()), Err(CLOSED));
        assert_eq!(scene.install(&spec, scene.rule(8, &scene.parties.router)), Err(CLOSED));
    }
}

#[test]
fn close_needs_the_delegates_own_signature_of_this_session() {
    let (scene, spec) = Scene::of_dca();
    let digest = scene.close_digest(&spec);
    assert_eq!(scene.close(&spec, Some(sign(&scene.env, &key(8), &digest))), Err(0), "another key");
    let other = scene.policy_id(&spec);
    assert_eq!(scene.close(&spec, Some(sign(&scene.env, &key(9), &other))), Err(0), "another digest");
    assert_eq!(scene.enforce(&scene.swap()), Ok(()), "still open");
}

#[test]
fn uninstalled_rule_closes_the_session() {
    let (scene, spec) = Scene::of_dca();
    let rule = scene.rule(TOKEN_RULE, &scene.parties.sold);
    let args = [rule, scene.parties.account.to_val()];
    assert_eq!(attempt(&scene.env, &scene.guard, "uninstall", &args), Ok(()));
    assert_eq!(scene.enforce(&scene.swap()), Err(CLOSED));
    assert_eq!(scene.enforce(&scene.pay()), Err(NOT_FOUND));
    assert_eq!(attempt(&scene.env, &scene.guard, "uninstall", &args), Err(NOT_FOUND));
    assert_eq!(scene.install(&spec, rule), Err(CLOSED), "it does not begin anew");
}

#[test]
fn second_installation_is_refused() {
    let (scene, spec) = Scene::of_dca();
    let router = &scene.parties.router;
    assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, router)), Err(ALREADY_INSTALLED));
    assert_eq!(scene.install(&spec, scene.rule(9, router)), Err(ALREADY_INSTALLED), "as another rule");
    let mut other = spec.clone();
    other.max_uses += 1;
    assert_eq!(
        scene.install(&other, scene.rule(ROUTER_RULE, router)),
        Err(ALREADY_INSTALLED),
        "another session for a rule that has one"
    );
}

#[test]
fn missing_state_allows_nothing() {
    for name in ["Spec", "State", "Installed"] {
        let (scene, spec) = Scene::of_dca();
        let (env, account) = (&scene.env, scene.parties.account.to_val());
        let last =
            if name == "Installed" { ROUTER_RULE.into_val(env) } else { scene.policy_id(&spec).to_val() };
        env.as_contract(&scene.guard, || {
            let key = (Symbol::new(env, name), account, last);
            assert!(env.storage().persistent().has(&key));
            env.storage().persistent().remove(&key);
        });
        assert_eq!(scene.enforce(&scene.swap()), Err(NOT_FOUND), "without {name}");
    }
}

#[test]
fn caps_bind_a_run_and_the_sum_of_all_runs() {
    for (per_run, total, expected) in [
        (SOLD, SOLD, [Ok(()), Err(CAP_REACHED)]),
        (SOLD, 2 * SOLD, [Ok(()), Ok(())]),
        (SOLD - 1, 2 * SOLD, [Err(CAP_REACHED), Err(CAP_REACHED)]),
    ] {
        let scene = Scene::new();
        let mut spec = scene.parties.dca(&scene.env, "session");
        spec.caps[0] = (scene.parties.sold.clone(), per_run, total);
        for (id, contract) in [(ROUTER_RULE, &scene.parties.router), (TOKEN_RULE, &scene.parties.sold)] {
            assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
        }
        for outcome in expected {
            assert_eq!(scene.enforce(&scene.swap()), Ok(()));
            assert_eq!(scene.enforce(&scene.pay()), outcome);
            pass(&scene.env, INTERVAL);
        }
    }
}

#[test]
fn nested_transfer_of_another_root_call_is_refused() {
    let scene = Scene::new();
    let (env, parties) = (&scene.env, &scene.parties);
    let spec = parties.rebalance(env, "session");
    let bought_rule = 6;
    for (id, contract) in
        [(ROUTER_RULE, &parties.router), (TOKEN_RULE, &parties.sold), (bought_rule, &parties.bought)]
    {
        assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
    }
    for token in [&parties.sold, &parties.bought] {
        let asset = list(env, &[symbol(env, "Stellar"), token.to_val()]);
        let args = [asset, 1_i128.into_val(env), scene.now().into_val(env)];
        support::call(env, &parties.oracle, "set", &args);
    }
    let mut swap = scene.swap();
    swap.args[1] = SOLD.into_val(env);
    assert_eq!(scene.enforce(&swap), Ok(()));
    let wrong = Made { contract: parties.bought.clone(), rule: bought_rule, ..scene.pay() };
    assert_eq!(scene.enforce(&wrong), Err(NO_TICKET), "it belongs to the other direction");
    assert_eq!(scene.enforce(&scene.pay()), Ok(()));
}

#[test]
fn negative_amount_is_refused_though_its_rule_allows_it() {
    let scene = Scene::new();
    let (env, parties) = (&scene.env, &scene.parties);
    let mut spec = parties.dca(env, "session");
    let bounds = [(-SOLD).into_val(env), SOLD.into_val(env)];
    spec.calls[1].args[2] = support::specs::rule(env, "Range", &bounds);
    for (id, contract) in [(ROUTER_RULE, &parties.router), (TOKEN_RULE, &parties.sold)] {
        assert_eq!(scene.install(&spec, scene.rule(id, contract)), Ok(()));
    }
    assert_eq!(scene.enforce(&scene.swap()), Ok(()));
    let mut pay = scene.pay();
    pay.args[2] = (-1_i128).into_val(env);
    assert_eq!(scene.enforce(&pay), Err(ARGUMENT_REFUSED));
    pay.args[2] = 1_u64.into_val(env);
    assert_eq!(scene.enforce(&pay), Err(ARGUMENT_REFUSED), "an amount of another type");
    pay.args[2] = 1_i128.into_val(env);
    assert_eq!(scene.enforce(&pay), Ok(()));
}
