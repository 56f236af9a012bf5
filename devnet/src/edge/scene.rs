//! A whole stage in one call: USDC with its contract, and funded payers and payees who hold it.

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::account_entries::{STARTING_BALANCE_STROOPS, account, trust_line};
use super::assets::{contract_address, contract_id, usdc, usdc_issuer};
use super::jsonrpc::or_default;
use super::keys::{KeyPair, Role, account_id, address};
use super::submit::{Closing, build, find_account, settle};
use crate::node::Node;
use crate::simulation::{AuthMode, SimulationRequest};
use crate::xdr::{
    AccountId, Asset, ContractDataDurability, ContractExecutable, ContractIdPreimage, CreateContractArgs,
    HostFunction, InvokeHostFunctionOp, LedgerKey, LedgerKeyContractData, OperationBody, ScAddress, ScVal,
};

const MAX_ACCOUNTS: u32 = 10_000;
/// 1,000 USDC.
const DEFAULT_PAYER_UNITS: i64 = 10_000_000_000;
const OPERATOR_BALANCE_STROOPS: i64 = 1_000_000_000_000;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SceneRequest {
    #[serde(deserialize_with = "or_default")]
    payers: u32,
    #[serde(deserialize_with = "or_default")]
    payees: u32,
    /// What each payer holds, in units of 0.0000001 USDC.
    payer_units: Option<String>,
}

#[derive(Serialize)]
pub struct SceneResponse {
    ledger: u32,
    asset: SceneAsset,
    native: String,
    payers: Vec<SceneAccount>,
    payees: Vec<SceneAccount>,
}

#[derive(Serialize)]
struct SceneAsset {
    code: &'static str,
    issuer: String,
    contract: String,
}

#[derive(Serialize)]
struct SceneAccount {
    address: String,
    secret: String,
}

/// How many accounts earlier calls made.
struct Made {
    payers: u32,
    payees: u32,
}

pub struct Stage {
    node: Node,
    /// Also keeps two calls from deploying the same contract at once.
    made: Mutex<Made>,
}

impl Stage {
    pub fn new(node: Node) -> Stage {
        let made = Made { payers: count(&node, Role::Payer), payees: count(&node, Role::Payee) };
        Stage { node, made: Mutex::new(made) }
    }

    /// Adds the accounts; the first call also brings the issuer and the contracts.
    pub async fn set(&self, request: SceneRequest) -> Result<SceneResponse, String> {
        let units = payer_units(&request)?;
        if request.payers.max(request.payees) > MAX_ACCOUNTS {
            return Err(format!("at most {MAX_ACCOUNTS} payers and {MAX_ACCOUNTS} payees a call"));
        }
        let mut made = self.made.lock().await;
        let network_id = self.node.network_id();
        let issuer = usdc_issuer(self.node.passphrase(), &network_id);
        let asset = usdc(account_id(issuer));
        let derive = |role, from: u32, count: u32| -> Vec<KeyPair> {
            (from..from + count).map(|index| KeyPair::derived(&network_id, role, index)).collect()
        };
        let payers = derive(Role::Payer, made.payers, request.payers);
        let payees = derive(Role::Payee, made.payees, request.payees);
        self.inject(account_id(issuer), &payers, units, &payees).await;
        made.payers += request.payers;
        made.payees += request.payees;
        self.deploy(&Asset::Native).await?;
        self.deploy(&asset).await?;
        Ok(SceneResponse {
            ledger: self.node.state().ledger.sequence,
            asset: SceneAsset {
                code: "USDC",
                issuer: address(&issuer),
                contract: contract_address(&contract_id(&network_id, &asset)),
            },
            native: contract_address(&contract_id(&network_id, &Asset::Native)),
            payers: payers.iter().map(scene_account).collect(),
            payees: payees.iter().map(scene_account).collect(),
        })
    }

