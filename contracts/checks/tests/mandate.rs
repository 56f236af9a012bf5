//! A mandate makes the recorded run, with no signature but the delegate's, and refuses every
//! single change of it. No authority is taken as given here.

mod support;

use soroban_sdk::{
    Address, BytesN, IntoVal, Val,
    testutils::{Address as _, Ledger as _, MockAuth, MockAuthInvoke},
    token::TokenClient,
};
use support::{
    MONTH, START, attempt, held, key, list,
    mandated::{OWNED, Run, Scene, count},
    pass, sign,
    specs::{INTERVAL, SOLD, USES, WAIT},
};

const CLOSED: u32 = 4002;
const TOO_EARLY: u32 = 4003;
const EXPIRED: u32 = 4004;
const CALL_NOT_LISTED: u32 = 4009;
const ARGUMENT_REFUSED: u32 = 4010;
const USED_UP: u32 = 4012;
const INTERVAL_NOT_PASSED: u32 = 4013;
const CAP_REACHED: u32 = 4014;
const RUN_INDEX_USED: u32 = 4016;
const SIGNATURE_EXPIRED: u32 = 4017;
const RUN_REFUSED: u32 = 4018;

fn of_dca() -> Scene {
    Scene::new(|env, parties| parties.dca(env, "mandate"))
}

#[test]
fn recorded_run_moves_the_owners_tokens_and_keeps_nothing() {
    let scene = of_dca();
    let (sold, bought) = (scene.parties.sold.clone(), scene.parties.bought.clone());
    for use_ in 1..=USES {
        let before = scene.owned(&bought);
        assert_eq!(scene.run(&scene.swap(use_)), Ok(()));
        assert_eq!(scene.owned(&sold), OWNED - SOLD * i128::from(use_));
        assert!(scene.owned(&bought) - before >= SOLD / 2);
        for token in [&sold, &bought] {
            assert_eq!(held(&scene.env, token, &scene.mandate), 0);
        }
        pass(&scene.env, INTERVAL);
    }
    assert_eq!(scene.run(&scene.swap(USES + 1)), Err(USED_UP));
    let left = TokenClient::new(&scene.env, &sold).allowance(&scene.parties.account, &scene.mandate);
    assert_eq!(left, 0);
}

#[test]
fn every_other_value_of_every_argument_is_refused_though_the_delegate_signed_it() {
    let scene = of_dca();
    let env = &scene.env;
    let others: Vec<Val> = vec![
        (SOLD + 1).into_val(env),
        (SOLD - 1).into_val(env),
        0_i128.into_val(env),
        (-SOLD).into_val(env),
        (SOLD as u64).into_val(env),
        ().into_val(env),
        Address::generate(env).to_val(),
        scene.parties.account.to_val(),
        scene.parties.sold.to_val(),
        list(env, &[scene.parties.bought.to_val(), scene.parties.sold.to_val()]),
        list(env, &[]),
        (START - 1).into_val(env),
        (START + WAIT + 1).into_val(env),
    ];
    let recorded = scene.swap(1);
    for call in 0..recorded.calls.len() {
        for at in 0..recorded.calls[call].1.len() {
            for value in &others {
                if (call, at) == (0, 1) && support::is_number_above(env, *value, SOLD / 2) {
                    continue; // better than the owner asks for
                }
                let mut run = recorded.clone();
                run.calls[call].1[at] = *value;
                assert_eq!(scene.run(&run), Err(ARGUMENT_REFUSED), "call {call} argument {at}");
            }
        }
    }
    assert_eq!(scene.run(&recorded), Ok(()), "the control: nothing was changed");
}

#[test]
fn run_needs_the_delegates_signature_of_exactly_itself() {
    let scene = of_dca();
    let run = scene.swap(5);
    assert_eq!(scene.submit(&run, &run, &key(8)), Err(0), "another key");
    let other_index = Run { index: 6, ..run.clone() };
    let other_bound = Run { valid_until: run.valid_until + 1, ..run.clone() };
    let mut other_calls = run.clone();
    other_calls.calls[0].1[1] = SOLD.into_val(&scene.env);
    for signed in [other_index, other_bound, other_calls] {
        assert_eq!(scene.submit(&run, &signed, &key(9)), Err(0));
    }
    assert_eq!(scene.run(&run), Ok(()), "the control");
}

