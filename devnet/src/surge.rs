//! Which of the waiting transactions a ledger takes in when there are more than it has room for.

use std::cmp::Reverse;

use crate::accounts::BASE_FEE;
use crate::clusters::Dependencies;
use crate::codec::sha256;
use crate::ledger_space::{Bid, LedgerLimits, Space};
use crate::transaction::Frame;

/// Stroops that an operation costs in one ledger, for each kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseFees {
    pub classic: i64,
    pub soroban: i64,
}

impl Default for BaseFees {
    fn default() -> Self {
        BaseFees::USUAL
    }
}

impl BaseFees {
    /// What a ledger with room to spare charges.
    pub const USUAL: BaseFees = BaseFees { classic: BASE_FEE as i64, soroban: BASE_FEE as i64 };

    pub fn of(&self, frame: &Frame) -> i64 {
        if frame.is_soroban() { self.soroban } else { self.classic }
    }
}

/// The chosen transactions, as positions in what was offered.
pub struct Selection {
    pub taken: Vec<usize>,
    pub base_fees: BaseFees,
}

/// Fills a ledger with the highest bids; a smaller transaction may take what a larger one left free.
///
/// Equal bids are drawn by lot, with another one for each ledger `sequence`. Where somebody was
/// left out, everybody of that kind pays the lowest rate that was taken in.
pub fn select(offered: &[&Frame], limits: &LedgerLimits, sequence: u32) -> Selection {
    let (classic, classic_fee) = select_kind(offered, limits, sequence, false);
    let (soroban, soroban_fee) = select_kind(offered, limits, sequence, true);
    Selection {
        taken: [classic, soroban].concat(),
        base_fees: BaseFees { classic: classic_fee, soroban: soroban_fee },
    }
}

fn select_kind(
    offered: &[&Frame],
    limits: &LedgerLimits,
    sequence: u32,
    is_soroban: bool,
) -> (Vec<usize>, i64) {
    let mut order: Vec<usize> = Vec::with_capacity(offered.len());
    order.extend((0..offered.len()).filter(|index| offered[*index].is_soroban() == is_soroban));
    // Equal bids are drawn anew for every ledger: none of them is passed over again and again.
    order.sort_by_cached_key(|index| (Reverse(Bid::of(offered[*index])), lot(offered[*index], sequence)));
    let room = limits.of_kind(is_soroban);
    let mut dependencies = Dependencies::new(limits.cluster_instructions, limits.clusters);
    let (mut used, mut taken, mut is_full) = (Space::default(), Vec::new(), false);
    for index in order {
        let with_this = used.and(Space::of(offered[index]));
        if with_this.fits_in(room) && dependencies.add(offered[index]) {
            used = with_this;
            taken.push(index);
        } else {
            is_full = true;
        }
    }
    let lowest = taken.last().map(|index| Bid::of(offered[*index]).rate()).filter(|_| is_full);
    (taken, lowest.unwrap_or(BASE_FEE.into()).max(BASE_FEE.into()))
}

fn lot(frame: &Frame, sequence: u32) -> [u8; 32] {
    sha256(&[&sequence.to_be_bytes()[..], &frame.hash].concat())
}

/// What the queue has to do so that one more transaction fits.
#[derive(Debug, PartialEq, Eq)]
pub enum Room<Who> {
    /// These have to go.
    Evicting(Vec<Who>),
    /// Only an inclusion fee of so many stroops would make room.
    For { inclusion_fee: i64 },
    /// Nothing would.
    Never,
}

/// Makes room by dropping the lowest bids, and only bids below the new one's.
///
/// `used` is what those that wait take up; they are looked at only when there is no room.
pub fn make_room<Who>(
    frame: &Frame,
    used: Space,
    waiting: impl Iterator<Item = (Who, Bid, Space)>,
    capacity: Space,
) -> Room<Who> {
    let (bid, wanted) = (Bid::of(frame), Space::of(frame));
    if !wanted.fits_in(capacity) {
        return Room::Never;
    }
    let mut used = used.and(wanted);
    if used.fits_in(capacity) {
        return Room::Evicting(Vec::new());
    }
    let mut waiting: Vec<_> = waiting.collect();
    waiting.sort_by_key(|(_, bid, _)| *bid);
    let mut evicted = Vec::new();
    for (who, other, space) in waiting {
        if other >= bid {
            return Room::For { inclusion_fee: other.fee_to_beat(bid.operations) };
        }
        used = used.without(space);
        evicted.push(who);
        if used.fits_in(capacity) {
            return Room::Evicting(evicted);
        }
    }
    Room::Never
}