    async fn inject(&self, issuer: AccountId, payers: &[KeyPair], units: i64, payees: &[KeyPair]) {
        let ledger = self.node.state().ledger.sequence;
        let operator = KeyPair::derived(&self.node.network_id(), Role::Operator, 0).account_id();
        let mut entries = Vec::new();
        for (account_id, balance) in
            [(&issuer, STARTING_BALANCE_STROOPS), (&operator, OPERATOR_BALANCE_STROOPS)]
        {
            if find_account(&self.node, account_id).is_none() {
                entries.push(account(account_id.clone(), balance, 0, ledger));
            }
        }
        let holders = payers.iter().map(|key| (key, units)).chain(payees.iter().map(|key| (key, 0)));
        for (key, balance) in holders {
            entries.push(account(key.account_id(), STARTING_BALANCE_STROOPS, 1, ledger));
            entries.push(trust_line(key.account_id(), issuer.clone(), balance, ledger));
        }
        if !entries.is_empty() {
            self.node.inject(entries).await;
        }
    }

    /// Deploys the asset's contract by a transaction, unless it is there.
    async fn deploy(&self, asset: &Asset) -> Result<(), String> {
        let instance = LedgerKey::ContractData(LedgerKeyContractData {
            contract: ScAddress::Contract(contract_id(&self.node.network_id(), asset)),
            key: ScVal::LedgerKeyContractInstance,
            durability: ContractDataDurability::Persistent,
        });
        if self.node.state().entries.get(&instance).is_some() {
            return Ok(());
        }
        let operator = KeyPair::derived(&self.node.network_id(), Role::Operator, 0);
        let host_function = HostFunction::CreateContract(CreateContractArgs {
            contract_id_preimage: ContractIdPreimage::Asset(asset.clone()),
            executable: ContractExecutable::StellarAsset,
        });
        let request = SimulationRequest::Invoke {
            source: operator.account_id(),
            host_function: host_function.clone(),
            auth: AuthMode::Record { allow_non_root: false, use_address_v2: false },
            instruction_leeway: 0,
        };
        let simulated = self.node.simulate(request).await.outcome.map_err(|failure| failure.error)?;
        let call = InvokeHostFunctionOp { host_function, auth: Default::default() };
        let envelope = build(
            &self.node,
            &operator,
            OperationBody::InvokeHostFunction(call),
            Some(simulated.transaction_data),
        )?;
        let record = settle(&self.node, envelope, Closing::Now).await?;
        if record.is_successful() {
            return Ok(());
        }
        Err(format!("the asset contract could not be deployed: {}", record.result.result.name()))
    }
}

/// How many accounts of the role are in the ledger.
fn count(node: &Node, role: Role) -> u32 {
    let network_id = node.network_id();
    let is_there =
        |index: &u32| find_account(node, &KeyPair::derived(&network_id, role, *index).account_id()).is_some();
    (0..).take_while(is_there).fold(0, |count, _| count + 1)
}

fn payer_units(request: &SceneRequest) -> Result<i64, String> {
    let Some(text) = &request.payer_units else { return Ok(DEFAULT_PAYER_UNITS) };
    let units = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    units
        .ok_or_else(|| "payer_units must be a whole number from 0 to 9223372036854775807, as text".to_owned())
}

fn scene_account(key: &KeyPair) -> SceneAccount {
    SceneAccount { address: key.address(), secret: key.secret() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payer_units_are_a_whole_number_as_text() {
        let units =
            |text: &str| payer_units(&SceneRequest { payer_units: Some(text.into()), ..Default::default() });
        assert_eq!(units("0"), Ok(0));
        assert_eq!(units("9223372036854775807"), Ok(i64::MAX));
        for wrong in ["", "-1", "+1", "1.5", "9223372036854775808"] {
            assert!(units(wrong).is_err(), "{wrong}");
        }
        assert_eq!(payer_units(&SceneRequest::default()), Ok(DEFAULT_PAYER_UNITS));
    }
}
