//! A payment through an asset contract, from simulation to the receipt.

use crate::support::*;
use farebox_devnet::simulation::AuthMode;
use farebox_devnet::xdr::*;

#[test]
fn a_signed_transfer_moves_the_credit_and_is_found_by_its_hash() {
    for use_address_v2 in [false, true] {
        let scene = scene();
        let transfer = scene.transfer(25);
        let auth = scene.authorized(&transfer, use_address_v2);
        let is_v2 = matches!(auth[0].credentials, SorobanCredentials::AddressV2(_));
        assert_eq!(is_v2, use_address_v2);
        let network = &scene.network;
        let simulated = network
            .simulate_invoke(&scene.relayer, transfer.clone(), AuthMode::Enforce(auth.clone()))
            .expect("the signed call simulates");
        let envelope = network.soroban(&scene.relayer, transfer, auth, simulated.transaction_data);
        let record = network.settle(envelope);
        assert!(record.is_successful(), "{:?} {:?}", record.result, record.meta);
        assert_eq!(network.credit_balance(&scene.payee, &scene.asset), 25);
        assert_eq!(network.credit_balance(&scene.payer, &scene.asset), 1_000 * LUMEN - 25);
    }
}
