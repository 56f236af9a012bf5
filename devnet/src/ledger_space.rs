//! What a transaction takes up in a ledger, what a ledger has room for, and what a transaction bids for it.

use std::cmp::Ordering;

use crate::host::fees::disk_read_entries;
use crate::transaction::Frame;

const KINDS: usize = 7;

/// Amounts of everything that a ledger limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Operations of classic transactions, or Soroban transactions.
    pub operations: u64,
    pub bytes: u64,
    pub instructions: u64,
    pub disk_read_entries: u64,
    pub disk_read_bytes: u64,
    pub write_entries: u64,
    pub write_bytes: u64,
}

impl Space {
    /// Classic transactions are counted by operations alone, as the network does.
    pub fn of(frame: &Frame) -> Space {
        let Some(data) = frame.soroban_data().filter(|_| frame.is_soroban()) else {
            return Space { operations: frame.paid_operations().unsigned_abs(), ..Space::default() };
        };
        Space {
            operations: 1,
            bytes: frame.size.into(),
            instructions: data.resources.instructions.into(),
            disk_read_entries: disk_read_entries(frame, data).into(),
            disk_read_bytes: data.resources.disk_read_bytes.into(),
            write_entries: data.resources.footprint.read_write.len() as u64,
            write_bytes: data.resources.write_bytes.into(),
        }
    }

    pub fn and(self, other: Space) -> Space {
        Space::from_amounts(std::array::from_fn(|kind| {
            self.amounts()[kind].saturating_add(other.amounts()[kind])
        }))
    }

    pub fn without(self, other: Space) -> Space {
        Space::from_amounts(std::array::from_fn(|kind| {
            self.amounts()[kind].saturating_sub(other.amounts()[kind])
        }))
    }

    pub fn twice(self) -> Space {
        self.and(self)
    }

    pub fn fits_in(self, room: Space) -> bool {
        self.amounts().iter().zip(room.amounts()).all(|(wanted, limit)| *wanted <= limit)
    }

    fn amounts(self) -> [u64; KINDS] {
        [
            self.operations,
            self.bytes,
            self.instructions,
            self.disk_read_entries,
            self.disk_read_bytes,
            self.write_entries,
            self.write_bytes,
        ]
    }

    fn from_amounts(amounts: [u64; KINDS]) -> Space {
        let [operations, bytes, instructions, disk_read_entries, disk_read_bytes, write_entries, write_bytes] =
            amounts;
        Space {
            operations,
            bytes,
            instructions,
            disk_read_entries,
            disk_read_bytes,
            write_entries,
            write_bytes,
        }
    }
}

/// What one ledger has room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLimits {
    pub classic: Space,
    /// With the instructions of all clusters together.
    pub soroban: Space,
    /// Transactions that depend on each other run one after the other, in one cluster.
    pub cluster_instructions: u64,
    pub clusters: usize,
}

impl LedgerLimits {
    pub fn of_kind(&self, is_soroban: bool) -> Space {
        if is_soroban { self.soroban } else { self.classic }
    }
}

/// An inclusion fee for a number of operations; the greater bid is the higher rate.
#[derive(Clone, Copy, Debug)]
pub struct Bid {
    /// Stroops.
    pub fee: i64,
    pub operations: i64,
}

impl Bid {
    pub fn of(frame: &Frame) -> Bid {
        Bid { fee: frame.inclusion_fee(), operations: frame.paid_operations() }
    }

    /// Stroops for each operation, rounded down.
    pub fn rate(self) -> i64 {
        self.fee / self.operations.max(1)
    }

    /// The lowest fee for `operations` that bids more than this.
    pub fn fee_to_beat(self, operations: i64) -> i64 {
        let least = i128::from(self.fee) * i128::from(operations) / i128::from(self.operations.max(1)) + 1;
        i64::try_from(least).unwrap_or(i64::MAX)
    }
}

impl Ord for Bid {
    fn cmp(&self, other: &Bid) -> Ordering {
        let (left, right) = (i128::from(self.fee), i128::from(other.fee));
        (left * i128::from(other.operations)).cmp(&(right * i128::from(self.operations)))
    }
}

impl PartialOrd for Bid {
    fn partial_cmp(&self, other: &Bid) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bid {
    fn eq(&self, other: &Bid) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bid {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bids_compare_by_what_one_operation_pays() {
        let bid = |fee, operations| Bid { fee, operations };
        assert_eq!(bid(200, 2), bid(100, 1));
        assert!(bid(201, 2) > bid(100, 1));
        assert_eq!(bid(201, 2).rate(), 100);
        assert_eq!(bid(201, 2).fee_to_beat(2), 202);
        assert_eq!(bid(100, 1).fee_to_beat(2), 201);
    }

    #[test]
    fn space_runs_out_in_any_of_its_kinds() {
        let room = Space { operations: 2, bytes: 10, ..Space::default() };
        let one = Space { operations: 1, bytes: 5, ..Space::default() };
        assert!(one.twice().fits_in(room));
        assert!(!one.twice().and(one).fits_in(room));
        assert!(!Space { write_bytes: 1, ..one }.fits_in(room));
        assert_eq!(one.twice().without(one), one);
    }
}
