//! Builders for the tests: a network in manual mode, keys, envelopes and signatures.

use std::sync::Arc;

use ed25519_dalek::{Signer, SigningKey};
use farebox_devnet::accounts::{account_id, find_account, find_trustline};
use farebox_devnet::codec::{hash_of, sha256};
use farebox_devnet::events::asset_contract;
use farebox_devnet::node::Node;
use farebox_devnet::options::{CloseMode, HeaderForm, LimitsProfile, NodeOptions};
use farebox_devnet::record::TransactionRecord;
use farebox_devnet::simulation::{AuthMode, Simulated, SimulationFailure, SimulationRequest};
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::*;

pub use crate::outcomes::*;
pub use crate::scene::*;

pub const LUMEN: i64 = 10_000_000;
pub const PASSPHRASE: &str = "Test SDF Network ; September 2015";

pub fn options() -> NodeOptions {
    NodeOptions {
        header: HeaderForm::Ms,
        limits: LimitsProfile::Mainnet,
        close: CloseMode::Manual,
        retention_ledgers: 1_000,
        simulation_threads: 1,
        ..NodeOptions::new(PASSPHRASE)
    }
}

pub struct Network {
    pub node: Node,
    pub runtime: tokio::runtime::Runtime,
}

pub fn network() -> Network {
    network_with(options())
}

pub fn network_with(options: NodeOptions) -> Network {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Network { node: Node::start(options), runtime }
}

pub fn key(name: &str) -> SigningKey {
    SigningKey::from_bytes(&sha256(name.as_bytes()))
}

pub fn id(key: &SigningKey) -> AccountId {
    account_id(key.verifying_key().to_bytes())
}

pub fn muxed(key: &SigningKey) -> MuxedAccount {
    MuxedAccount::Ed25519(Uint256(key.verifying_key().to_bytes()))
}

pub fn address(key: &SigningKey) -> ScAddress {
    ScAddress::Account(id(key))
}

pub fn operation(body: OperationBody) -> Operation {
    Operation { source_account: None, body }
}

pub fn operation_from(source: &SigningKey, body: OperationBody) -> Operation {
    Operation { source_account: Some(muxed(source)), body }
}

pub fn transaction(source: &SigningKey, sequence: i64, operations: Vec<Operation>) -> Transaction {
    Transaction {
        source_account: muxed(source),
        fee: 100 * operations.len() as u32,
        seq_num: SequenceNumber(sequence),
        cond: Preconditions::None,
        memo: Memo::None,
        operations: operations.try_into().unwrap(),
        ext: TransactionExt::V0,
    }
}

pub fn signature(key: &SigningKey, hash: &[u8; 32]) -> DecoratedSignature {
    let public = key.verifying_key().to_bytes();
    DecoratedSignature {
        hint: SignatureHint(public[28..].try_into().unwrap()),
        signature: Signature(key.sign(hash).to_bytes().to_vec().try_into().unwrap()),
    }
}

pub fn credit(code: &str, issuer: &SigningKey) -> Asset {
    let mut padded = [0; 4];
    padded[..code.len()].copy_from_slice(code.as_bytes());
    Asset::CreditAlphanum4(AlphaNum4 { asset_code: AssetCode4(padded), issuer: id(issuer) })
}

pub fn trust(asset: &Asset, limit: i64) -> OperationBody {
    let line = match asset {
        Asset::CreditAlphanum4(credit) => ChangeTrustAsset::CreditAlphanum4(credit.clone()),
        Asset::CreditAlphanum12(credit) => ChangeTrustAsset::CreditAlphanum12(credit.clone()),
        Asset::Native => ChangeTrustAsset::Native,
    };
    OperationBody::ChangeTrust(ChangeTrustOp { line, limit })
}

pub fn payment(to: &SigningKey, asset: &Asset, amount: i64) -> OperationBody {
    OperationBody::Payment(PaymentOp { destination: muxed(to), asset: asset.clone(), amount })
}

pub fn create(destination: &SigningKey, starting_balance: i64) -> OperationBody {
    OperationBody::CreateAccount(CreateAccountOp { destination: id(destination), starting_balance })
}

pub fn no_options() -> SetOptionsOp {
    SetOptionsOp {
        inflation_dest: None,
        clear_flags: None,
        set_flags: None,
        master_weight: None,
        low_threshold: None,
        med_threshold: None,
        high_threshold: None,
        home_domain: None,
        signer: None,
    }
}

