//! XDR as the base64 text that RPC carries.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use soroban_env_host::DEFAULT_XDR_RW_LIMITS;

use crate::xdr::{Limits, ReadXdr, WriteXdr};

/// Reads one whole value from outside; `None` when the text is not exactly that.
///
/// Depth and size are bounded: a deeply nested value would otherwise end the whole process.
pub fn decode<T: ReadXdr>(text: &str) -> Option<T> {
    let bytes = STANDARD.decode(text).ok()?;
    let limits = Limits { depth: DEFAULT_XDR_RW_LIMITS.depth, len: bytes.len() };
    T::from_xdr(bytes, limits).ok()
}

/// Writes a value of our own; empty only for a value nested deeper than any decoded one can be.
pub fn encode<T: WriteXdr>(value: &T) -> String {
    STANDARD.encode(bytes(value))
}

pub fn encode_all<T: WriteXdr>(values: &[T]) -> Vec<String> {
    values.iter().map(encode).collect()
}

pub fn bytes<T: WriteXdr>(value: &T) -> Vec<u8> {
    let limits = Limits { depth: 2 * DEFAULT_XDR_RW_LIMITS.depth, len: usize::MAX };
    value.to_xdr(limits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{ScVal, ScVec};

    #[test]
    fn a_value_comes_back_as_it_went() {
        let value = ScVal::U64(7);
        assert_eq!(decode::<ScVal>(&encode(&value)), Some(value));
    }

    #[test]
    fn bytes_after_the_value_are_refused() {
        let mut raw = bytes(&ScVal::U64(7));
        raw.push(0);
        assert_eq!(decode::<ScVal>(&STANDARD.encode(raw)), None);
        assert_eq!(decode::<ScVal>("not base64"), None);
        assert_eq!(decode::<ScVal>(""), None);
    }

    #[test]
    fn a_value_nested_a_hundred_thousand_deep_is_refused_and_nothing_breaks() {
        // A vector with one element: discriminant 16, present, length 1.
        let level = [0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 1];
        assert_eq!(decode::<ScVal>(&STANDARD.encode(level.repeat(100_000))), None);
        let shallow = ScVal::Vec(Some(ScVec([ScVal::Void].try_into().unwrap())));
        assert_eq!(decode::<ScVal>(&encode(&shallow)), Some(shallow));
    }
}
