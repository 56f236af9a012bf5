//! `policy_id_vectors.json`, which the Python and the TypeScript tests read as well: the ids in it
//! are those that the built contracts compute. `WRITE_VECTORS=1` writes the file anew.

mod support;

use std::{env::var, fs, path::Path};

use soroban_sdk::{
    Address, Bytes, BytesN, Env, IntoVal, TryFromVal, Val,
    xdr::{Limits, ReadXdr, ScVal, ToXdr, WriteXdr},
};
use support::{
    FACTORY, GUARD, PUBNET, START, TESTNET, call, classic, contract, digest, host, list, set_network,
    specs::{Parties, SOLD, Spec, invocation},
};

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const RUN_INDEX: u32 = 7;
const VALID_UNTIL: u32 = 123_456;

#[test]
fn committed_vectors_are_those_that_the_contracts_compute() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy_id_vectors.json");
    let made = format!("[\n{}\n]\n", vectors().join(",\n"));
    if var("WRITE_VECTORS").is_ok() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), made);
}

fn vectors() -> Vec<String> {
    let mut made = vec![];
    for (network, passphrase) in [("testnet", TESTNET), ("pubnet", PUBNET)] {
        for mode in ["session", "mandate"] {
            let env = host();
            set_network(&env, passphrase);
            let account = if mode == "session" { contract(&env, 1) } else { classic(&env, 1) };
            let parties = Parties::fixed(&env, account);
            let specs = [
                ("dca", parties.dca(&env, mode)),
                ("disbursement", parties.disbursement(&env, mode)),
                ("keeper", parties.keeper(&env, mode)),
                ("rebalance", parties.rebalance(&env, mode)),
                ("loose", parties.loose(&env, mode)),
            ];
            for (name, spec) in specs {
                made.push(vector(&env, &format!("{name} {mode} {network}"), passphrase, &spec, &parties));
            }
        }
    }
    made
}

/// The policy id by both contracts and by hand.
fn policy_id(env: &Env, spec: Val) -> BytesN<32> {
    let guard = env.register(GUARD, ());
    let factory = env.register(FACTORY, (BytesN::from_array(env, &[0; 32]),));
    let by_hand = digest(env, "x402.automation.policy.v1", spec);
    for contract in [guard, factory] {
        let id = call(env, &contract, "policy_id_of", &[spec]);
        assert_eq!(BytesN::<32>::try_from_val(env, &id).unwrap(), by_hand);
    }
    by_hand
}

fn vector(env: &Env, name: &str, passphrase: &str, spec: &Spec, parties: &Parties) -> String {
    let spec = spec.value(env);
    let id = policy_id(env, spec);
    let short = base32(&id.to_array());
    let place = contract(env, 99);
    let calls = calls(env, parties, &place);
    let ids = [place.into_val(env), id.into_val(env)];
    let signed = [ids[0], ids[1], RUN_INDEX.into_val(env), VALID_UNTIL.into_val(env), calls];
    let fields = [
        ("name", name.to_string()),
        ("network_passphrase", passphrase.to_string()),
        ("spec_xdr", base64(env, spec)),
        ("policy_id", hex(&id)),
        ("short", format!("pol_{}", &short[..20])),
        ("rule_name", format!("x4:{}", &short[..16])),
        ("contract", place.to_string().to_string()),
        ("calls_xdr", base64(env, calls)),
        ("run_digest", hex(&digest(env, "x402.automation.run.v1", list(env, &signed)))),
        ("close_digest", hex(&digest(env, "x402.automation.close.v1", list(env, &ids)))),
    ];
    let mut lines: Vec<String> =
        fields.iter().map(|(key, value)| format!("    \"{key}\": \"{value}\"")).collect();
    lines.push(format!("    \"run_index\": {RUN_INDEX}"));
    lines.push(format!("    \"valid_until\": {VALID_UNTIL}"));
    format!("  {{\n{}\n  }}", lines.join(",\n"))
}

/// A swap and the transfer under it, whatever the specification is: a digest binds what is signed.
fn calls(env: &Env, parties: &Parties, mandate: &Address) -> Val {
    let swap = [
        SOLD.into_val(env),
        (2 * SOLD).into_val(env),
        parties.path(env),
        mandate.into_val(env),
        (START + 300).into_val(env),
    ];
    let pay = [mandate.into_val(env), parties.pair.into_val(env), SOLD.into_val(env)];
    list(env, &[invocation(env, 0, &swap), invocation(env, 1, &pay)])
}

fn hex(bytes: &BytesN<32>) -> String {
    bytes.to_array().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The XDR that the host writes.
fn base64(env: &Env, value: Val) -> String {
    let bytes: Bytes = value.to_xdr(env);
    let raw: Vec<u8> = bytes.iter().collect();
    ScVal::from_xdr(&raw, Limits::none()).unwrap().to_xdr_base64(Limits::none()).unwrap()
}

fn base32(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1));
    let digit = |at: usize| (0..5).fold(0, |value, next| value << 1 | bit(5 * at + next));
    (0..(bytes.len() * 8).div_ceil(5)).map(|at| char::from(ALPHABET[digit(at)])).collect()
}
