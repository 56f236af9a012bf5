//! A target of automation that breaks the convention in the way that its constructor names.
#![no_std]

use soroban_sdk::{
    Address, Env, IntoVal, Symbol, Val, contract, contracterror, contractimpl, contracttype,
    panic_with_error, symbol_short,
};

const FAULT: Symbol = symbol_short!("fault");
const CHECKS: Symbol = symbol_short!("checks");

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum FaultyError {
    Broken = 1,
}

#[contracttype]
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
pub enum Fault {
    /// The check fails.
    CheckFails = 0,
    /// The check returns the number 1.
    CheckReturnsNumber = 1,
    /// The check works until it is stopped.
    CheckIsEndless = 2,
    /// The check changes the ledger.
    CheckWrites = 3,
    /// The check says yes, and the run fails.
    RunFails = 4,
    /// The check says yes, and the run works until it is stopped.
    RunIsEndless = 5,
    /// The check says yes, and the run asks for the authority of whoever executes.
    RunDemands = 6,
}

#[contract]
pub struct FaultyKeeper;

#[contractimpl]
impl FaultyKeeper {
    pub fn __constructor(env: Env, fault: Fault) {
        env.storage().instance().set(&FAULT, &fault);
    }

    pub fn autolayer_check(env: Env) -> Val {
        match fault(&env) {
            Fault::CheckFails => panic_with_error!(&env, FaultyError::Broken),
            Fault::CheckReturnsNumber => 1_u32.into_val(&env),
            Fault::CheckIsEndless => never_end(&env),
            Fault::CheckWrites => {
                let checks: u32 = env.storage().instance().get(&CHECKS).unwrap_or(0);
                env.storage().instance().set(&CHECKS, &(checks + 1));
                true.into_val(&env)
            }
            _ => true.into_val(&env),
        }
    }

    pub fn autolayer_run(env: Env, executor: Address) -> Val {
        match fault(&env) {
            Fault::RunFails => panic_with_error!(&env, FaultyError::Broken),
            Fault::RunIsEndless => never_end(&env),
            Fault::RunDemands => executor.require_auth(),
            _ => {}
        }
        ().into_val(&env)
    }
}

fn fault(env: &Env) -> Fault {
    env.storage().instance().get(&FAULT).unwrap()
}

/// Reads the ledger again and again, until the host stops it.
fn never_end(env: &Env) -> ! {
    loop {
        let _ = fault(env);
    }
}