#[test]
fn run_of_another_mandate_is_refused() {
    let (one, mut other) = (of_dca(), of_dca());
    let run = other.swap(1);
    let place = other.mandate.clone();
    other.mandate = Address::generate(&other.env);
    let forged = other.run_digest(&run);
    other.mandate = place;
    let env = &other.env;
    let signature = sign(env, &key(9), &forged).to_val();
    let args = [run.index.into_val(env), run.valid_until.into_val(env), other.calls(&run), signature];
    assert_eq!(attempt(env, &other.mandate, "run", &args), Err(0));
    assert_eq!(one.run(&one.swap(1)), Ok(()), "the control");
}

#[test]
fn index_of_a_run_only_rises() {
    let scene = of_dca();
    assert_eq!(scene.run(&scene.swap(7)), Ok(()));
    pass(&scene.env, INTERVAL);
    for index in [0, 6, 7] {
        assert_eq!(scene.run(&scene.swap(index)), Err(RUN_INDEX_USED));
    }
    assert_eq!(scene.run(&scene.swap(8)), Ok(()));
}

#[test]
fn run_is_refused_after_its_last_ledger() {
    let scene = of_dca();
    let run = scene.swap(1);
    scene.env.ledger().set_sequence_number(run.valid_until + 1);
    assert_eq!(scene.run(&run), Err(SIGNATURE_EXPIRED));
    scene.env.ledger().set_sequence_number(run.valid_until);
    assert_eq!(scene.run(&run), Ok(()));
}

#[test]
fn run_outside_of_the_window_or_before_the_interval_is_refused() {
    for (at, expected) in
        [(START - 1, Err(TOO_EARLY)), (START + MONTH + 1, Err(EXPIRED)), (START + MONTH, Ok(()))]
    {
        let scene = of_dca();
        scene.env.ledger().set_timestamp(at);
        assert_eq!(scene.run(&scene.swap(1)), expected);
    }
    let scene = of_dca();
    assert_eq!(scene.run(&scene.swap(1)), Ok(()));
    pass(&scene.env, INTERVAL - 1);
    assert_eq!(scene.run(&scene.swap(2)), Err(INTERVAL_NOT_PASSED));
    pass(&scene.env, 1);
    assert_eq!(scene.run(&scene.swap(2)), Ok(()));
}

#[test]
fn run_that_is_not_one_root_call_and_what_is_under_it_is_refused() {
    let scene = of_dca();
    let run = scene.swap(1);
    let (swap, pay) = (run.calls[0].clone(), run.calls[1].clone());
    for (calls, expected) in [
        (vec![], RUN_REFUSED),
        (vec![pay.clone()], RUN_REFUSED),
        (vec![pay.clone(), swap.clone()], RUN_REFUSED),
        (vec![swap.clone(), swap.clone()], RUN_REFUSED),
        (vec![swap.clone(), pay.clone(), pay.clone()], RUN_REFUSED),
        (vec![(2, swap.1.clone())], CALL_NOT_LISTED),
        (vec![(1, swap.1.clone())], ARGUMENT_REFUSED),
        (vec![swap.clone()], 0), // the router cannot take what it sells
    ] {
        assert_eq!(scene.run(&Run { calls, ..run.clone() }), Err(expected));
    }
    assert_eq!(scene.owned(&scene.parties.sold), OWNED);
    assert_eq!(scene.run(&run), Ok(()), "the control");
}

#[test]
fn caps_bind_a_run_and_the_sum_of_all_runs() {
    let scene = Scene::new(|env, parties| {
        let mut spec = parties.dca(env, "mandate");
        spec.caps[0].2 = 2 * SOLD - 1;
        spec
    });
    assert_eq!(scene.run(&scene.swap(1)), Ok(()));
    pass(&scene.env, INTERVAL);
    assert_eq!(scene.run(&scene.swap(2)), Err(CAP_REACHED));
    let narrow = Scene::new(|env, parties| {
        let mut spec = parties.dca(env, "mandate");
        spec.caps[0].1 = SOLD - 1;
        spec
    });
    assert_eq!(narrow.run(&narrow.swap(1)), Err(CAP_REACHED));
}

#[test]
fn closed_mandate_makes_no_run() {
    let scene = of_dca();
    assert_eq!(scene.close(None), Err(0), "nobody signed");
    let digest = scene.close_digest();
    assert_eq!(scene.close(Some(sign(&scene.env, &key(8), &digest))), Err(0), "another key");
    let wrong = scene.policy_id();
    assert_eq!(scene.close(Some(sign(&scene.env, &key(9), &wrong))), Err(0), "another digest");
    assert_eq!(scene.close(Some(sign(&scene.env, &key(9), &digest))), Ok(()));
    assert_eq!(scene.run(&scene.swap(1)), Err(CLOSED));
    let owned = of_dca();
    let args = (None::<BytesN<64>>,).into_val(&owned.env);
    let invoke = MockAuthInvoke { contract: &owned.mandate, fn_name: "close", args, sub_invokes: &[] };
    owned.env.mock_auths(&[MockAuth { address: &owned.parties.account, invoke: &invoke }]);
    assert_eq!(owned.close(None), Ok(()));
    assert_eq!(owned.run(&owned.swap(1)), Err(CLOSED));
}

