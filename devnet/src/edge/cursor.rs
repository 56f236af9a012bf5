//! Positions in history as numbers and text: TOIDs, and event ids made of them.

use std::fmt;

const TRANSACTION_BITS: u32 = 20;
const OPERATION_BITS: u32 = 12;

/// The largest transaction index a TOID holds: events after all transactions sort here.
pub const LAST_TRANSACTION: u32 = (1 << TRANSACTION_BITS) - 1;
/// The largest operation index a TOID holds: events after a transaction sort here.
pub const LAST_OPERATION: u32 = (1 << OPERATION_BITS) - 1;

/// A place in the order of everything: ledger, then transaction, then operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toid {
    pub ledger: u32,
    pub transaction: u32,
    pub operation: u32,
}

impl Toid {
    pub fn to_number(self) -> u64 {
        u64::from(self.ledger) << (TRANSACTION_BITS + OPERATION_BITS)
            | u64::from(self.transaction.min(LAST_TRANSACTION)) << OPERATION_BITS
            | u64::from(self.operation.min(LAST_OPERATION))
    }

    pub fn from_number(number: u64) -> Toid {
        Toid {
            ledger: (number >> (TRANSACTION_BITS + OPERATION_BITS)) as u32,
            transaction: (number >> OPERATION_BITS) as u32 & LAST_TRANSACTION,
            operation: number as u32 & LAST_OPERATION,
        }
    }
}

/// The id of an event, which is also the cursor that continues behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventCursor {
    pub place: Toid,
    pub event: u32,
}

impl EventCursor {
    /// Behind every event of `ledger`.
    pub fn end_of(ledger: u32) -> EventCursor {
        let place = Toid { ledger, transaction: LAST_TRANSACTION, operation: LAST_OPERATION };
        EventCursor { place, event: u32::MAX }
    }

    pub fn parse(text: &str) -> Option<EventCursor> {
        let (place, event) = text.split_once('-')?;
        let number: i64 = place.parse().ok()?;
        Some(EventCursor {
            place: Toid::from_number(u64::try_from(number).ok()?),
            event: event.parse().ok()?,
        })
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:019}-{:010}", self.place.to_number(), self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_is_nineteen_digits_a_dash_and_ten_digits() {
        let cursor = EventCursor { place: Toid { ledger: 2, transaction: 3, operation: 4 }, event: 5 };
        assert_eq!(cursor.to_string(), "0000000008589946884-0000000005");
        assert_eq!(EventCursor::parse(&cursor.to_string()), Some(cursor));
    }

    #[test]
    fn the_end_of_a_ledger_is_behind_all_its_events() {
        let last =
            EventCursor { place: Toid { ledger: 9, transaction: LAST_TRANSACTION, operation: 0 }, event: 77 };
        assert!(EventCursor::end_of(9) > last);
        assert!(
            EventCursor::end_of(9) < EventCursor { place: Toid { ledger: 10, ..Toid::default() }, event: 0 }
        );
        assert_eq!(EventCursor::parse(&EventCursor::end_of(9).to_string()), Some(EventCursor::end_of(9)));
    }

    #[test]
    fn what_is_no_cursor_is_none() {
        for text in ["", "1", "-1-2", "1-", "a-1", "1-4294967296", "9223372036854775808-1"] {
            assert_eq!(EventCursor::parse(text), None, "{text}");
        }
    }
}
