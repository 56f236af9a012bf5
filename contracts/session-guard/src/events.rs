//! What the guard tells of a session.

use soroban_sdk::{Address, BytesN, contractevent};

#[contractevent(topics = ["session_installed"])]
pub struct SessionInstalled {
    #[topic]
    pub account: Address,
    #[topic]
    pub policy_id: BytesN<32>,
    pub contract: Address,
    pub rule_id: u32,
}

#[contractevent(topics = ["session_used"])]
pub struct SessionUsed {
    #[topic]
    pub account: Address,
    #[topic]
    pub policy_id: BytesN<32>,
    pub uses: u32,
}

#[contractevent(topics = ["session_closed"])]
pub struct SessionClosed {
    #[topic]
    pub account: Address,
    #[topic]
    pub policy_id: BytesN<32>,
}