#[test]
fn mandate_is_opened_once_and_only_as_the_owner_signed() {
    let scene = of_dca();
    assert_eq!(scene.open(600_000, 600_000), Err(0), "it is there already");
    let mut other = of_dca();
    other.spec.max_uses += 1;
    other.mandate = other.place();
    assert_eq!(other.open(600_000, 600_001), Err(0), "another bound than was signed");
    assert_eq!(attempt(&other.env, &other.mandate, "state", &[]), Err(0), "nothing is there");
    assert_eq!(other.open(600_000, 600_000), Ok(()));
    assert_eq!(attempt(&other.env, &other.mandate, "state", &[]), Ok(()));
}

#[test]
fn payees_of_a_disbursement_get_their_amounts_and_no_others() {
    let scene = Scene::new(|env, parties| {
        let mut spec = parties.disbursement(env, "mandate");
        spec.calls[0].rows.remove(0); // a classic account without trustline
        spec
    });
    let (env, payees) = (&scene.env, scene.parties.payees.clone());
    let leg = |index: u32, payee: &Address, amount: i128| {
        let args = vec![scene.mandate.to_val(), payee.to_val(), amount.into_val(env)];
        scene.run(&Run { index, valid_until: scene.last_ledger(), calls: vec![(0, args)] })
    };
    assert_eq!(leg(1, &payees[1], 300), Err(ARGUMENT_REFUSED));
    assert_eq!(leg(1, &payees[1], 200), Ok(()));
    assert_eq!(leg(2, &payees[2], 300), Ok(()));
    assert_eq!(leg(3, &payees[2], 300), Err(INTERVAL_NOT_PASSED));
    let paid: Vec<i128> = payees[1..].iter().map(|payee| held(env, &scene.parties.sold, payee)).collect();
    assert_eq!(paid, [200, 300]);
    assert_eq!(scene.owned(&scene.parties.sold), OWNED - 500);
}

#[test]
fn keeper_that_demands_authority_runs_as_the_mandate() {
    let scene = Scene::new(|env, parties| parties.keeper(env, "mandate"));
    let run = |index: u32, executor: &Address| Run {
        index,
        valid_until: scene.last_ledger(),
        calls: vec![(0, vec![executor.to_val()])],
    };
    assert_eq!(scene.run(&run(1, &scene.parties.account)), Err(ARGUMENT_REFUSED));
    assert_eq!(scene.run(&run(1, &scene.mandate)), Ok(()));
    assert_eq!(count(&scene.env, &scene.parties.target), 1);
}

#[test]
fn stray_tokens_go_to_the_owner() {
    let scene = of_dca();
    let (env, sold) = (&scene.env, scene.parties.sold.clone());
    env.mock_all_auths();
    TokenClient::new(env, &sold).transfer(&scene.parties.account, &scene.mandate, &70);
    env.set_auths(&[]);
    assert_eq!(attempt(env, &scene.mandate, "sweep", &[sold.to_val()]), Ok(()));
    assert_eq!(scene.owned(&sold), OWNED);
}

#[test]
fn specification_that_a_mandate_does_not_take_is_not_opened() {
    let changes: [fn(&mut support::specs::Spec); 5] = [
        |spec| spec.mode = "session",
        |spec| spec.version = 2,
        |spec| spec.calls[0].contract = spec.account.clone(),
        |spec| spec.calls[1].amount = None,
        |spec| spec.not_after = START - 1,
    ];
    for change in changes {
        let mut scene = of_dca();
        scene.spec.max_uses += 1; // another mandate than the one that is there
        change(&mut scene.spec);
        scene.mandate = scene.place();
        assert!(scene.open(600_000, 600_000).is_err());
        assert_eq!(attempt(&scene.env, &scene.mandate, "state", &[]), Err(0), "nothing is there");
    }
}

#[test]
fn specification_may_not_call_the_mandate_itself() {
    let mut scene = of_dca();
    scene.spec.max_uses += 1;
    let place = scene.place();
    // the address depends on the specification, so that it cannot be in it; any other may be
    scene.spec.calls[0].contract = place.clone();
    scene.mandate = scene.place();
    assert_ne!(scene.mandate, place);
    assert_eq!(scene.open(600_000, 600_000), Ok(()));
}
