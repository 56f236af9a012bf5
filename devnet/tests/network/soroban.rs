//! Contract calls that the host refuses, in simulation and in a ledger, and contracts of wasm.

use ed25519_dalek::SigningKey;
use farebox_devnet::codec::sha256;
use farebox_devnet::host::fees::non_refundable_fee;
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::simulation::{AuthMode, SimulationRequest};
use farebox_devnet::transaction::Frame;
use farebox_devnet::xdr::*;

use crate::support::*;

fn invoked(record: &TransactionRecord) -> InvokeHostFunctionResult {
    match only_result(record) {
        OperationResultTr::InvokeHostFunction(result) => result,
        other => panic!("{other:?}"),
    }
}

/// The words of the refusal of an enforcing simulation.
fn refusal_text(scene: &Scene, transfer: HostFunction, auth: Vec<SorobanAuthorizationEntry>) -> String {
    let failure = scene
        .network
        .simulate_invoke(&scene.relayer, transfer, AuthMode::Enforce(auth))
        .expect_err("the call is refused");
    assert!(!failure.events.is_empty(), "the events come along");
    failure.error
}

#[test]
fn a_used_authorization_is_refused_as_a_replay() {
    let scene = scene();
    let transfer = scene.transfer(5);
    let auth = scene.authorized(&transfer, false);
    let data = scene
        .network
        .simulate_invoke(&scene.relayer, transfer.clone(), AuthMode::Enforce(auth.clone()))
        .unwrap()
        .transaction_data;
    let first = scene.network.soroban(&scene.relayer, transfer.clone(), auth.clone(), data.clone());
    assert!(scene.network.settle(first).is_successful());
    let text = refusal_text(&scene, transfer.clone(), auth.clone());
    assert!(text.starts_with("HostError: Error(Auth, ExistingValue)\n"), "{text}");
    assert!(text.contains("Event log (newest first):"), "{text}");
    assert!(text.contains("nonce already exists for address"), "{text}");
    let again = scene.network.soroban(&scene.relayer, transfer, auth, data);
    assert_eq!(invoked(&scene.network.settle(again)), InvokeHostFunctionResult::Trapped);
    assert_eq!(scene.network.credit_balance(&scene.payee, &scene.asset), 5);
}

#[test]
fn recorded_nonces_differ_from_one_simulation_to_the_next() {
    let scene = scene();
    let nonce = || match &scene.authorized(&scene.transfer(5), false)[0].credentials {
        SorobanCredentials::Address(credentials) => credentials.nonce,
        other => panic!("{other:?}"),
    };
    assert_ne!(nonce(), nonce());
}

#[test]
fn the_host_says_what_is_wrong_with_an_authorization_or_a_balance() {
    let scene = scene();
    let network = &scene.network;
    let transfer = scene.transfer(5);
    let signed = |key: &SigningKey, expires_at| {
        let mut auth = scene.authorized(&transfer, false);
        for entry in &mut auth {
            network.sign_auth(entry, key, expires_at);
        }
        auth
    };
    let now = network.node.state().ledger.sequence;
    let expired = refusal_text(&scene, transfer.clone(), signed(&scene.payer, now - 1));
    assert!(
        expired.contains("Error(Auth, InvalidInput)") && expired.contains("signature has expired"),
        "{expired}"
    );
    let stranger = refusal_text(&scene, transfer.clone(), signed(&key("stranger"), now + 100));
    assert!(stranger.contains("Error(Auth, InvalidAction)"), "{stranger}");
    assert!(stranger.contains("signer does not belong to account"), "{stranger}");

    let too_much = scene.transfer(i128::from(2_000 * LUMEN));
    let mode = || AuthMode::Record { allow_non_root: true, use_address_v2: false };
    let balance = network.simulate_invoke(&scene.relayer, too_much, mode()).unwrap_err().error;
    assert!(balance.starts_with("HostError: Error(Contract, #10)"), "{balance}");
    let outsider = network.account("outsider", 10 * LUMEN);
    let no_line = scene.transfer_between(&scene.payer, &outsider, 5);
    let no_line = network.simulate_invoke(&scene.relayer, no_line, mode()).unwrap_err().error;
    assert!(no_line.starts_with("HostError: Error(Contract, #13)"), "{no_line}");
}

