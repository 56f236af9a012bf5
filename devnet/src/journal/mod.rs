//! A file that remembers what decided the ledgers, so that the same ledgers can be closed again.

mod line;
mod replay;

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};

use crate::chain::Contents;
use crate::codec::hash_of;
use crate::options::NodeOptions;
use crate::record::ClosedLedger;
use crate::transaction::Frame;
use crate::xdr::TransactionEnvelope;

pub use line::{Fingerprint, LedgerLine, Record};
pub use replay::replay;

/// An open journal; what cannot be written ends it with a warning, and the network goes on without.
pub struct Journal {
    file: Option<File>,
    /// Hashes of envelopes that the file holds already, by the XDR's own hash.
    held: HashSet<[u8; 32]>,
}

/// A journal with what it held when it was opened, and when its genesis ledger closed.
pub struct Opened {
    pub journal: Journal,
    pub genesis_ms: u64,
    /// Without the first one.
    pub records: Vec<Record>,
}

impl Journal {
    /// Opens the file, or begins it with a genesis ledger that closes at `now_ms`.
    ///
    /// A damaged tail is cut off with a warning: that is what a killed process leaves behind.
    ///
    /// # Errors
    /// When the file cannot be read and written, is no journal, belongs to a network with other options, or is
    /// damaged before its end.
    pub fn open(path: &Path, options: &NodeOptions, now_ms: u64) -> anyhow::Result<Opened> {
        let shown = path.display();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("the journal {shown} cannot be opened"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("the journal {shown} cannot be read"))?;
        let network = Fingerprint::of(options);
        if bytes.is_empty() {
            let genesis = Record::Genesis { network, close_time_ms: now_ms };
            let mut journal = Journal { file: Some(file), held: HashSet::new() };
            journal.append(&genesis);
            return Ok(Opened { journal, genesis_ms: now_ms, records: Vec::new() });
        }
        let (records, sound_bytes) =
            sound_records(&bytes).with_context(|| format!("in the journal {shown}"))?;
        let mut records = records.into_iter();
        let Some(Record::Genesis { network: written, close_time_ms }) = records.next() else {
            bail!("{shown} is not a journal");
        };
        if written != network {
            bail!("the journal {shown} is of another network: {written:?}");
        }
        if sound_bytes < bytes.len() {
            let lost = bytes.len() - sound_bytes;
            eprintln!("farebox-devnet: the last {lost} bytes of the journal {shown} are damaged and cut off");
            file.set_len(sound_bytes as u64)?;
        }
        file.seek(SeekFrom::End(0))?;
        let records: Vec<Record> = records.collect();
        let journal = Journal { file: Some(file), held: HashSet::new() };
        Ok(Opened { journal, genesis_ms: close_time_ms, records })
    }

    /// The queue took the envelope in.
    pub fn accepted(&mut self, envelope: &TransactionEnvelope) {
        if self.held.insert(hash_of(envelope)) {
            self.append(&Record::Accepted { envelope: line::to_text(envelope) });
        }
    }

    /// The line of a ledger that is about to close with these contents.
    pub fn describe(&mut self, contents: &Contents) -> LedgerLine {
        let (accepted, landed): (Vec<&Frame>, Vec<&Frame>) =
            contents.frames.iter().partition(|frame| self.held.contains(&hash_of(&frame.envelope)));
        let line = LedgerLine {
            close_time_ms: contents.close_time_ms,
            classic_base_fee: contents.base_fees.classic,
            soroban_base_fee: contents.base_fees.soroban,
            injected: contents.injected.iter().map(line::to_text).collect(),
            accepted: accepted.iter().map(|frame| hex::encode(hash_of(&frame.envelope))).collect(),
            landed: landed.iter().map(|frame| line::to_text(&frame.envelope)).collect(),
            ..LedgerLine::default()
        };
        for frame in &contents.frames {
            self.held.remove(&hash_of(&frame.envelope));
        }
        line
    }

    pub fn closed(&mut self, line: LedgerLine, ledger: &ClosedLedger) {
        let (sequence, hash) = (ledger.sequence, hex::encode(ledger.hash));
        self.append(&Record::Ledger(LedgerLine { sequence, hash, ..line }));
    }

    fn append(&mut self, record: &Record) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(line::write(record).as_bytes()) {
            eprintln!("farebox-devnet: the journal cannot be written and ends here: {error}");
            self.file = None;
        }
    }
}

/// The records up to the damaged tail, and the bytes they take.
fn sound_records(bytes: &[u8]) -> anyhow::Result<(Vec<Record>, usize)> {
    let mut records = Vec::new();
    let mut sound_bytes = 0;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    for whole in lines.by_ref() {
        let Some(record) = whole.strip_suffix(b"\n").and_then(line::read) else { break };
        records.push(record);
        sound_bytes += whole.len();
    }
    // Damage with sound lines after it is no torn write: half of what happened must not be made up.
    if lines.any(|whole| whole.strip_suffix(b"\n").and_then(line::read).is_some()) {
        bail!("line {} is damaged and others follow", records.len() + 1);
    }
    Ok((records, sound_bytes))
}
