//! What the benchmark drives: a chain on this very thread, with payers whose payments are signed beforehand.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ed25519_dalek::{Signer, SigningKey};

use farebox_devnet::accounts::{account_id, find_account, new_account, trustline_asset};
use farebox_devnet::chain::{Chain, NextLedger};
use farebox_devnet::codec::{hash_of, sha256};
use farebox_devnet::events::asset_contract;
use farebox_devnet::host::{Moment, simulate::simulate};
use farebox_devnet::options::{CloseMode, HeaderForm, LimitsProfile, NodeOptions};
use farebox_devnet::simulation::{AuthMode, Simulated, SimulationRequest};
use farebox_devnet::submission::Submission;
use farebox_devnet::xdr::*;

const FUNDS: i64 = 1_000_000_000_000;

/// A network with an asset contract, and as many payers and relayers as there are payments in a ledger.
pub struct Rig {
    chain: Chain,
    network_id: [u8; 32],
    contract: [u8; 32],
    payers: Vec<SigningKey>,
    relayers: Vec<SigningKey>,
}

impl Rig {
    pub fn new(payers: usize) -> anyhow::Result<Rig> {
        let options = NodeOptions {
            header: HeaderForm::Ms,
            // More payments in a ledger than any network's limits admit.
            limits: LimitsProfile::Unlimited,
            close: CloseMode::Manual,
            ..NodeOptions::new("Farebox benchmark")
        };
        let chain = Chain::start(&options)?;
        let network_id = chain.state().network_id;
        let issuer = key("issuer", 0);
        let asset =
            Asset::CreditAlphanum4(AlphaNum4 { asset_code: AssetCode4(*b"USDC"), issuer: id(&issuer) });
        let keys = |role: &str| (0..payers).map(|index| key(role, index)).collect::<Vec<_>>();
        let contract = asset_contract(&asset, network_id);
        let mut rig = Rig { chain, network_id, contract, payers: keys("payer"), relayers: keys("relayer") };
        let mut entries = vec![account(&issuer)];
        for (payer, relayer) in rig.payers.iter().zip(&rig.relayers) {
            entries.extend([account(payer), account(relayer), trustline(payer, &asset)]);
        }
        let first = rig.chain.gather(NextLedger { injected: entries, ..Default::default() });
        rig.chain.close(first);
        rig.deploy(asset)?;
        Ok(rig)
    }

    fn deploy(&mut self, asset: Asset) -> anyhow::Result<()> {
        let host_function = HostFunction::CreateContract(CreateContractArgs {
            contract_id_preimage: ContractIdPreimage::Asset(asset),
            executable: ContractExecutable::StellarAsset,
        });
        let relayer = self.relayers.first().context("there is a relayer")?.clone();
        let envelope = self.prepare(&relayer, host_function)?;
        if self.settle(vec![envelope])? != 1 {
            bail!("the asset contract was not deployed");
        }
        Ok(())
    }

    /// Simulates one payer's signed payment, as a facilitator does; returns how long it took.
    pub fn simulate(&self, index: usize) -> anyhow::Result<Duration> {
        let index = index % self.payers.len();
        let transfer = self.transfer(index);
        let auth = self.authorized(&self.relayers[index], &transfer)?;
        let started = Instant::now();
        self.run(&self.relayers[index], transfer, AuthMode::Enforce(auth))?;
        Ok(started.elapsed())
    }

    /// One payment for each payer, simulated and signed.
    pub fn sign_round(&self) -> anyhow::Result<Vec<TransactionEnvelope>> {
        (0..self.payers.len())
            .map(|index| self.prepare(&self.relayers[index], self.transfer(index)))
            .collect()
    }

    /// Submits every envelope, closes one ledger and returns how many succeeded.
    pub fn settle(&mut self, envelopes: Vec<TransactionEnvelope>) -> anyhow::Result<usize> {
        for envelope in envelopes {
            match self.chain.submit(envelope) {
                Submission::Pending => {}
                other => bail!("a payment was not taken in: {other:?}"),
            }
        }
        let contents = self.chain.gather(NextLedger::default());
        let closed = self.chain.close(contents);
        Ok(closed.ledger.transactions.iter().filter(|transaction| transaction.is_successful()).count())
    }

    fn transfer(&self, index: usize) -> HostFunction {
        let party =
            |index: usize| ScVal::Address(ScAddress::Account(id(&self.payers[index % self.payers.len()])));
        let arguments = vec![party(index), party(index + 1), ScVal::I128(Int128Parts { hi: 0, lo: 1 })];
        HostFunction::InvokeContract(InvokeContractArgs {
            contract_address: ScAddress::Contract(ContractId(Hash(self.contract))),
            function_name: "transfer".try_into().map(ScSymbol).unwrap_or_default(),
            args: arguments.try_into().unwrap_or_default(),
        })
    }

