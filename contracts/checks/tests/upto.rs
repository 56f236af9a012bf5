//! A grant is captured once, by its captor, up to its maximum, in its window.

mod support;

use soroban_sdk::{
    Address, BytesN, Env, IntoVal, TryFromVal, Val, Vec, contract, contractimpl,
    testutils::{Address as _, Ledger as _, MockAuth, MockAuthInvoke},
    token::TokenClient,
};
use support::{LEDGER, Outcome, START, UPTO, attempt, call, held, host, list, record, symbol, token};

const NOT_YET_VALID: u32 = 1;
const EXPIRED: u32 = 2;
const EXPIRES_TOO_LATE: u32 = 3;
const AMOUNT_REFUSED: u32 = 4;
const ALREADY_CAPTURED: u32 = 5;
const CANCELLED: u32 = 6;
const VOIDED: u32 = 7;
const TOKEN_REFUSED: u32 = 8;

const MOST: i128 = 500;
const OWNED: i128 = 2_000;

#[derive(Clone)]
struct Grant {
    asset: Address,
    captor: Address,
    expiration_ledger: u32,
    max_amount: i128,
    nonce: [u8; 32],
    pay_to: Address,
    payer: Address,
}

impl Grant {
    fn value(&self, env: &Env) -> Val {
        record(
            env,
            &[
                ("asset", self.asset.to_val()),
                ("captor", self.captor.to_val()),
                ("context", BytesN::from_array(env, &[3; 32]).to_val()),
                ("expiration_ledger", self.expiration_ledger.into_val(env)),
                ("max_amount", self.max_amount.into_val(env)),
                ("nonce", BytesN::from_array(env, &self.nonce).to_val()),
                ("not_after", (START + 300).into_val(env)),
                ("not_before", (START + 10).into_val(env)),
                ("pay_to", self.pay_to.to_val()),
                ("payer", self.payer.to_val()),
            ],
        )
    }
}

struct Scene {
    env: Env,
    upto: Address,
    grant: Grant,
}

impl Scene {
    fn new() -> Self {
        let env = host();
        env.ledger().set_timestamp(START + 10);
        let payer = Address::generate(&env);
        let grant = Grant {
            asset: token(&env, &payer, OWNED),
            captor: Address::generate(&env),
            expiration_ledger: LEDGER + 100,
            max_amount: MOST,
            nonce: [1; 32],
            pay_to: Address::generate(&env),
            payer,
        };
        Scene { upto: env.register(UPTO, ()), grant, env }
    }

    /// Captures with the payer's signature of `signed` and the captor's of the call.
    fn capture_as(&self, grant: &Grant, signed: &Grant, captor: &Address, amount: i128) -> Outcome {
        let env = &self.env;
        let usage = BytesN::from_array(env, &[4; 32]).to_val();
        let args = [grant.value(env), amount.into_val(env), usage];
        let most = (&signed.payer, &self.upto, signed.max_amount, signed.expiration_ledger).into_val(env);
        let none = (&signed.payer, &self.upto, 0_i128, 0_u32).into_val(env);
        let approvals = [most, none].map(|args: Vec<Val>| MockAuthInvoke {
            contract: &signed.asset,
            fn_name: "approve",
            args,
            sub_invokes: &[],
        });
        let of_payer = MockAuthInvoke {
            contract: &self.upto,
            fn_name: "capture",
            args: Vec::from_array(env, [signed.value(env)]),
            sub_invokes: &approvals,
        };
        let of_captor = MockAuthInvoke {
            contract: &self.upto,
            fn_name: "capture",
            args: Vec::from_array(env, args),
            sub_invokes: &[],
        };
        env.mock_auths(&[
            MockAuth { address: &signed.payer, invoke: &of_payer },
            MockAuth { address: captor, invoke: &of_captor },
        ]);
        attempt(env, &self.upto, "capture", &args)
    }

    fn capture(&self, amount: i128) -> Outcome {
        self.capture_as(&self.grant, &self.grant, &self.grant.captor, amount)
    }

    fn status(&self) -> Val {
        let nonce = BytesN::from_array(&self.env, &self.grant.nonce).to_val();
        call(&self.env, &self.upto, "status", &[self.grant.payer.to_val(), self.grant.captor.to_val(), nonce])
    }

    fn is_status(&self, name: &str, amount: Option<i128>) -> bool {
        let mut expected = vec![symbol(&self.env, name)];
        if let Some(amount) = amount {
            expected.push(amount.into_val(&self.env));
        }
        let found = Vec::<Val>::try_from_val(&self.env, &self.status()).unwrap();
        found == Vec::<Val>::try_from_val(&self.env, &list(&self.env, &expected)).unwrap()
    }

