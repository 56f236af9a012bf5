//! The events of a token, worded as the standard does.

use soroban_sdk::{Address, String, contractevent};

#[contractevent(topics = ["transfer"], data_format = "single-value")]
pub struct Transfer {
    #[topic]
    pub from: Address,
    #[topic]
    pub to: Address,
    pub amount: i128,
}

/// A transfer as asset contracts word it, with the name of their classic asset.
#[contractevent(topics = ["transfer"], data_format = "single-value")]
pub struct AssetTransfer {
    #[topic]
    pub from: Address,
    #[topic]
    pub to: Address,
    #[topic]
    pub asset: String,
    pub amount: i128,
}

#[contractevent(data_format = "single-value")]
pub struct Mint {
    #[topic]
    pub to: Address,
    pub amount: i128,
}

#[contractevent(data_format = "single-value")]
pub struct Burn {
    #[topic]
    pub from: Address,
    pub amount: i128,
}

#[contractevent(data_format = "vec")]
pub struct Approve {
    #[topic]
    pub from: Address,
    #[topic]
    pub spender: Address,
    pub amount: i128,
    pub live_until_ledger: u32,
}
