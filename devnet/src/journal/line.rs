//! One line of a journal: a checksum, a space, and a record as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::codec::{decode, encode, sha256};
use crate::options::{CloseMode, NodeOptions};
use crate::xdr::{ReadXdr, WriteXdr};

const CHECKSUM_BYTES: usize = 8;

/// What the journal remembers; envelopes and entries are XDR in base64, hashes are hex.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// Always the first one.
    Genesis {
        network: Fingerprint,
        close_time_ms: u64,
    },
    /// The queue took the envelope in.
    Accepted {
        envelope: String,
    },
    Ledger(LedgerLine),
}

/// The options that decide what the genesis ledger and every header look like.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    pub passphrase: String,
    pub header: String,
    pub limits: String,
    pub close: String,
}

/// A ledger closed with these contents and got this hash.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct LedgerLine {
    pub sequence: u32,
    pub hash: String,
    pub close_time_ms: u64,
    pub classic_base_fee: i64,
    pub soroban_base_fee: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// Hashes of accepted envelopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Envelopes that came past the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<String>,
}

impl Fingerprint {
    pub fn of(options: &NodeOptions) -> Fingerprint {
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        Fingerprint {
            passphrase: options.passphrase.clone(),
            header: name(&options.header),
            limits: name(&options.limits),
            close: match options.close {
                CloseMode::EveryMs(milliseconds) => milliseconds.to_string(),
                CloseMode::Manual => "manual".to_owned(),
            },
        }
    }
}

/// The line with its end.
pub fn write(record: &Record) -> String {
    let text = serde_json::to_string(record).unwrap_or_default();
    format!("{} {text}\n", checksum(&text))
}

/// The record of a line without its end; `None` when the line is damaged.
pub fn read(line: &[u8]) -> Option<Record> {
    let (sum, text) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    if sum != checksum(text) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn checksum(text: &str) -> String {
    hex::encode(&sha256(text.as_bytes())[..CHECKSUM_BYTES])
}

pub fn to_text<T: WriteXdr>(value: &T) -> String {
    STANDARD.encode(encode(value))
}

pub fn from_text<T: ReadXdr>(text: &str) -> anyhow::Result<T> {
    Ok(decode(&STANDARD.decode(text)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_went_and_a_damaged_one_does_not() {
        let record = Record::Ledger(LedgerLine { sequence: 7, ..LedgerLine::default() });
        let line = write(&record);
        let bytes = line.trim_end().as_bytes();
        assert_eq!(read(bytes), Some(record));
        assert_eq!(read(&bytes[..bytes.len() - 1]), None);
        let mut changed = bytes.to_vec();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        assert_eq!(read(&changed), None);
        assert_eq!(read(b""), None);
        assert_eq!(read(&[0xff; 40]), None);
    }
}