    fn run(
        &self,
        source: &SigningKey,
        host_function: HostFunction,
        auth: AuthMode,
    ) -> anyhow::Result<Simulated> {
        let state = self.chain.state();
        let now = Moment {
            network_id: self.network_id,
            sequence: state.ledger.sequence,
            close_time_s: state.ledger.close_time_s(),
        };
        let request =
            SimulationRequest::Invoke { source: id(source), host_function, auth, instruction_leeway: 0 };
        simulate(request, state.entries.clone(), &state.config, &now)
            .map_err(|failure| anyhow::anyhow!(failure.error))
    }

    fn authorized(
        &self,
        source: &SigningKey,
        host_function: &HostFunction,
    ) -> anyhow::Result<Vec<SorobanAuthorizationEntry>> {
        let mode = AuthMode::Record { allow_non_root: true, use_address_v2: false };
        let recorded = self.run(source, host_function.clone(), mode)?;
        let mut auth = recorded.invocation.context("an invocation")?.auth;
        for entry in &mut auth {
            self.authorize(entry)?;
        }
        Ok(auth)
    }

    fn prepare(
        &self,
        source: &SigningKey,
        host_function: HostFunction,
    ) -> anyhow::Result<TransactionEnvelope> {
        let auth = self.authorized(source, &host_function)?;
        let data = self.run(source, host_function.clone(), AuthMode::Enforce(auth.clone()))?.transaction_data;
        let state = self.chain.state();
        let account = find_account(&state.entries, &id(source)).context("the relayer exists")?;
        let body = OperationBody::InvokeHostFunction(InvokeHostFunctionOp {
            host_function,
            auth: auth.try_into().unwrap_or_default(),
        });
        let tx = Transaction {
            source_account: MuxedAccount::Ed25519(Uint256(source.verifying_key().to_bytes())),
            fee: 100 + u32::try_from(data.resource_fee)?,
            seq_num: SequenceNumber(account.seq_num.0 + 1),
            cond: Preconditions::None,
            memo: Memo::None,
            operations: vec![Operation { source_account: None, body }].try_into().unwrap_or_default(),
            ext: TransactionExt::V1(data),
        };
        let signatures = vec![decorated(source, &tx.hash(self.network_id)?)].try_into().unwrap_or_default();
        Ok(TransactionEnvelope::Tx(TransactionV1Envelope { tx, signatures }))
    }

    fn authorize(&self, entry: &mut SorobanAuthorizationEntry) -> anyhow::Result<()> {
        let SorobanCredentials::Address(credentials) = &mut entry.credentials else { return Ok(()) };
        credentials.signature_expiration_ledger = self.chain.state().ledger.sequence + 1_000;
        let preimage = HashIdPreimage::SorobanAuthorization(HashIdPreimageSorobanAuthorization {
            network_id: Hash(self.network_id),
            nonce: credentials.nonce,
            signature_expiration_ledger: credentials.signature_expiration_ledger,
            invocation: entry.root_invocation.clone(),
        });
        let ScAddress::Account(address) = &credentials.address else { return Ok(()) };
        let payer = self.payers.iter().find(|payer| id(payer) == *address).context("a payer signs")?;
        let field = |name: &str, bytes: Vec<u8>| -> anyhow::Result<ScMapEntry> {
            Ok(ScMapEntry {
                key: ScVal::Symbol(ScSymbol(name.try_into()?)),
                val: ScVal::Bytes(ScBytes(bytes.try_into()?)),
            })
        };
        let signed = payer.sign(&hash_of(&preimage)).to_bytes().to_vec();
        let public = payer.verifying_key().to_bytes().to_vec();
        let map = ScMap(vec![field("public_key", public)?, field("signature", signed)?].try_into()?);
        credentials.signature = ScVal::Vec(Some(ScVec(vec![ScVal::Map(Some(map))].try_into()?)));
        Ok(())
    }
}

fn key(role: &str, index: usize) -> SigningKey {
    SigningKey::from_bytes(&sha256(format!("{role} {index}").as_bytes()))
}

fn id(key: &SigningKey) -> AccountId {
    account_id(key.verifying_key().to_bytes())
}

fn decorated(key: &SigningKey, hash: &[u8; 32]) -> DecoratedSignature {
    let public = key.verifying_key().to_bytes();
    DecoratedSignature {
        hint: SignatureHint([public[28], public[29], public[30], public[31]]),
        signature: Signature(key.sign(hash).to_bytes().to_vec().try_into().unwrap_or_default()),
    }
}

fn entry(data: LedgerEntryData) -> LedgerEntry {
    LedgerEntry { last_modified_ledger_seq: 0, data, ext: LedgerEntryExt::V0 }
}

fn account(key: &SigningKey) -> LedgerEntry {
    let mut account = new_account(id(key), FUNDS, 1);
    account.num_sub_entries = 1;
    entry(LedgerEntryData::Account(account))
}

fn trustline(key: &SigningKey, asset: &Asset) -> LedgerEntry {
    entry(LedgerEntryData::Trustline(TrustLineEntry {
        account_id: id(key),
        asset: trustline_asset(asset),
        balance: FUNDS,
        limit: i64::MAX,
        flags: TrustLineFlags::AuthorizedFlag as u32,
        ext: TrustLineEntryExt::V0,
    }))
}
