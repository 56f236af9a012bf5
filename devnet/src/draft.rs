//! Changes on top of a ledger that are either taken over as a whole or dropped.

use std::sync::Arc;

use crate::codec::key_hash;
use crate::entries::{Entries, Lifetime, StoredEntry};
use crate::xdr::{
    Hash, LedgerEntry, LedgerEntryChange, LedgerEntryChanges, LedgerEntryData, LedgerEntryExt, LedgerKey,
    LedgerKeyTtl, TtlEntry,
};

/// Something entries can be read from: a closed ledger, or a draft on top of one.
pub trait Ledger {
    fn find(&self, key: &LedgerKey) -> Option<StoredEntry>;
}

impl Ledger for Entries {
    fn find(&self, key: &LedgerKey) -> Option<StoredEntry> {
        self.stored(key).cloned()
    }
}

/// One written key: its last state here, and whether it came back from the archive.
struct Written {
    key: Arc<LedgerKey>,
    before: Option<StoredEntry>,
    after: Option<StoredEntry>,
    is_restored: bool,
}

/// What a finished draft changes in the ledger below it.
pub struct Writes(Vec<(Arc<LedgerKey>, Option<StoredEntry>)>);

impl Writes {
    pub fn apply(self, entries: &mut Entries) {
        for (key, after) in self.0 {
            match after {
                Some(stored) => entries.put(key, stored),
                None => drop(entries.remove(&key)),
            }
        }
    }
}

/// Uncommitted changes for the ledger `sequence`, readable as if they had been made.
pub struct Draft<'a> {
    below: &'a dyn Ledger,
    sequence: u32,
    written: Vec<Written>,
}

impl<'a> Draft<'a> {
    pub fn on(below: &'a dyn Ledger, sequence: u32) -> Draft<'a> {
        Draft { below, sequence, written: Vec::new() }
    }

    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Stores a classic entry as of this ledger.
    pub fn put(&mut self, data: LedgerEntryData) {
        let key = data.to_key();
        let ext = self.find(&key).map_or(LedgerEntryExt::V0, |stored| stored.entry.ext.clone());
        let entry = LedgerEntry { last_modified_ledger_seq: self.sequence, data, ext };
        self.write(key, Some(StoredEntry { entry: Arc::new(entry), lifetime: None }), false);
    }

    /// Stores a new classic entry with an extension of its own.
    pub fn create(&mut self, data: LedgerEntryData, ext: LedgerEntryExt) {
        let entry = LedgerEntry { last_modified_ledger_seq: self.sequence, data, ext };
        self.write(entry.to_key(), Some(StoredEntry { entry: Arc::new(entry), lifetime: None }), false);
    }

    /// Stores an entry that lives until `live_until`, or for ever.
    pub fn put_entry(&mut self, key: LedgerKey, mut entry: LedgerEntry, live_until: Option<u32>) {
        entry.last_modified_ledger_seq = self.sequence;
        let known = self.find(&key).and_then(|stored| stored.lifetime);
        let lifetime = live_until.map(|live_until| match known {
            Some(known) if known.live_until == live_until => known,
            _ => Lifetime { live_until, modified_at: self.sequence },
        });
        self.write(key, Some(StoredEntry { entry: Arc::new(entry), lifetime }), false);
    }

    /// Brings an archived entry back to life; a later write in this draft shows as an update of it.
    pub fn restore(&mut self, key: &LedgerKey, live_until: u32) {
        if let Some(stored) = self.find(key) {
            let mut entry = (*stored.entry).clone();
            entry.last_modified_ledger_seq = self.sequence;
            let lifetime = Some(Lifetime { live_until, modified_at: self.sequence });
            self.write(key.clone(), Some(StoredEntry { entry: Arc::new(entry), lifetime }), true);
        }
    }

    /// Moves only the end of a live entry, and never backwards.
    pub fn extend_lifetime(&mut self, key: &LedgerKey, live_until: u32) {
        let Some(mut stored) = self.find(key) else { return };
        if stored.lifetime.is_some_and(|lifetime| lifetime.live_until < live_until) {
            stored.lifetime = Some(Lifetime { live_until, modified_at: self.sequence });
            self.write(key.clone(), Some(stored), false);
        }
    }

    pub fn remove(&mut self, key: &LedgerKey) {
        self.write(key.clone(), None, false);
    }

    fn write(&mut self, key: LedgerKey, after: Option<StoredEntry>, is_restored: bool) {
        if let Some(written) = self.written.iter_mut().find(|written| *written.key == key) {
            written.after = after;
            return;
        }
        // A restored entry's "before" is what it was restored to, so that meta shows what happens to it next.
        let before = if is_restored { after.clone() } else { self.below.find(&key) };
        if before.is_some() || after.is_some() {
            self.written.push(Written { key: Arc::new(key), before, after, is_restored });
        }
    }

    /// The changes as transaction meta lists them.
    pub fn changes(&self) -> LedgerEntryChanges {
        let mut changes = Vec::with_capacity(self.written.len() * 2);
        for written in &self.written {
            data_changes(written, &mut changes);
            lifetime_changes(written, &mut changes);
        }
        LedgerEntryChanges(changes.try_into().unwrap_or_default())
    }

    pub fn finish(self) -> Writes {
        Writes(self.written.into_iter().map(|written| (written.key, written.after)).collect())
    }

    /// Takes over what a draft on top of this one wrote.
    pub fn absorb(&mut self, writes: Writes) {
        for (key, after) in writes.0 {
            match self.written.iter_mut().find(|written| written.key == key) {
                Some(written) => written.after = after,
                None => {
                    let before = self.below.find(&key);
                    self.written.push(Written { key, before, after, is_restored: false });
                }
            }
        }
    }
}

impl Ledger for Draft<'_> {
    fn find(&self, key: &LedgerKey) -> Option<StoredEntry> {
        match self.written.iter().find(|written| *written.key == *key) {
            Some(written) => written.after.clone(),
            None => self.below.find(key),
        }
    }
}

