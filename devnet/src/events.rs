//! Events that the network itself emits: fees, and classic payments in the shape of asset contracts.

use crate::accounts::issuer;
use crate::codec::hash_of;
use crate::xdr::{
    AccountId, Asset, ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, ContractId,
    ContractIdPreimage, ExtensionPoint, Hash, HashIdPreimage, HashIdPreimageContractId, Int128Parts,
    ScAddress, ScMap, ScMapEntry, ScVal, TransactionEvent, TransactionEventStage,
};

/// Which sub-account of the destination a payment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MuxedId {
    Number(u64),
    Text(Vec<u8>),
    Hash([u8; 32]),
}

/// The contract that stands for an asset on this network.
pub fn asset_contract(asset: &Asset, network_id: [u8; 32]) -> [u8; 32] {
    hash_of(&HashIdPreimage::ContractId(HashIdPreimageContractId {
        network_id: Hash(network_id),
        contract_id_preimage: ContractIdPreimage::Asset(asset.clone()),
    }))
}

/// What was taken from the payer, or given back where `amount` is negative; none for nothing.
pub fn fee(
    native_contract: [u8; 32],
    payer: &AccountId,
    amount: i64,
    stage: TransactionEventStage,
) -> Option<TransactionEvent> {
    if amount == 0 {
        return None;
    }
    let topics = vec![symbol("fee"), ScVal::Address(ScAddress::Account(payer.clone()))];
    Some(TransactionEvent { stage, event: event(native_contract, topics, number(amount)) })
}

pub fn transfer(
    contract: [u8; 32],
    asset: &Asset,
    from: ScAddress,
    to: ScAddress,
    amount: i64,
    to_muxed_id: Option<MuxedId>,
) -> ContractEvent {
    let topics = vec![symbol("transfer"), ScVal::Address(from), ScVal::Address(to), name(asset)];
    event(contract, topics, moved(amount, to_muxed_id))
}

pub fn mint(
    contract: [u8; 32],
    asset: &Asset,
    to: ScAddress,
    amount: i64,
    to_muxed_id: Option<MuxedId>,
) -> ContractEvent {
    event(contract, vec![symbol("mint"), ScVal::Address(to), name(asset)], moved(amount, to_muxed_id))
}

pub fn burn(contract: [u8; 32], asset: &Asset, from: ScAddress, amount: i64) -> ContractEvent {
    event(contract, vec![symbol("burn"), ScVal::Address(from), name(asset)], number(amount))
}

pub fn set_authorized(
    contract: [u8; 32],
    asset: &Asset,
    holder: &AccountId,
    is_authorized: bool,
) -> ContractEvent {
    let holder = ScVal::Address(ScAddress::Account(holder.clone()));
    event(contract, vec![symbol("set_authorized"), holder, name(asset)], ScVal::Bool(is_authorized))
}

/// "native", or the code and the issuer with a colon between.
pub fn asset_name(asset: &Asset) -> String {
    let code: &[u8] = match asset {
        Asset::Native => return "native".to_owned(),
        Asset::CreditAlphanum4(credit) => &credit.asset_code.0,
        Asset::CreditAlphanum12(credit) => &credit.asset_code.0,
    };
    let code: String = code.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    let issuer = issuer(asset).map_or([0; 32], |issuer| *crate::accounts::public_key(issuer));
    format!("{code}:{}", stellar_strkey::ed25519::PublicKey(issuer))
}

fn moved(amount: i64, to_muxed_id: Option<MuxedId>) -> ScVal {
    let id = match to_muxed_id {
        None => return number(amount),
        Some(MuxedId::Number(id)) => ScVal::U64(id),
        Some(MuxedId::Text(text)) => {
            ScVal::String(text.try_into().map(crate::xdr::ScString).unwrap_or_default())
        }
        Some(MuxedId::Hash(hash)) => ScVal::Bytes(hash.to_vec().try_into().unwrap_or_default()),
    };
    let entries = vec![
        ScMapEntry { key: symbol("amount"), val: number(amount) },
        ScMapEntry { key: symbol("to_muxed_id"), val: id },
    ];
    ScVal::Map(entries.try_into().ok().map(ScMap))
}

fn event(contract: [u8; 32], topics: Vec<ScVal>, data: ScVal) -> ContractEvent {
    ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: Some(ContractId(Hash(contract))),
        type_: ContractEventType::Contract,
        body: ContractEventBody::V0(ContractEventV0 { topics: topics.try_into().unwrap_or_default(), data }),
    }
}

fn symbol(name: &str) -> ScVal {
    ScVal::Symbol(name.try_into().map(crate::xdr::ScSymbol).unwrap_or_default())
}

fn name(asset: &Asset) -> ScVal {
    ScVal::String(asset_name(asset).try_into().map(crate::xdr::ScString).unwrap_or_default())
}

fn number(amount: i64) -> ScVal {
    let wide = i128::from(amount);
    ScVal::I128(Int128Parts { hi: (wide >> 64) as i64, lo: wide as u64 })
}
