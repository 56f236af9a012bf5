//! How a transfer differs from what was asked for and from what it says.

use soroban_sdk::{Address, Env, String, Symbol, Val, Vec, contracttype, symbol_short};

use crate::events::{AssetTransfer, Transfer};

const MANNERS: Symbol = symbol_short!("manners");

/// What a transfer does; shares are hundredths of the amount asked for.
#[contracttype]
#[derive(Clone)]
pub struct Manners {
    /// Leaves the payer.
    pub taken: u32,
    /// Reaches the recipient.
    pub given: u32,
    /// The amount in each event.
    pub told: u32,
    /// How many events tell of it.
    pub times: u32,
    /// The classic asset that the events name as theirs.
    pub posing_as: Option<String>,
    /// A call of another contract made on the side, as the token itself.
    pub errand: Option<(Address, Symbol, Vec<Val>)>,
}

const HONEST: Manners =
    Manners { taken: 100, given: 100, told: 100, times: 1, posing_as: None, errand: None };

impl Manners {
    pub fn keep(&self, env: &Env) {
        env.storage().instance().set(&MANNERS, self);
    }

    /// The manners kept, honest ones if none ever were.
    pub fn kept(env: &Env) -> Self {
        env.storage().instance().get(&MANNERS).unwrap_or(HONEST)
    }

    pub fn run_errand(&self, env: &Env) {
        if let Some((contract, function, arguments)) = &self.errand {
            let _: Val = env.invoke_contract(contract, function, arguments.clone());
        }
    }

    pub fn tell(&self, env: &Env, from: &Address, to: &Address, asked: i128) {
        let amount = share(asked, self.told);
        for _ in 0..self.times {
            let (from, to) = (from.clone(), to.clone());
            match self.posing_as.clone() {
                Some(asset) => AssetTransfer { from, to, asset, amount }.publish(env),
                None => Transfer { from, to, amount }.publish(env),
            }
        }
    }
}

pub fn share(amount: i128, hundredths: u32) -> i128 {
    amount * i128::from(hundredths) / 100
}
