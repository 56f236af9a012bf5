//! Transactions that wait for the next ledger, one for each source account.

use std::collections::{HashMap, HashSet};

use crate::accounts::{available_balance, find_account, public_key};
use crate::bans::Bans;
use crate::ledger_space::{Bid, Space};
use crate::results::{Refusal, refused};
use crate::submission::Submission;
use crate::surge::{BaseFees, Room, Selection, make_room, select};
use crate::transaction::Frame;
use crate::validation::{Against, are_within_limits, has_sane_fees, validate};
use crate::xdr::AccountId;

/// Ledgers a transaction may wait without being taken in.
const PATIENCE_LEDGERS: u32 = 4;
/// How many times the queued bid a replacing fee bump has to offer.
const REPLACEMENT_FACTOR: i128 = 10;

type AccountKey = [u8; 32];

/// What the next ledger takes in, and what an operation pays in it.
pub struct Taken {
    pub frames: Vec<Frame>,
    pub base_fees: BaseFees,
}

/// What the queue has to know of a transaction that a ledger took in.
pub struct Applied {
    hash: [u8; 32],
    source: AccountKey,
    sequence: i64,
}

impl Applied {
    pub fn of(frame: &Frame) -> Applied {
        Applied { hash: frame.hash, source: key(&frame.source()), sequence: frame.tx().seq_num.0 }
    }
}

struct Pending {
    frame: Frame,
    space: Space,
    waited_ledgers: u32,
}

