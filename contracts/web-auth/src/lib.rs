//! Where a contract account shows that it agrees to a sign-in (SEP-45): nothing is kept or moved.
#![no_std]

use soroban_sdk::{
    Address, Env, Map, String, Symbol, contract, contracterror, contractimpl, panic_with_error,
};

#[contracterror]
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum WebAuthError {
    MissingArgument = 1,
}

#[contract]
pub struct WebAuth;

#[contractimpl]
impl WebAuth {
    /// Returns if `account`, `web_auth_domain_account` and, where a client domain is told of,
    /// `client_domain_account` have each authorized exactly these arguments.
    pub fn web_auth_verify(env: Env, args: Map<Symbol, String>) {
        demand(&env, &args, "account");
        demand(&env, &args, "web_auth_domain_account");
        let is_told_of = |name| args.contains_key(Symbol::new(&env, name));
        if is_told_of("client_domain") || is_told_of("client_domain_account") {
            demand(&env, &args, "client_domain_account");
        }
    }
}

/// Returns if the address that stands under this name has authorized the call.
fn demand(env: &Env, args: &Map<Symbol, String>, name: &str) {
    match args.get(Symbol::new(env, name)) {
        Some(address) => Address::from_string(&address).require_auth(),
        None => panic_with_error!(env, WebAuthError::MissingArgument),
    }
}