    fn signed(&self, address: &Address, function: &'static str, args: &[Val]) -> Outcome {
        let args: Vec<Val> = Vec::from_slice(&self.env, args);
        let invoke =
            MockAuthInvoke { contract: &self.upto, fn_name: function, args: args.clone(), sub_invokes: &[] };
        self.env.mock_auths(&[MockAuth { address, invoke: &invoke }]);
        let values: std::vec::Vec<Val> = args.iter().collect();
        attempt(&self.env, &self.upto, function, &values)
    }

    fn cancel(&self, by: &Address) -> Outcome {
        self.signed(by, "cancel", &[self.grant.value(&self.env)])
    }

    fn void(&self, by: &Address, captor: &Address) -> Outcome {
        let nonce = BytesN::from_array(&self.env, &self.grant.nonce).to_val();
        self.signed(by, "void", &[self.grant.payer.to_val(), captor.to_val(), nonce])
    }
}

#[test]
fn nothing_a_part_or_the_maximum_is_captured_once() {
    for amount in [0, 1, 200, MOST] {
        let scene = Scene::new();
        let Grant { asset, payer, pay_to, .. } = scene.grant.clone();
        assert!(scene.is_status("Open", None));
        assert_eq!(scene.capture(amount), Ok(()));
        assert!(scene.is_status("Captured", Some(amount)));
        assert_eq!(held(&scene.env, &asset, &pay_to), amount);
        assert_eq!(held(&scene.env, &asset, &payer), OWNED - amount);
        assert_eq!(TokenClient::new(&scene.env, &asset).allowance(&payer, &scene.upto), 0);
        assert_eq!(scene.capture(amount), Err(ALREADY_CAPTURED));
        assert_eq!(scene.cancel(&payer), Err(ALREADY_CAPTURED));
        assert_eq!(scene.void(&scene.grant.captor, &scene.grant.captor), Err(ALREADY_CAPTURED));
    }
}

#[test]
fn amount_above_the_maximum_or_below_nothing_is_refused() {
    let scene = Scene::new();
    for amount in [MOST + 1, -1, i128::MAX, i128::MIN] {
        assert_eq!(scene.capture(amount), Err(AMOUNT_REFUSED));
    }
    assert_eq!(scene.capture(MOST), Ok(()), "the control");
}

#[test]
fn grant_that_differs_from_the_signed_one_is_refused() {
    let scene = Scene::new();
    let stranger = Address::generate(&scene.env);
    let signed = scene.grant.clone();
    let changed = [
        Grant { pay_to: stranger.clone(), ..signed.clone() },
        Grant { max_amount: MOST + 1, ..signed.clone() },
        Grant { nonce: [2; 32], ..signed.clone() },
        Grant { expiration_ledger: LEDGER + 101, ..signed.clone() },
        Grant { asset: token(&scene.env, &signed.payer, OWNED), ..signed.clone() },
        Grant { captor: stranger.clone(), ..signed.clone() },
    ];
    for grant in changed {
        assert_eq!(scene.capture_as(&grant, &signed, &grant.captor, 100), Err(0));
    }
    assert_eq!(scene.capture_as(&signed, &signed, &stranger, 100), Err(0), "another captor");
    assert_eq!(scene.capture(100), Ok(()), "the control");
}

#[test]
fn capture_outside_of_the_window_is_refused() {
    let scene = Scene::new();
    let ledger = scene.env.ledger();
    ledger.set_timestamp(START + 9);
    assert_eq!(scene.capture(1), Err(NOT_YET_VALID));
    ledger.set_timestamp(START + 301);
    assert_eq!(scene.capture(1), Err(EXPIRED));
    ledger.set_timestamp(START + 300);
    ledger.set_sequence_number(LEDGER + 101);
    assert_eq!(scene.capture(1), Err(EXPIRED));
    ledger.set_sequence_number(LEDGER + 100);
    assert_eq!(scene.capture(1), Ok(()));
    let mut far = Scene::new();
    far.grant.expiration_ledger = LEDGER + 17_281;
    assert_eq!(far.capture(1), Err(EXPIRES_TOO_LATE));
    far.grant.expiration_ledger = LEDGER + 17_280;
    assert_eq!(far.capture(1), Ok(()));
}

#[test]
fn record_outlives_the_grant() {
    let scene = Scene::new();
    assert_eq!(scene.capture(1), Ok(()));
    scene.env.ledger().set_sequence_number(scene.grant.expiration_ledger);
    assert_eq!(scene.capture(1), Err(ALREADY_CAPTURED));
    scene.env.ledger().set_sequence_number(scene.grant.expiration_ledger + 1);
    assert_eq!(scene.capture(1), Err(EXPIRED));
}