/// The queue of both kinds together: an account has one pending transaction, classic or Soroban.
#[derive(Default)]
pub struct Queue {
    by_source: HashMap<AccountKey, Pending>,
    /// Stroops that each fee source has promised.
    promised: HashMap<AccountKey, i64>,
    /// Of classic and of Soroban transactions.
    used: [Space; 2],
    /// The highest bid of each kind that had to go since the last ledger: nobody gets in with less.
    evicted: [Option<Bid>; 2],
    bans: Bans,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.by_source.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_source.is_empty()
    }

    /// Takes the transaction in, or says why not, in the order in which a node's queue decides.
    pub fn offer(&mut self, frame: Frame, against: &Against) -> Submission {
        if !has_sane_fees(&frame) {
            return error(Refusal::Malformed, frame.quoted_fee());
        }
        let source = key(&frame.source());
        let pending = self.by_source.get(&source).map(|pending| &pending.frame);
        if pending.is_some_and(|pending| pending.is_soroban() != frame.is_soroban()) {
            return Submission::TryAgainLater;
        }
        if self.bans.contains(&frame.hash) {
            return Submission::TryAgainLater;
        }
        if let Some(pending) = pending
            && let Err(answer) = may_replace(pending, &frame, against)
        {
            return answer;
        }
        let evicted = match self.room_for(&frame, &source, against) {
            Room::Evicting(evicted) => evicted,
            Room::For { inclusion_fee } => {
                self.bans.add([frame.hash]);
                return error(Refusal::InsufficientFee, inclusion_fee.saturating_add(frame.resource_fee()));
            }
            Room::Never => {
                self.bans.add([frame.hash]);
                return Submission::TryAgainLater;
            }
        };
        if let Err(invalid) = validate(&frame, against) {
            return Submission::Error { result: invalid.result(&frame), diagnostic_events: Vec::new() };
        }
        if !self.can_be_paid(&frame, pending, against) {
            return error(Refusal::InsufficientBalance, frame.quoted_fee());
        }
        self.remove(&source);
        for cheaper in evicted {
            self.evict(&cheaper);
        }
        self.insert(source, frame);
        Submission::Pending
    }

    /// Which accounts' transactions have to go so that this one fits.
    fn room_for(&self, frame: &Frame, source: &AccountKey, against: &Against) -> Room<AccountKey> {
        if let Some(bid) = self.evicted[usize::from(frame.is_soroban())]
            && Bid::of(frame) <= bid
        {
            return Room::For { inclusion_fee: bid.fee_to_beat(frame.paid_operations()) };
        }
        let capacity = against.limits.ledger.of_kind(frame.is_soroban()).twice();
        let replaced = self.by_source.get(source).map_or(Space::default(), |pending| pending.space);
        let used = self.used[usize::from(frame.is_soroban())].without(replaced);
        let others = self
            .by_source
            .iter()
            .filter(|(other, pending)| *other != source && pending.frame.is_soroban() == frame.is_soroban());
        let others = others.map(|(other, pending)| (*other, Bid::of(&pending.frame), pending.space));
        make_room(frame, used, others, capacity)
    }

    fn insert(&mut self, source: AccountKey, frame: Frame) {
        *self.promised.entry(key(&frame.fee_source())).or_default() += frame.full_fee();
        let space = Space::of(&frame);
        let used = &mut self.used[usize::from(frame.is_soroban())];
        *used = used.and(space);
        self.by_source.insert(source, Pending { frame, space, waited_ledgers: 0 });
    }

    fn can_be_paid(&self, frame: &Frame, replaced: Option<&Frame>, against: &Against) -> bool {
        let fee_source = frame.fee_source();
        let promised = self.promised.get(&key(&fee_source)).copied().unwrap_or(0);
        let freed = replaced.filter(|old| old.fee_source() == fee_source).map_or(0, Frame::full_fee);
        let needed = promised.saturating_sub(freed).saturating_add(frame.full_fee());
        find_account(against.ledger, &fee_source).is_some_and(|payer| available_balance(&payer) >= needed)
    }

    /// The transactions for the next ledger with what they pay; those that stopped being valid are dropped.
    ///
    /// Where `landed` already takes up an account's place in the ledger, its own transaction waits.
    pub fn take(&mut self, against: &Against, landed: &[Frame]) -> Taken {
        self.drop_where(|pending| validate(&pending.frame, against).is_err());
        let occupied: HashSet<AccountKey> = landed.iter().map(|frame| key(&frame.source())).collect();
        let (sources, offered): (Vec<AccountKey>, Vec<&Frame>) = self
            .by_source
            .iter()
            .filter(|(source, _)| !occupied.contains(*source))
            .map(|(source, pending)| (*source, &pending.frame))
            .unzip();
        let Selection { taken, base_fees } = select(&offered, &against.limits.ledger, against.sequence);
        let frames = taken.into_iter().filter_map(|index| self.remove(&sources[index])).collect();
        Taken { frames, base_fees }
    }

    /// A ledger closed: what it took in is banned, who has waited too long is dropped, the oldest bans end.
    pub fn ledger_closed(&mut self, applied: &[Applied]) {
        for transaction in applied {
            // It was this one, or this one's sequence number is used up.
            if self.sequence_of(&transaction.source).is_some_and(|waiting| waiting <= transaction.sequence) {
                self.remove(&transaction.source);
            }
        }
        // Before the bans grow a ledger older: it is a ban for one ledger less than that of a dropped one.
        self.bans.add(applied.iter().map(|transaction| transaction.hash));
        let mut dropped = Vec::new();
        for (source, pending) in &mut self.by_source {
            pending.waited_ledgers += 1;
            if pending.waited_ledgers >= PATIENCE_LEDGERS {
                dropped.push(*source);
            }
        }
        self.evicted = [None; 2];
        self.bans.ledger_closed();
        for source in dropped {
            self.drop_and_ban(&source);
        }
    }

    /// Drops and bans what is not valid on top of the ledger that has just closed, which includes what has
    /// too little time left, and what its fee source cannot pay for together with all else it promised.
    pub fn drop_invalid(&mut self, against: &Against) {
        self.drop_where(|pending| validate(&pending.frame, against).is_err());
        let unpaid = self.sources_where(|pending| {
            let payer = pending.frame.fee_source();
            let promised = self.promised.get(&key(&payer)).copied().unwrap_or(0);
            find_account(against.ledger, &payer).is_none_or(|payer| available_balance(&payer) < promised)
        });
        for source in unpaid {
            self.drop_and_ban(&source);
        }
    }

    fn sequence_of(&self, source: &AccountKey) -> Option<i64> {
        self.by_source.get(source).map(|pending| pending.frame.tx().seq_num.0)
    }

    fn sources_where(&self, is_meant: impl Fn(&Pending) -> bool) -> Vec<AccountKey> {
        let meant = self.by_source.iter().filter(|(_, pending)| is_meant(pending));
        meant.map(|(source, _)| *source).collect()
    }

    fn drop_where(&mut self, is_meant: impl Fn(&Pending) -> bool) {
        for source in self.sources_where(is_meant) {
            self.drop_and_ban(&source);
        }
    }

    /// The envelope with this hash, while it waits.
    pub fn find(&self, hash: &[u8; 32]) -> Option<&Frame> {
        let waiting = self.by_source.values().map(|pending| &pending.frame);
        waiting.into_iter().find(|frame| frame.hash == *hash || frame.inner_hash == *hash)
    }

    fn evict(&mut self, source: &AccountKey) {
        if let Some(Pending { frame, .. }) = self.by_source.get(source) {
            let highest = &mut self.evicted[usize::from(frame.is_soroban())];
            *highest = (*highest).max(Some(Bid::of(frame)));
        }
        self.drop_and_ban(source);
    }

    fn drop_and_ban(&mut self, source: &AccountKey) {
        if let Some(frame) = self.remove(source) {
            self.bans.add([frame.hash]);
        }
    }

    fn remove(&mut self, source: &AccountKey) -> Option<Frame> {
        let Pending { frame, space, .. } = self.by_source.remove(source)?;
        let used = &mut self.used[usize::from(frame.is_soroban())];
        *used = used.without(space);
        let fee_source = key(&frame.fee_source());
        if let Some(promised) = self.promised.get_mut(&fee_source) {
            *promised = promised.saturating_sub(frame.full_fee());
            if *promised == 0 {
                self.promised.remove(&fee_source);
            }
        }
        Some(frame)
    }
}

