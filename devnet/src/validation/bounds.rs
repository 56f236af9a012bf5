//! Time bounds, ledger bounds and sequence numbers.

use crate::accounts::{sequence_moved_at, starting_sequence};
use crate::results::Refusal;
use crate::transaction::Frame;
use crate::validation::Against;
use crate::xdr::{AccountEntry, LedgerBounds, Preconditions, PreconditionsV2, TimeBounds, Transaction};

pub fn check_time_and_ledger(frame: &Frame, against: &Against) -> Result<(), Refusal> {
    let time = time_bounds(frame.tx());
    let ledger = conditions(frame.tx()).and_then(|conditions| conditions.ledger_bounds.as_ref());
    let is_early = time.is_some_and(|time| time.min_time.0 > against.close_time_s)
        || ledger.is_some_and(|LedgerBounds { min_ledger, .. }| *min_ledger > against.sequence);
    if is_early {
        return Err(Refusal::TooEarly);
    }
    let latest_s = against.close_time_s.saturating_add(against.time_to_spare_s);
    let is_late = time.is_some_and(|time| time.max_time.0 != 0 && time.max_time.0 < latest_s)
        || ledger.is_some_and(|bounds| bounds.max_ledger != 0 && bounds.max_ledger <= against.sequence);
    if is_late { Err(Refusal::TooLate) } else { Ok(()) }
}

pub fn check_sequence(frame: &Frame, source: &AccountEntry, against: &Against) -> Result<(), Refusal> {
    let (current, wanted) = (source.seq_num.0, frame.tx().seq_num.0);
    let conditions = conditions(frame.tx());
    let follows = match conditions.and_then(|conditions| conditions.min_seq_num.as_ref()) {
        Some(minimum) => current >= minimum.0 && current < wanted,
        None => current.checked_add(1) == Some(wanted),
    };
    if !follows || wanted < 0 || wanted == starting_sequence(against.sequence) {
        return Err(Refusal::BadSequence);
    }
    match conditions {
        Some(conditions) if !is_old_enough(conditions, source, against) => {
            Err(Refusal::BadMinSequenceAgeOrGap)
        }
        _ => Ok(()),
    }
}

fn is_old_enough(conditions: &PreconditionsV2, source: &AccountEntry, against: &Against) -> bool {
    let (moved_in, moved_at_s) = sequence_moved_at(source);
    let age_s = against.close_time_s.saturating_sub(moved_at_s);
    let gap = against.sequence.saturating_sub(moved_in);
    age_s >= conditions.min_seq_age.0 && gap >= conditions.min_seq_ledger_gap
}

pub fn conditions(tx: &Transaction) -> Option<&PreconditionsV2> {
    match &tx.cond {
        Preconditions::V2(conditions) => Some(conditions),
        Preconditions::None | Preconditions::Time(_) => None,
    }
}

fn time_bounds(tx: &Transaction) -> Option<&TimeBounds> {
    match &tx.cond {
        Preconditions::None => None,
        Preconditions::Time(bounds) => Some(bounds),
        Preconditions::V2(conditions) => conditions.time_bounds.as_ref(),
    }
}
