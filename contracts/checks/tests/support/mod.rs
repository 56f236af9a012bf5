//! The built contracts on a host of their own, and values as clients write them.
#![allow(dead_code)] // each test file uses some of it

pub mod guarded;
pub mod mandated;
pub mod specs;

use ed25519_dalek::{Signer as _, SigningKey};
use soroban_sdk::{
    Address, Bytes, BytesN, Env, Error, IntoVal, InvokeError, Map, String, Symbol, TryFromVal, Val, Vec,
    testutils::{Address as _, EnvTestConfig, Ledger as _, StellarAssetContract},
    token::{StellarAssetClient, TokenClient},
    xdr::{AccountId, ContractId, Hash, PublicKey, ScAddress, ToXdr, Uint256},
};

pub const TESTNET: &str = "Test SDF Network ; September 2015";
pub const PUBNET: &str = "Public Global Stellar Network ; September 2015";
/// The ledger time at which a plan of the tests begins, and its length.
pub const START: u64 = 1_800_000_000;
pub const MONTH: u64 = 30 * 86_400;
pub const LEDGER: u32 = 1_000;

pub const GUARD: &[u8] = include_bytes!("../../../wasm/session_guard.wasm");
pub const MANDATE: &[u8] = include_bytes!("../../../wasm/mandate.wasm");
pub const FACTORY: &[u8] = include_bytes!("../../../wasm/mandate_factory.wasm");
pub const KEEPER: &[u8] = include_bytes!("../../../wasm/keeper.wasm");
pub const POOL: &[u8] = include_bytes!("../../../wasm/pool.wasm");
pub const ROUTER: &[u8] = include_bytes!("../../../wasm/router.wasm");
pub const FEED: &[u8] = include_bytes!("../../../wasm/price_feed.wasm");
pub const UPTO: &[u8] = include_bytes!("../../../wasm/upto_settlement.wasm");

/// What a call that is to fail came to.
pub type Outcome = Result<(), u32>;

/// A host at the begin of the plan, on testnet.
pub fn host() -> Env {
    let config = EnvTestConfig { capture_snapshot_at_drop: false };
    let env = Env::new_with_config(config);
    set_network(&env, TESTNET);
    env.ledger().set_timestamp(START);
    env.ledger().set_sequence_number(LEDGER);
    env.ledger().set_max_entry_ttl(3_110_400);
    env.ledger().set_min_persistent_entry_ttl(120_960);
    env.ledger().set_min_temp_entry_ttl(16);
    env.cost_estimate().budget().reset_unlimited();
    env
}

pub fn set_network(env: &Env, passphrase: &str) {
    let digest = env.crypto().sha256(&Bytes::from_slice(env, passphrase.as_bytes()));
    env.ledger().set_network_id(digest.to_array());
}

/// The next ledger, so many seconds later.
pub fn pass(env: &Env, seconds: u64) {
    let ledger = env.ledger();
    ledger.set_timestamp(ledger.timestamp() + seconds);
    ledger.set_sequence_number(ledger.sequence() + 1);
}

pub fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub fn sign(env: &Env, key: &SigningKey, digest: &BytesN<32>) -> BytesN<64> {
    BytesN::from_array(env, &key.sign(&digest.to_array()).to_bytes())
}

/// The hash under a domain and the host's network, as policy_id.md has it.
pub fn digest(env: &Env, domain: &str, content: Val) -> BytesN<32> {
    let mut preimage = Bytes::from_slice(env, domain.as_bytes());
    preimage.push_back(0);
    preimage.append(&Bytes::from(env.ledger().network_id()));
    preimage.append(&content.to_xdr(env));
    env.crypto().sha256(&preimage).into()
}

pub fn contract(env: &Env, number: u8) -> Address {
    address(env, ScAddress::Contract(ContractId(Hash([number; 32]))))
}

pub fn classic(env: &Env, number: u8) -> Address {
    let key = PublicKey::PublicKeyTypeEd25519(Uint256([number; 32]));
    address(env, ScAddress::Account(AccountId(key)))
}

fn address(env: &Env, raw: ScAddress) -> Address {
    Address::try_from_val(env, &raw).unwrap()
}

pub fn symbol(env: &Env, name: &str) -> Val {
    Symbol::new(env, name).into_val(env)
}

pub fn text(env: &Env, text: &str) -> Val {
    String::from_str(env, text).into_val(env)
}

pub fn list(env: &Env, values: &[Val]) -> Val {
    Vec::from_slice(env, values).into_val(env)
}

pub fn record(env: &Env, fields: &[(&str, Val)]) -> Val {
    let mut map: Map<Symbol, Val> = Map::new(env);
    for (name, value) in fields {
        map.set(Symbol::new(env, name), *value);
    }
    map.into_val(env)
}

/// Calls a contract; the value.
pub fn call(env: &Env, contract: &Address, function: &str, args: &[Val]) -> Val {
    env.invoke_contract(contract, &Symbol::new(env, function), Vec::from_slice(env, args))
}

/// Calls a contract; the code of the contract's error if it fails, 0 for a failure of the host.
pub fn attempt(env: &Env, contract: &Address, function: &str, args: &[Val]) -> Outcome {
    let args = Vec::from_slice(env, args);
    match env.try_invoke_contract::<Val, Error>(contract, &Symbol::new(env, function), args) {
        Ok(_) => Ok(()),
        Err(Ok(error)) if error.is_type(soroban_sdk::xdr::ScErrorType::Contract) => Err(error.get_code()),
        Err(Ok(_)) | Err(Err(InvokeError::Abort)) => Err(0),
        Err(Err(InvokeError::Contract(code))) => Err(code),
    }
}

/// A token of which a holder has an amount.
pub fn token(env: &Env, holder: &Address, amount: i128) -> Address {
    let issued: StellarAssetContract = env.register_stellar_asset_contract_v2(Address::generate(env));
    StellarAssetClient::new(env, &issued.address()).mock_all_auths().mint(holder, &amount);
    issued.address()
}

pub fn held(env: &Env, token: &Address, holder: &Address) -> i128 {
    TokenClient::new(env, token).balance(holder)
}

pub fn bytes(env: &Env, raw: [u8; 32]) -> Val {
    Bytes::from_array(env, &raw).to_val()
}

/// True for a number, of any type that amounts have, of at least `least`.
pub fn is_number_above(env: &Env, value: Val, least: i128) -> bool {
    let wide = i128::try_from_val(env, &value).ok();
    let narrow = u64::try_from_val(env, &value).ok().map(i128::from);
    wide.or(narrow).is_some_and(|number| number >= least)
}