/// Whether `frame` may take the place of what its source already has pending.
fn may_replace(pending: &Frame, frame: &Frame, against: &Against) -> Result<(), Submission> {
    if frame.hash == pending.hash || (pending.fee_bump().is_some() && pending.inner_hash == frame.hash) {
        return Err(Submission::Duplicate);
    }
    if frame.tx().seq_num < pending.tx().seq_num {
        return Err(error(Refusal::BadSequence, frame.quoted_fee()));
    }
    if let Some(data) = frame.soroban_data()
        && !are_within_limits(frame, data, against.limits)
    {
        return Err(error(Refusal::SorobanInvalid, frame.quoted_fee()));
    }
    if frame.fee_bump().is_none() || frame.tx().seq_num != pending.tx().seq_num {
        return Err(Submission::TryAgainLater);
    }
    match fee_to_replace(pending, frame) {
        Some(needed) => Err(error(Refusal::InsufficientFee, needed)),
        None => Ok(()),
    }
}

/// The fee that `frame` would have to offer, when it offers less than ten times the queued rate.
fn fee_to_replace(pending: &Frame, frame: &Frame) -> Option<i64> {
    let (operations, pending_operations) =
        (i128::from(frame.paid_operations()), i128::from(pending.paid_operations()));
    let asked = i128::from(pending.inclusion_fee()) * operations * REPLACEMENT_FACTOR;
    if i128::from(frame.inclusion_fee()) * pending_operations >= asked {
        return None;
    }
    let needed = (asked + pending_operations - 1) / pending_operations;
    Some(i64::try_from(needed).unwrap_or(i64::MAX).saturating_add(frame.resource_fee()))
}

fn error(refusal: Refusal, fee: i64) -> Submission {
    Submission::Error { result: refused(refusal, fee), diagnostic_events: Vec::new() }
}

fn key(account: &AccountId) -> AccountKey {
    *public_key(account)
}