pub fn i128_value(amount: i128) -> ScVal {
    ScVal::I128(Int128Parts { hi: (amount >> 64) as i64, lo: amount as u64 })
}

pub fn invoke(contract: [u8; 32], function: &str, arguments: Vec<ScVal>) -> HostFunction {
    HostFunction::InvokeContract(InvokeContractArgs {
        contract_address: ScAddress::Contract(ContractId(Hash(contract))),
        function_name: function.try_into().unwrap(),
        args: arguments.try_into().unwrap(),
    })
}

impl Network {
    pub fn root(&self) -> SigningKey {
        SigningKey::from_bytes(&self.node.root_seed())
    }

    pub fn sequence(&self, key: &SigningKey) -> i64 {
        find_account(&self.node.state().entries, &id(key)).expect("the account exists").seq_num.0
    }

    pub fn balance(&self, key: &SigningKey) -> i64 {
        find_account(&self.node.state().entries, &id(key)).expect("the account exists").balance
    }

    pub fn credit_balance(&self, key: &SigningKey, asset: &Asset) -> i64 {
        find_trustline(&self.node.state().entries, &id(key), asset).expect("the line exists").balance
    }

    pub fn sign(&self, tx: Transaction, signers: &[&SigningKey]) -> TransactionEnvelope {
        let hash = tx.hash(self.node.network_id()).unwrap();
        let signatures: Vec<_> = signers.iter().map(|signer| signature(signer, &hash)).collect();
        TransactionEnvelope::Tx(TransactionV1Envelope { tx, signatures: signatures.try_into().unwrap() })
    }

