//! Kinds of ledger keys: which entries contracts own, and which of them outlive their lease.

use crate::xdr::{ContractDataDurability, LedgerKey};

/// Whether the key belongs to a contract's data or code, which have a time to live.
pub fn is_soroban_key(key: &LedgerKey) -> bool {
    matches!(key, LedgerKey::ContractData(_) | LedgerKey::ContractCode(_))
}

/// Whether the key's entry is archived when its time to live ends, and can be restored.
pub fn is_persistent(key: &LedgerKey) -> bool {
    match key {
        LedgerKey::ContractData(data) => data.durability == ContractDataDurability::Persistent,
        key => is_soroban_key(key),
    }
}
