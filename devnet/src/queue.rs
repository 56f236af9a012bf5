//! Transactions that wait for the next ledger, one for each source account.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::accounts::{available_balance, find_account, public_key};
use crate::node::Submission;
use crate::results::{Refusal, refused};
use crate::transaction::Frame;
use crate::validation::{Against, are_within_limits, has_sane_fees, validate};
use crate::xdr::AccountId;

/// Ledgers a transaction may wait without being taken in.
const PATIENCE_LEDGERS: u32 = 4;
/// Ledgers for which a dropped transaction is not looked at again.
const BAN_LEDGERS: usize = 10;
/// How many times the queued bid a replacing fee bump has to offer.
const REPLACEMENT_FACTOR: i128 = 10;

type AccountKey = [u8; 32];

struct Pending {
    frame: Frame,
    waited_ledgers: u32,
}

/// The queue of both kinds together: an account has one pending transaction, classic or Soroban.
#[derive(Default)]
pub struct Queue {
    by_source: HashMap<AccountKey, Pending>,
    /// Stroops that each fee source has promised.
    promised: HashMap<AccountKey, i64>,
    /// Newest first; one set for each of the last ledgers.
    banned: VecDeque<HashSet<[u8; 32]>>,
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
        if self.is_banned(&frame.hash) {
            return Submission::TryAgainLater;
        }
        if let Some(pending) = pending
            && let Err(answer) = may_replace(pending, &frame, against)
        {
            return answer;
        }
        if let Err(invalid) = validate(&frame, against) {
            return Submission::Error { result: invalid.result(&frame), diagnostic_events: Vec::new() };
        }
        if !self.can_be_paid(&frame, pending, against) {
            return error(Refusal::InsufficientBalance, frame.quoted_fee());
        }
        self.remove(&source);
        *self.promised.entry(key(&frame.fee_source())).or_default() += frame.full_fee();
        self.by_source.insert(source, Pending { frame, waited_ledgers: 0 });
        Submission::Pending
    }

    fn can_be_paid(&self, frame: &Frame, replaced: Option<&Frame>, against: &Against) -> bool {
        let fee_source = frame.fee_source();
        let promised = self.promised.get(&key(&fee_source)).copied().unwrap_or(0);
        let freed = replaced.filter(|old| old.fee_source() == fee_source).map_or(0, Frame::full_fee);
        let needed = promised.saturating_sub(freed).saturating_add(frame.full_fee());
        find_account(against.ledger, &fee_source).is_some_and(|payer| available_balance(&payer) >= needed)
    }

    /// The transactions for the next ledger; those that stopped being valid are dropped and banned.
    pub fn take(&mut self, against: &Against) -> Vec<Frame> {
        self.promised.clear();
        let mut taken = Vec::with_capacity(self.by_source.len());
        let mut dropped = Vec::new();
        for (_, Pending { frame, .. }) in self.by_source.drain() {
            match validate(&frame, against) {
                Ok(()) => taken.push(frame),
                Err(_) => dropped.push(frame.hash),
            }
        }
        self.ban(dropped);
        taken
    }

    /// A ledger closed: who has waited too long is dropped, and the oldest bans end.
    pub fn ledger_closed(&mut self) {
        let mut dropped = Vec::new();
        for pending in self.by_source.values_mut() {
            pending.waited_ledgers += 1;
            if pending.waited_ledgers >= PATIENCE_LEDGERS {
                dropped.push((key(&pending.frame.source()), pending.frame.hash));
            }
        }
        self.banned.push_front(HashSet::new());
        self.banned.truncate(BAN_LEDGERS);
        for (source, hash) in dropped {
            self.remove(&source);
            self.ban([hash]);
        }
    }

    fn remove(&mut self, source: &AccountKey) {
        let Some(Pending { frame, .. }) = self.by_source.remove(source) else { return };
        let fee_source = key(&frame.fee_source());
        if let Some(promised) = self.promised.get_mut(&fee_source) {
            *promised = promised.saturating_sub(frame.full_fee());
            if *promised == 0 {
                self.promised.remove(&fee_source);
            }
        }
    }

    fn is_banned(&self, hash: &[u8; 32]) -> bool {
        self.banned.iter().any(|ledger| ledger.contains(hash))
    }

    fn ban(&mut self, hashes: impl IntoIterator<Item = [u8; 32]>) {
        if self.banned.is_empty() {
            self.banned.push_front(HashSet::new());
        }
        if let Some(newest) = self.banned.front_mut() {
            newest.extend(hashes);
        }
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
