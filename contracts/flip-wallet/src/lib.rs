//! A smart wallet that is honest until it turns, with a ledger that anybody may set. What is
//! simulated before the turn and lands after it was simulated in vain.
#![no_std]

use soroban_sdk::{
    Address, Bytes, BytesN, Env, Error, Symbol, Vec,
    auth::{Context, CustomAccountInterface},
    contract, contracterror, contractevent, contractimpl, contracttype,
    crypto::Hash,
    symbol_short,
};

const TURNS_AT: Symbol = symbol_short!("turns_at");
const DEED: Symbol = symbol_short!("deed");
const MANY: u32 = 2_000;

/// What the wallet does once it has turned.
#[contracttype]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Deed {
    /// Agrees to nothing any more.
    Refuse = 0,
    /// Agrees, and says that it moves a token of its own, which does not exist.
    Claim = 1,
    /// Agrees, with more work than anybody paid for.
    Toil = 2,
}

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Refusal {
    Turned = 1,
}

#[contractevent(topics = ["transfer"], data_format = "single-value")]
pub struct Transfer {
    #[topic]
    pub from: Address,
    #[topic]
    pub to: Address,
    pub amount: i128,
}

#[contract]
pub struct FlipWallet;

#[contractimpl]
impl FlipWallet {
    /// Turns with the ledger `turns_at`.
    pub fn __constructor(env: Env, key: BytesN<32>, turns_at: u32, deed: Deed) {
        owner_key::keep(&env, &key);
        env.storage().instance().set(&TURNS_AT, &turns_at);
        env.storage().instance().set(&DEED, &deed);
    }

    /// Turns with another ledger, or at once if that one has come.
    pub fn turn(env: Env, at: u32) {
        env.storage().instance().set(&TURNS_AT, &at);
    }
}

#[contractimpl]
impl CustomAccountInterface for FlipWallet {
    type Signature = BytesN<64>;
    type Error = Error;

    fn __check_auth(
        env: Env,
        payload: Hash<32>,
        signature: BytesN<64>,
        _contexts: Vec<Context>,
    ) -> Result<(), Error> {
        owner_key::demand(&env, payload, &signature);
        let turns_at: u32 = env.storage().instance().get(&TURNS_AT).unwrap();
        if env.ledger().sequence() < turns_at {
            return Ok(());
        }
        match env.storage().instance().get(&DEED).unwrap() {
            Deed::Refuse => return Err(Refusal::Turned.into()),
            Deed::Claim => {
                let here = env.current_contract_address();
                Transfer { from: here.clone(), to: here, amount: 1 }.publish(&env);
            }
            Deed::Toil => toil(&env),
        }
        Ok(())
    }
}

fn toil(env: &Env) {
    let mut digest = Bytes::new(env);
    for _ in 0..MANY {
        digest = env.crypto().sha256(&digest).into();
    }
}
