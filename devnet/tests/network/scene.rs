//! A network that is ready for payments through an asset contract.

use ed25519_dalek::SigningKey;
use farebox_devnet::options::NodeOptions;
use farebox_devnet::simulation::AuthMode;
use farebox_devnet::xdr::*;

use crate::support::*;

/// A network with a relayer, and a payer and a payee of a credit whose contract is deployed.
pub struct Scene {
    pub network: Network,
    pub asset: Asset,
    pub contract: [u8; 32],
    pub issuer: SigningKey,
    pub relayer: SigningKey,
    pub payer: SigningKey,
    pub payee: SigningKey,
}

pub fn scene() -> Scene {
    scene_with(options())
}

pub fn scene_with(options: NodeOptions) -> Scene {
    let network = network_with(options);
    let [issuer, relayer, payer, payee] =
        ["issuer", "relayer", "payer", "payee"].map(|name| network.account(name, 10_000 * LUMEN));
    let asset = credit("USDC", &issuer);
    for holder in [&payer, &payee] {
        assert!(network.run(holder, vec![trust(&asset, i64::MAX)]).is_successful());
    }
    assert!(network.run(&issuer, vec![payment(&payer, &asset, 1_000 * LUMEN)]).is_successful());
    let deployed = network.deploy_asset(&relayer, &asset);
    assert!(deployed.is_successful(), "{:?} {:?}", deployed.result, deployed.meta);
    let contract = network.asset_contract(&asset);
    Scene { network, asset, contract, issuer, relayer, payer, payee }
}

impl Scene {
    pub fn transfer(&self, amount: i128) -> HostFunction {
        self.transfer_between(&self.payer, &self.payee, amount)
    }

    pub fn transfer_between(&self, from: &SigningKey, to: &SigningKey, amount: i128) -> HostFunction {
        let arguments = vec![ScVal::Address(address(from)), ScVal::Address(address(to)), i128_value(amount)];
        invoke(self.contract, "transfer", arguments)
    }

    /// The payer's signed authorization of a transfer, valid for 100 ledgers.
    pub fn authorized(
        &self,
        transfer: &HostFunction,
        use_address_v2: bool,
    ) -> Vec<SorobanAuthorizationEntry> {
        let mode = AuthMode::Record { allow_non_root: true, use_address_v2 };
        let recorded =
            self.network.simulate_invoke(&self.relayer, transfer.clone(), mode).expect("it records");
        let mut auth = recorded.invocation.expect("an invocation").auth;
        let expires_at = self.network.node.state().ledger.sequence + 100;
        for entry in &mut auth {
            self.network.sign_auth(entry, &self.payer, expires_at);
        }
        auth
    }

    /// The relayer's finished envelope that carries the payer's signed transfer.
    pub fn payment_envelope(&self, amount: i128) -> TransactionEnvelope {
        let transfer = self.transfer(amount);
        let auth = self.authorized(&transfer, false);
        let simulated = self
            .network
            .simulate_invoke(&self.relayer, transfer.clone(), AuthMode::Enforce(auth.clone()))
            .expect("it enforces");
        self.network.soroban(&self.relayer, transfer, auth, simulated.transaction_data)
    }
}

pub fn instance_key(contract: [u8; 32]) -> LedgerKey {
    LedgerKey::ContractData(LedgerKeyContractData {
        contract: ScAddress::Contract(ContractId(Hash(contract))),
        key: ScVal::LedgerKeyContractInstance,
        durability: ContractDataDurability::Persistent,
    })
}