fn data_changes(written: &Written, changes: &mut Vec<LedgerEntryChange>) {
    let entry = |stored: &StoredEntry| (*stored.entry).clone();
    match (&written.before, &written.after) {
        (Some(before), after) if written.is_restored => {
            changes.push(LedgerEntryChange::Restored(entry(before)));
            match after {
                Some(after) if after.entry == before.entry => {}
                Some(after) => {
                    changes.push(LedgerEntryChange::State(entry(before)));
                    changes.push(LedgerEntryChange::Updated(entry(after)));
                }
                None => {
                    changes.push(LedgerEntryChange::State(entry(before)));
                    changes.push(LedgerEntryChange::Removed((*written.key).clone()));
                }
            }
        }
        (Some(before), Some(after)) => {
            // Only the lifetime moved: the data entry itself was not written.
            if !Arc::ptr_eq(&before.entry, &after.entry) {
                changes.push(LedgerEntryChange::State(entry(before)));
                changes.push(LedgerEntryChange::Updated(entry(after)));
            }
        }
        (Some(before), None) => {
            changes.push(LedgerEntryChange::State(entry(before)));
            changes.push(LedgerEntryChange::Removed((*written.key).clone()));
        }
        (None, Some(after)) => changes.push(LedgerEntryChange::Created(entry(after))),
        (None, None) => {}
    }
}

fn lifetime_changes(written: &Written, changes: &mut Vec<LedgerEntryChange>) {
    let before = written.before.as_ref().and_then(|stored| stored.lifetime);
    let after = written.after.as_ref().and_then(|stored| stored.lifetime);
    if before == after && !written.is_restored {
        return;
    }
    let key_hash = Hash(key_hash(&written.key));
    let entry = |lifetime: Lifetime| LedgerEntry {
        last_modified_ledger_seq: lifetime.modified_at,
        data: LedgerEntryData::Ttl(TtlEntry {
            key_hash: key_hash.clone(),
            live_until_ledger_seq: lifetime.live_until,
        }),
        ext: LedgerEntryExt::V0,
    };
    let removed = || LedgerEntryChange::Removed(LedgerKey::Ttl(LedgerKeyTtl { key_hash: key_hash.clone() }));
    match (before, after) {
        (Some(before), Some(after)) if written.is_restored => {
            changes.push(LedgerEntryChange::Restored(entry(before)));
            if before != after {
                changes.push(LedgerEntryChange::State(entry(before)));
                changes.push(LedgerEntryChange::Updated(entry(after)));
            }
        }
        (Some(before), Some(after)) => {
            changes.push(LedgerEntryChange::State(entry(before)));
            changes.push(LedgerEntryChange::Updated(entry(after)));
        }
        (Some(before), None) => {
            changes.push(LedgerEntryChange::State(entry(before)));
            changes.push(removed());
        }
        (None, Some(after)) => changes.push(LedgerEntryChange::Created(entry(after))),
        (None, None) => {}
    }
}