#[test]
fn payer_cancels_and_nobody_else() {
    let scene = Scene::new();
    let stranger = Address::generate(&scene.env);
    assert_eq!(scene.cancel(&stranger), Err(0));
    assert_eq!(scene.cancel(&scene.grant.captor), Err(0));
    assert_eq!(scene.cancel(&scene.grant.payer), Ok(()));
    assert!(scene.is_status("Cancelled", None));
    assert_eq!(scene.capture(1), Err(CANCELLED));
}

#[test]
fn captor_voids_what_was_granted_to_it_and_nothing_else() {
    let scene = Scene::new();
    let captor = scene.grant.captor.clone();
    let stranger = Address::generate(&scene.env);
    assert_eq!(scene.void(&stranger, &captor), Err(0), "in the captor's name");
    assert_eq!(scene.void(&stranger, &stranger), Ok(()), "in its own");
    assert_eq!(scene.capture(1), Ok(()), "which ends nothing of the captor's");
    let other = Scene::new();
    assert_eq!(other.void(&other.grant.captor, &other.grant.captor), Ok(()));
    assert!(other.is_status("Voided", None));
    assert_eq!(other.capture(1), Err(VOIDED));
}

#[test]
fn void_outlives_every_authorization() {
    let scene = Scene::new();
    assert_eq!(scene.void(&scene.grant.captor, &scene.grant.captor), Ok(()));
    scene.env.ledger().set_sequence_number(scene.grant.expiration_ledger);
    assert_eq!(scene.capture(1), Err(VOIDED));
}

#[test]
fn cancel_needs_a_grant_whose_record_can_outlive_it() {
    let mut scene = Scene::new();
    scene.grant.expiration_ledger = LEDGER - 1;
    assert_eq!(scene.cancel(&scene.grant.payer), Err(EXPIRED));
    scene.grant.expiration_ledger =
        LEDGER + scene.env.as_contract(&scene.upto, || scene.env.storage().max_ttl());
    assert_eq!(scene.cancel(&scene.grant.payer), Err(EXPIRES_TOO_LATE));
    scene.grant.expiration_ledger -= 1;
    assert_eq!(scene.cancel(&scene.grant.payer), Ok(()));
}

#[test]
fn nothing_is_captured_without_the_token() {
    let mut scene = Scene::new();
    scene.grant.asset = Address::generate(&scene.env); // no contract
    assert_eq!(scene.capture(1), Err(0));
    assert_eq!(scene.capture(0), Ok(()));
}

/// How a token of the tests errs.
const KEEPS_APPROVAL: u32 = 1;
const COUNTS_NOTHING: u32 = 2;
const PAYS_SPENDER: u32 = 3;

#[contract]
struct OddToken;

#[contractimpl]
impl OddToken {
    pub fn __constructor(env: Env, how: u32) {
        env.storage().instance().set(&0_u32, &how);
    }

    pub fn approve(env: Env, from: Address, spender: Address, amount: i128, _live_until: u32) {
        from.require_auth();
        if amount > 0 || !is(&env, KEEPS_APPROVAL) {
            env.storage().instance().set(&(from, spender), &amount);
        }
    }

    pub fn allowance(env: Env, from: Address, spender: Address) -> i128 {
        env.storage().instance().get(&(from, spender)).unwrap_or(0)
    }

    pub fn transfer_from(env: Env, spender: Address, from: Address, _to: Address, amount: i128) {
        spender.require_auth();
        let left = OddToken::allowance(env.clone(), from.clone(), spender.clone()) - amount;
        if !is(&env, COUNTS_NOTHING) {
            env.storage().instance().set(&(from, spender.clone()), &left);
        }
        if is(&env, PAYS_SPENDER) {
            env.storage().instance().set(&spender, &1_i128);
        }
    }

    pub fn balance(env: Env, id: Address) -> i128 {
        env.storage().instance().get(&id).unwrap_or(0)
    }
}

fn is(env: &Env, how: u32) -> bool {
    env.storage().instance().get::<u32, u32>(&0) == Some(how)
}

#[test]
fn token_that_leaves_an_allowance_or_pays_the_contract_is_refused() {
    for (how, amount, expected) in [
        (0, 200, Ok(())),
        (0, MOST, Ok(())),
        (KEEPS_APPROVAL, 200, Err(TOKEN_REFUSED)),
        (KEEPS_APPROVAL, MOST, Ok(())),
        (COUNTS_NOTHING, 200, Ok(())),
        (COUNTS_NOTHING, MOST, Err(TOKEN_REFUSED)),
        (PAYS_SPENDER, 200, Err(TOKEN_REFUSED)),
        (PAYS_SPENDER, MOST, Err(TOKEN_REFUSED)),
    ] {
        let mut scene = Scene::new();
        scene.grant.asset = scene.env.register(OddToken, (how,));
        assert_eq!(scene.capture(amount), expected, "{how} {amount}");
        let is_open = expected.is_err();
        assert_eq!(scene.is_status("Open", None), is_open);
    }
}
