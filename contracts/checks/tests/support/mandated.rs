//! An owner with two tokens, a market for them, and a mandate that its factory made.

use ed25519_dalek::SigningKey;
use soroban_sdk::{
    Address, BytesN, Env, IntoVal, Symbol, TryFromVal, Val, Vec,
    testutils::{Address as _, MockAuth, MockAuthInvoke},
    token::TokenClient,
};

use super::{
    FACTORY, FEED, KEEPER, MANDATE, Outcome, POOL, ROUTER, attempt, call, classic, digest, held, host, key,
    list, sign,
    specs::{Parties, SOLD, Spec, WAIT, invocation},
    token,
};

pub const OWNED: i128 = 10_000;
const LIQUIDITY: i128 = 1_000_000;
const LIVE: u32 = 600_000;

pub struct Scene {
    pub env: Env,
    pub factory: Address,
    pub mandate: Address,
    pub parties: Parties,
    pub spec: Spec,
}

/// A run as it is submitted; what the delegate signs of it may be another one.
#[derive(Clone)]
pub struct Run {
    pub index: u32,
    pub valid_until: u32,
    pub calls: std::vec::Vec<(u32, std::vec::Vec<Val>)>,
}

impl Scene {
    /// An owner with a mandate of the specification that is made of the parties.
    pub fn new(spec: fn(&Env, &Parties) -> Spec) -> Self {
        let env = host();
        let owner = Address::generate(&env);
        let parties = parties(&env, &owner);
        let code = env.deployer().upload_contract_wasm(MANDATE);
        let factory = env.register(FACTORY, (code,));
        let spec = spec(&env, &parties);
        let mut scene = Scene { mandate: factory.clone(), env, factory, parties, spec };
        scene.mandate = scene.place();
        assert_eq!(scene.open(LIVE, LIVE), Ok(()));
        scene
    }

    pub fn policy_id(&self) -> BytesN<32> {
        digest(&self.env, "x402.automation.policy.v1", self.spec.value(&self.env))
    }

    /// Where the factory says that the mandate is.
    pub fn place(&self) -> Address {
        let place = call(&self.env, &self.factory, "address_of", &[self.policy_id().to_val()]);
        Address::try_from_val(&self.env, &place).unwrap()
    }

    /// Opens the mandate by the owner's signature of `signed` as the last ledger of the approvals.
    pub fn open(&self, live_until: u32, signed: u32) -> Outcome {
        let env = &self.env;
        let owner = &self.parties.account;
        let approvals: std::vec::Vec<(Address, Vec<Val>)> = (self.spec.caps.iter())
            .filter(|(_, _, total)| *total > 0)
            .map(|(token, _, total)| (token.clone(), (owner, &self.mandate, total, signed).into_val(env)))
            .collect();
        let nested: std::vec::Vec<MockAuthInvoke> = (approvals.iter())
            .map(|(token, args)| MockAuthInvoke {
                contract: token,
                fn_name: "approve",
                args: args.clone(),
                sub_invokes: &[],
            })
            .collect();
        let args: Vec<Val> = Vec::from_array(env, [self.spec.value(env), signed.into_val(env)]);
        let invoke = MockAuthInvoke { contract: &self.factory, fn_name: "open", args, sub_invokes: &nested };
        env.mock_auths(&[MockAuth { address: owner, invoke: &invoke }]);
        let outcome = attempt(env, &self.factory, "open", &[self.spec.value(env), live_until.into_val(env)]);
        env.set_auths(&[]);
        outcome
    }

    pub fn last_ledger(&self) -> u32 {
        self.env.ledger().sequence() + 24
    }

    /// The run of a DCA plan as it was recorded.
    pub fn swap(&self, index: u32) -> Run {
        let env = &self.env;
        let swap = vec![
            SOLD.into_val(env),
            (SOLD / 2).into_val(env),
            self.parties.path(env),
            self.mandate.to_val(),
            (env.ledger().timestamp() + WAIT).into_val(env),
        ];
        let pay = vec![self.mandate.to_val(), self.parties.pair.to_val(), SOLD.into_val(env)];
        Run { index, valid_until: self.last_ledger(), calls: vec![(0, swap), (1, pay)] }
    }

    pub fn calls(&self, run: &Run) -> Val {
        let env = &self.env;
        let calls: std::vec::Vec<Val> =
            run.calls.iter().map(|(call, args)| invocation(env, *call, args)).collect();
        list(env, &calls)
    }

    pub fn run_digest(&self, run: &Run) -> BytesN<32> {
        let env = &self.env;
        let ids = [self.mandate.to_val(), self.policy_id().to_val()];
        let bounds: [Val; 2] = [run.index.into_val(env), run.valid_until.into_val(env)];
        let signed = [ids[0], ids[1], bounds[0], bounds[1], self.calls(run)];
        digest(env, "x402.automation.run.v1", list(env, &signed))
    }

    /// Submits a run with a signature of `signed`.
    pub fn submit(&self, run: &Run, signed: &Run, key: &SigningKey) -> Outcome {
        let env = &self.env;
        let signature = sign(env, key, &self.run_digest(signed));
        let args =
            [run.index.into_val(env), run.valid_until.into_val(env), self.calls(run), signature.to_val()];
        attempt(env, &self.mandate, "run", &args)
    }

    /// Submits a run that the delegate signed.
    pub fn run(&self, run: &Run) -> Outcome {
        self.submit(run, run, &key(9))
    }

    pub fn close_digest(&self) -> BytesN<32> {
        let signed = [self.mandate.to_val(), self.policy_id().to_val()];
        digest(&self.env, "x402.automation.close.v1", list(&self.env, &signed))
    }

    pub fn close(&self, signature: Option<BytesN<64>>) -> Outcome {
        attempt(&self.env, &self.mandate, "close", &[signature.into_val(&self.env)])
    }

    pub fn owned(&self, token: &Address) -> i128 {
        held(&self.env, token, &self.parties.account)
    }
}

fn parties(env: &Env, owner: &Address) -> Parties {
    let maker = Address::generate(env);
    let (sold, bought) = (token(env, &maker, 2 * LIQUIDITY), token(env, &maker, 2 * LIQUIDITY));
    let pair = env.register(POOL, (&sold, &bought));
    env.mock_all_auths();
    for token in [&sold, &bought] {
        let client = TokenClient::new(env, token);
        client.transfer(&maker, &pair, &LIQUIDITY);
        client.transfer(&maker, owner, &OWNED);
    }
    call(env, &pair, "sync", &[]);
    env.set_auths(&[]);
    Parties {
        account: owner.clone(),
        bought,
        delegate: key(9).verifying_key().to_bytes(),
        oracle: env.register(FEED, ()),
        router: env.register(ROUTER, (Vec::from_array(env, [pair.clone()]),)),
        pair,
        payees: [classic(env, 21), Address::generate(env), Address::generate(env)],
        sold,
        target: env.register(KEEPER, (true, 0_u64)),
    }
}

pub fn count(env: &Env, keeper: &Address) -> u32 {
    let state = call(env, keeper, "state", &[]);
    let state = soroban_sdk::Map::<Symbol, Val>::try_from_val(env, &state).unwrap();
    u32::try_from_val(env, &state.get(Symbol::new(env, "count")).unwrap()).unwrap()
}