    pub fn bump(&self, inner: TransactionEnvelope, payer: &SigningKey, fee: i64) -> TransactionEnvelope {
        let TransactionEnvelope::Tx(inner) = inner else { panic!("only a transaction is bumped") };
        let tx = FeeBumpTransaction {
            fee_source: muxed(payer),
            fee,
            inner_tx: FeeBumpTransactionInnerTx::Tx(inner),
            ext: FeeBumpTransactionExt::V0,
        };
        let hash = tx.hash(self.node.network_id()).unwrap();
        TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope {
            tx,
            signatures: vec![signature(payer, &hash)].try_into().unwrap(),
        })
    }

    pub fn hash(&self, envelope: &TransactionEnvelope) -> [u8; 32] {
        envelope.hash(self.node.network_id()).unwrap()
    }

    pub fn submit(&self, envelope: TransactionEnvelope) -> Submission {
        self.runtime.block_on(self.node.submit(envelope))
    }

    pub fn close(&self) -> u32 {
        self.runtime.block_on(self.node.close_ledgers(1))
    }

    pub fn close_many(&self, count: u32) -> u32 {
        self.runtime.block_on(self.node.close_ledgers(count))
    }

    /// Submits, closes a ledger and returns what became of it.
    pub fn settle(&self, envelope: TransactionEnvelope) -> Arc<TransactionRecord> {
        let hash = self.hash(&envelope);
        let submission = self.submit(envelope);
        assert!(matches!(submission, Submission::Pending), "{submission:?}");
        self.close();
        self.node.history().transaction(&hash).expect("the transaction is in the ledger")
    }

    /// Runs operations of one source in a ledger of their own.
    pub fn run(&self, source: &SigningKey, bodies: Vec<OperationBody>) -> Arc<TransactionRecord> {
        let operations = bodies.into_iter().map(operation).collect();
        let tx = transaction(source, self.sequence(source) + 1, operations);
        self.settle(self.sign(tx, &[source]))
    }

    pub fn account(&self, name: &str, balance: i64) -> SigningKey {
        let key = key(name);
        let record = self.run(&self.root(), vec![create(&key, balance)]);
        assert!(record.is_successful(), "{:?}", record.result);
        key
    }

    pub fn asset_contract(&self, asset: &Asset) -> [u8; 32] {
        asset_contract(asset, self.node.network_id())
    }

    pub fn simulate(&self, request: SimulationRequest) -> Result<Simulated, SimulationFailure> {
        self.runtime.block_on(self.node.simulate(request)).outcome
    }

    pub fn simulate_invoke(
        &self,
        source: &SigningKey,
        host_function: HostFunction,
        auth: AuthMode,
    ) -> Result<Simulated, SimulationFailure> {
        self.simulate(SimulationRequest::Invoke {
            source: id(source),
            host_function,
            auth,
            instruction_leeway: 0,
        })
    }

    pub fn record_auth() -> AuthMode {
        AuthMode::Record { allow_non_root: true, use_address_v2: false }
    }

    /// A call whose only authorization is the source account's own, simulated and signed.
    pub fn prepared(&self, source: &SigningKey, host_function: HostFunction) -> TransactionEnvelope {
        let simulated = self
            .simulate_invoke(source, host_function.clone(), Network::record_auth())
            .expect("the call simulates");
        let auth = simulated.invocation.expect("an invocation").auth;
        self.soroban(source, host_function, auth, simulated.transaction_data)
    }

    pub fn soroban_transaction(
        &self,
        source: &SigningKey,
        body: OperationBody,
        data: SorobanTransactionData,
    ) -> Transaction {
        let mut tx = transaction(source, self.sequence(source) + 1, vec![operation(body)]);
        tx.fee = 100 + u32::try_from(data.resource_fee).unwrap();
        tx.ext = TransactionExt::V1(data);
        tx
    }

    pub fn soroban(
        &self,
        source: &SigningKey,
        host_function: HostFunction,
        auth: Vec<SorobanAuthorizationEntry>,
        data: SorobanTransactionData,
    ) -> TransactionEnvelope {
        let body = OperationBody::InvokeHostFunction(InvokeHostFunctionOp {
            host_function,
            auth: auth.try_into().unwrap(),
        });
        let tx = self.soroban_transaction(source, body, data);
        self.sign(tx, &[source])
    }

    pub fn deploy_asset(&self, source: &SigningKey, asset: &Asset) -> Arc<TransactionRecord> {
        self.settle(self.prepared(
            source,
            HostFunction::CreateContract(CreateContractArgs {
                contract_id_preimage: ContractIdPreimage::Asset(asset.clone()),
                executable: ContractExecutable::StellarAsset,
            }),
        ))
    }

    pub fn sign_auth(&self, entry: &mut SorobanAuthorizationEntry, key: &SigningKey, expires_at_ledger: u32) {
        let network_id = Hash(self.node.network_id());
        let invocation = entry.root_invocation.clone();
        let (credentials, binds_address) = match &mut entry.credentials {
            SorobanCredentials::Address(credentials) => (credentials, false),
            SorobanCredentials::AddressV2(credentials) => (credentials, true),
            other => panic!("{other:?} is not signed"),
        };
        credentials.signature_expiration_ledger = expires_at_ledger;
        let nonce = credentials.nonce;
        let preimage = if binds_address {
            HashIdPreimage::SorobanAuthorizationWithAddress(HashIdPreimageSorobanAuthorizationWithAddress {
                network_id,
                nonce,
                signature_expiration_ledger: expires_at_ledger,
                address: credentials.address.clone(),
                invocation,
            })
        } else {
            HashIdPreimage::SorobanAuthorization(HashIdPreimageSorobanAuthorization {
                network_id,
                nonce,
                signature_expiration_ledger: expires_at_ledger,
                invocation,
            })
        };
        let signed = key.sign(&hash_of(&preimage)).to_bytes().to_vec();
        let field = |name: &str, bytes: Vec<u8>| ScMapEntry {
            key: ScVal::Symbol(name.try_into().unwrap()),
            val: ScVal::Bytes(bytes.try_into().unwrap()),
        };
        let public = key.verifying_key().to_bytes().to_vec();
        let map = ScMap(vec![field("public_key", public), field("signature", signed)].try_into().unwrap());
        credentials.signature = ScVal::Vec(Some(ScVec(vec![ScVal::Map(Some(map))].try_into().unwrap())));
    }
}

impl Network {
    pub fn tx(&self, source: &SigningKey, bodies: Vec<OperationBody>) -> Transaction {
        transaction(source, self.sequence(source) + 1, bodies.into_iter().map(operation).collect())
    }

    pub fn inject(&self, entries: Vec<LedgerEntry>) -> u32 {
        self.runtime.block_on(self.node.inject(entries))
    }

    /// Lets an entry's life end two ledgers ago.
    pub fn archive(&self, key: &LedgerKey) {
        let (entry, _) = self.node.state().entries.get(key).expect("the entry exists");
        let live_until_ledger_seq = self.node.state().ledger.sequence - 1;
        let key_hash = Hash(hash_of(key));
        let ttl = LedgerEntry {
            last_modified_ledger_seq: 0,
            data: LedgerEntryData::Ttl(TtlEntry { key_hash, live_until_ledger_seq }),
            ext: LedgerEntryExt::V0,
        };
        self.inject(vec![(*entry).clone(), ttl]);
    }
}
