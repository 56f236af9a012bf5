//! XDR and hashes of values that this process built or has already read within bounds.

use sha2::{Digest, Sha256};

use crate::xdr::{self, LedgerKey, Limits, ReadXdr, WriteXdr};

pub use soroban_env_host::DEFAULT_XDR_RW_LIMITS;

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The XDR of a value in memory. What came from outside was read within `DEFAULT_XDR_RW_LIMITS`, so it encodes.
pub fn encode<T: WriteXdr>(value: &T) -> Vec<u8> {
    value.to_xdr(Limits::none()).expect("a value that was built or read within bounds encodes")
}

/// Reads XDR that came from outside: depth and length are bounded.
pub fn decode<T: ReadXdr>(bytes: &[u8]) -> Result<T, xdr::Error> {
    T::from_xdr(bytes, DEFAULT_XDR_RW_LIMITS)
}

pub fn encoded_size<T: WriteXdr>(value: &T) -> u32 {
    u32::try_from(encode(value).len()).unwrap_or(u32::MAX)
}

pub fn hash_of<T: WriteXdr>(value: &T) -> [u8; 32] {
    sha256(&encode(value))
}

/// The hash under which an entry's lifetime is kept.
pub fn key_hash(key: &LedgerKey) -> [u8; 32] {
    hash_of(key)
}