#[test]
fn a_call_that_needs_more_than_it_declared_fails_at_that_limit() {
    type Change = fn(&mut SorobanResources);
    let changes: [Change; 3] = [
        |resources| resources.instructions = 100_000,
        |resources| resources.write_bytes = 10,
        |resources| resources.disk_read_bytes = 10,
    ];
    for change in changes {
        let scene = scene();
        let TransactionEnvelope::Tx(envelope) = scene.payment_envelope(5) else { panic!("not a fee bump") };
        let mut tx = envelope.tx;
        let TransactionExt::V1(data) = &mut tx.ext else { panic!("it has resource data") };
        change(&mut data.resources);
        let record = scene.network.settle(scene.network.sign(tx, &[&scene.relayer]));
        assert_eq!(invoked(&record), InvokeHostFunctionResult::ResourceLimitExceeded);
        assert!(!meta_v4(&record).diagnostic_events.is_empty(), "it says which limit");
        assert_eq!(scene.network.credit_balance(&scene.payee, &scene.asset), 0);
    }
}

#[test]
fn rent_and_events_have_to_be_covered_by_the_refundable_part() {
    let scene = scene();
    let TransactionEnvelope::Tx(envelope) = scene.payment_envelope(5) else { panic!("not a fee bump") };
    let mut tx = envelope.tx;
    let TransactionExt::V1(mut data) = tx.ext.clone() else { panic!("it has resource data") };
    let signed = scene.network.sign(tx.clone(), &[&scene.relayer]);
    let frame = Frame::read(signed, scene.network.node.network_id()).unwrap();
    data.resource_fee = non_refundable_fee(&frame, &data, &scene.network.node.state().config) + 10;
    tx.ext = TransactionExt::V1(data);
    let record = scene.network.settle(scene.network.sign(tx, &[&scene.relayer]));
    assert_eq!(invoked(&record), InvokeHostFunctionResult::InsufficientRefundableFee);
}

#[test]
fn a_transfer_emits_its_event_and_returns_nothing() {
    let scene = scene();
    let record = scene.network.settle(scene.payment_envelope(7));
    let meta = meta_v4(&record);
    let event = &meta.operations[0].events[0];
    assert_eq!(event.contract_id, Some(ContractId(Hash(scene.contract))));
    let ContractEventBody::V0(body) = &event.body;
    assert_eq!(body.topics[1], ScVal::Address(address(&scene.payer)));
    assert_eq!(body.topics[2], ScVal::Address(address(&scene.payee)));
    assert_eq!(body.data, i128_value(7));
    assert_eq!(meta.soroban_meta.as_ref().unwrap().return_value, Some(ScVal::Void));
    let success = InvokeHostFunctionSuccessPreImage {
        return_value: ScVal::Void,
        events: meta.operations[0].events.clone(),
    };
    let hash = Hash(farebox_devnet::codec::hash_of(&success));
    assert_eq!(invoked(&record), InvokeHostFunctionResult::Success(hash));
}

/// A module whose function `f` returns nothing, with the environment's marker of protocol 27.
fn tiny_contract() -> Vec<u8> {
    let mut wasm = b"\0asm\x01\0\0\0".to_vec();
    wasm.extend([1, 5, 1, 0x60, 0, 1, 0x7e]);
    wasm.extend([3, 2, 1, 0]);
    wasm.extend([5, 3, 1, 0, 1]);
    wasm.extend([7, 14, 2, 1, b'f', 0, 0, 6, b'm', b'e', b'm', b'o', b'r', b'y', 2, 0]);
    wasm.extend([10, 6, 1, 4, 0, 0x42, 2, 0x0b]);
    let name = b"contractenvmetav0";
    wasm.extend([0, (1 + name.len() + 12) as u8, name.len() as u8]);
    wasm.extend(name);
    wasm.extend([0, 0, 0, 0, 0, 0, 0, 27, 0, 0, 0, 0]);
    wasm
}

#[test]
fn wasm_is_uploaded_created_and_called() {
    let network = network();
    let author = network.account("author", 10_000 * LUMEN);
    let wasm = tiny_contract();
    let uploaded = network.settle(
        network.prepared(&author, HostFunction::UploadContractWasm(wasm.clone().try_into().unwrap())),
    );
    assert!(uploaded.is_successful(), "{:?}", uploaded.result);
    let preimage = ContractIdPreimage::Address(ContractIdPreimageFromAddress {
        address: address(&author),
        salt: Uint256([7; 32]),
    });
    let created = network.settle(network.prepared(
        &author,
        HostFunction::CreateContractV2(CreateContractArgsV2 {
            contract_id_preimage: preimage.clone(),
            executable: ContractExecutable::Wasm(Hash(sha256(&wasm))),
            constructor_args: VecM::default(),
        }),
    ));
    assert!(created.is_successful(), "{:?} {:?}", created.result, created.meta);
    let contract = farebox_devnet::codec::hash_of(&HashIdPreimage::ContractId(HashIdPreimageContractId {
        network_id: Hash(network.node.network_id()),
        contract_id_preimage: preimage,
    }));
    let called = network.settle(network.prepared(&author, invoke(contract, "f", Vec::new())));
    assert!(called.is_successful(), "{:?}", called.result);
    let missing = network.simulate_invoke(&author, invoke(contract, "g", Vec::new()), Network::record_auth());
    assert!(missing.unwrap_err().error.contains("MissingValue"));
}

