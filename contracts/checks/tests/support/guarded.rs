//! A guard with one account, whose authority is taken as given: what the account itself checks is
//! not the guard's to say.

use soroban_sdk::{
    Address, Bytes, BytesN, Env, IntoVal, Symbol, TryFromVal, Val, Vec,
    auth::{Context, ContractContext},
    testutils::Address as _,
};

use super::{
    GUARD, Outcome, attempt, call, classic, digest, host, key, list, record,
    specs::{Parties, SOLD, Spec, WAIT},
    symbol, text,
};

pub const ROUTER_RULE: u32 = 4;
pub const TOKEN_RULE: u32 = 5;

/// A call as the account's check sees it.
#[derive(Clone)]
pub struct Made {
    pub contract: Address,
    pub function: &'static str,
    pub args: std::vec::Vec<Val>,
    pub rule: u32,
    pub signers: std::vec::Vec<Val>,
    pub account: Address,
}

pub struct Scene {
    pub env: Env,
    pub guard: Address,
    pub verifier: Address,
    pub parties: Parties,
}

impl Scene {
    pub fn new() -> Self {
        let env = host();
        env.mock_all_auths();
        let guard = env.register(GUARD, ());
        let made = || Address::generate(&env);
        let parties = Parties {
            account: made(),
            bought: made(),
            delegate: key(9).verifying_key().to_bytes(),
            oracle: env.register(super::FEED, ()),
            pair: made(),
            payees: [classic(&env, 21), classic(&env, 22), made()],
            router: made(),
            sold: made(),
            target: made(),
        };
        Scene { guard, verifier: made(), parties, env }
    }

    /// With a DCA session installed under two rules.
    pub fn of_dca() -> (Self, Spec) {
        let scene = Scene::new();
        let spec = scene.parties.dca(&scene.env, "session");
        assert_eq!(scene.install(&spec, scene.rule(ROUTER_RULE, &scene.parties.router)), Ok(()));
        assert_eq!(scene.install(&spec, scene.rule(TOKEN_RULE, &scene.parties.sold)), Ok(()));
        (scene, spec)
    }

    pub fn now(&self) -> u64 {
        self.env.ledger().timestamp()
    }

    pub fn external(&self, delegate: [u8; 32]) -> Val {
        let key = Bytes::from_array(&self.env, &delegate);
        list(&self.env, &[symbol(&self.env, "External"), self.verifier.to_val(), key.to_val()])
    }

    pub fn delegate(&self) -> Val {
        self.external(self.parties.delegate)
    }

    pub fn call_contract(&self, contract: &Address) -> Val {
        list(&self.env, &[symbol(&self.env, "CallContract"), contract.to_val()])
    }

    /// A rule as an account of generation C passes it.
    pub fn rule_of(&self, id: u32, kind: Val, signers: &[Val], valid_until: Option<u32>) -> Val {
        let env = &self.env;
        record(
            env,
            &[
                ("context_type", kind),
                ("id", id.into_val(env)),
                ("name", text(env, "x4:447mdkve7vfsczx7")),
                ("policies", list(env, &[self.guard.to_val()])),
                ("policy_ids", list(env, &[0_u32.into_val(env)])),
                ("signer_ids", list(env, &[0_u32.into_val(env)])),
                ("signers", list(env, signers)),
                ("valid_until", valid_until.into_val(env)),
            ],
        )
    }

    pub fn rule(&self, id: u32, contract: &Address) -> Val {
        self.rule_of(id, self.call_contract(contract), &[self.delegate()], Some(900_000))
    }

    pub fn install(&self, spec: &Spec, rule: Val) -> Outcome {
        let args = [spec.value(&self.env), rule, self.parties.account.to_val()];
        attempt(&self.env, &self.guard, "install", &args)
    }

    pub fn enforce(&self, made: &Made) -> Outcome {
        let env = &self.env;
        let context = Context::Contract(ContractContext {
            contract: made.contract.clone(),
            fn_name: Symbol::new(env, made.function),
            args: Vec::from_slice(env, &made.args),
        });
        let rule = self.rule(made.rule, &made.contract);
        let args = [context.into_val(env), list(env, &made.signers), rule, made.account.to_val()];
        attempt(env, &self.guard, "enforce", &args)
    }

    /// The swap of a DCA plan as it was recorded.
    pub fn swap(&self) -> Made {
        let env = &self.env;
        let args = vec![
            SOLD.into_val(env),
            (SOLD / 2).into_val(env),
            self.parties.path(env),
            self.parties.account.to_val(),
            (self.now() + WAIT).into_val(env),
        ];
        self.made(&self.parties.router, "swap_exact_tokens_for_tokens", args, ROUTER_RULE)
    }

    /// The transfer that is nested in it.
    pub fn pay(&self) -> Made {
        let parties = [self.parties.account.to_val(), self.parties.pair.to_val()];
        let args = vec![parties[0], parties[1], SOLD.into_val(&self.env)];
        self.made(&self.parties.sold, "transfer", args, TOKEN_RULE)
    }

    pub fn made(
        &self,
        contract: &Address,
        function: &'static str,
        args: std::vec::Vec<Val>,
        rule: u32,
    ) -> Made {
        let (contract, account) = (contract.clone(), self.parties.account.clone());
        Made { contract, function, args, rule, signers: vec![self.delegate()], account }
    }

    pub fn policy_id(&self, spec: &Spec) -> BytesN<32> {
        digest(&self.env, "x402.automation.policy.v1", spec.value(&self.env))
    }

    pub fn close_digest(&self, spec: &Spec) -> BytesN<32> {
        let signed = [self.guard.to_val(), self.policy_id(spec).to_val()];
        digest(&self.env, "x402.automation.close.v1", list(&self.env, &signed))
    }

    pub fn close(&self, spec: &Spec, signature: Option<BytesN<64>>) -> Outcome {
        let id = self.policy_id(spec).to_val();
        let args = [self.parties.account.to_val(), id, signature.into_val(&self.env)];
        attempt(&self.env, &self.guard, "close", &args)
    }

    pub fn uses(&self, spec: &Spec) -> u32 {
        let id = self.policy_id(spec).to_val();
        let session = call(&self.env, &self.guard, "session", &[self.parties.account.to_val(), id]);
        let field = |map: Val, name: &str| {
            let map = soroban_sdk::Map::<Symbol, Val>::try_from_val(&self.env, &map).unwrap();
            map.get(Symbol::new(&self.env, name)).unwrap()
        };
        u32::try_from_val(&self.env, &field(field(session, "uses"), "count")).unwrap()
    }
}