#[test]
fn garbage_is_no_contract() {
    let network = network();
    let author = network.account("author", 10_000 * LUMEN);
    let upload = HostFunction::UploadContractWasm(vec![1, 2, 3].try_into().unwrap());
    let failure = network.simulate_invoke(&author, upload, Network::record_auth()).unwrap_err();
    assert!(failure.error.starts_with("HostError: Error(WasmVm, InvalidAction)"), "{}", failure.error);
}

#[test]
fn the_native_asset_has_a_contract_too_and_contracts_hold_balances() {
    let scene = scene();
    let network = &scene.network;
    assert!(network.deploy_asset(&scene.relayer, &Asset::Native).is_successful());
    let native = network.asset_contract(&Asset::Native);
    let holder = ScAddress::Contract(ContractId(Hash([9; 32])));
    let arguments =
        vec![ScVal::Address(address(&scene.payer)), ScVal::Address(holder.clone()), i128_value(12_345)];
    let before = network.balance(&scene.payer);
    let record = network.settle(network.prepared(&scene.payer, invoke(native, "transfer", arguments)));
    assert!(record.is_successful(), "{:?}", record.result);
    assert_eq!(network.balance(&scene.payer), before - 12_345 - record.fee_charged);
    let balance = invoke(native, "balance", vec![ScVal::Address(holder)]);
    let held = network.simulate_invoke(&scene.payer, balance, Network::record_auth()).unwrap();
    assert_eq!(held.invocation.unwrap().value, i128_value(12_345));
}

#[test]
fn an_unauthorised_holder_is_refused_by_the_asset_contract() {
    let scene = scene();
    let network = &scene.network;
    let set = |flags| OperationBody::SetOptions(SetOptionsOp { set_flags: Some(flags), ..no_options() });
    assert!(network.run(&scene.issuer, vec![set(2)]).is_successful());
    let stop = OperationBody::SetTrustLineFlags(SetTrustLineFlagsOp {
        trustor: id(&scene.payer),
        asset: scene.asset.clone(),
        clear_flags: 1,
        set_flags: 0,
    });
    assert!(network.run(&scene.issuer, vec![stop]).is_successful());
    let refused = network.simulate_invoke(&scene.relayer, scene.transfer(5), Network::record_auth());
    assert!(refused.unwrap_err().error.starts_with("HostError: Error(Contract, #11)"));
}

#[test]
fn a_deeply_nested_argument_is_refused_and_the_network_goes_on() {
    let scene = scene();
    let mut deep = ScVal::Void;
    for _ in 0..400 {
        deep = ScVal::Vec(Some(ScVec(vec![deep].try_into().unwrap())));
    }
    let call = invoke(scene.contract, "transfer", vec![deep]);
    assert!(scene.network.simulate_invoke(&scene.relayer, call, Network::record_auth()).is_err());
    assert!(scene.network.settle(scene.payment_envelope(5)).is_successful());
}

#[test]
fn many_simulations_at_once_all_answer() {
    let scene = scene_with(farebox_devnet::options::NodeOptions { simulation_threads: 3, ..options() });
    let network = &scene.network;
    let answers = network.runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for amount in 1..=40 {
            let node = network.node.clone();
            let request = SimulationRequest::Invoke {
                source: id(&scene.relayer),
                host_function: scene.transfer(amount),
                auth: Network::record_auth(),
                instruction_leeway: 0,
            };
            tasks.spawn(async move { node.simulate(request).await });
        }
        tasks.join_all().await
    });
    assert_eq!(answers.iter().filter(|answer| answer.outcome.is_ok()).count(), 40);
}

#[test]
fn leeway_raises_the_declared_instructions() {
    let scene = scene();
    let instructions = |instruction_leeway| {
        let request = SimulationRequest::Invoke {
            source: id(&scene.relayer),
            host_function: scene.transfer(5),
            auth: Network::record_auth(),
            instruction_leeway,
        };
        scene.network.simulate(request).unwrap().transaction_data.resources.instructions
    };
    let (usual, more) = (instructions(0), instructions(1_000_000));
    assert!(more > usual + 900_000, "{usual} {more}");
}
