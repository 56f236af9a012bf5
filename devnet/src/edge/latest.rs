//! One value computed from the latest ledger, remembered until the next one closes.

use std::sync::{Mutex, PoisonError};

/// Many clients ask the same of one ledger, and encoding a full one is megabytes of work.
pub struct LatestMemo<T> {
    known: Mutex<Option<(u32, T)>>,
}

impl<T> Default for LatestMemo<T> {
    fn default() -> Self {
        LatestMemo { known: Mutex::new(None) }
    }
}

impl<T: Clone> LatestMemo<T> {
    /// The value for `sequence`, computed on the first call for it only.
    pub fn get(&self, sequence: u32, compute: impl FnOnce() -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, value)) = known.as_ref()
            && *at == sequence
        {
            return value.clone();
        }
        let value = compute();
        *known = Some((sequence, value.clone()));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_computed_once_a_ledger() {
        let memo = LatestMemo::default();
        assert_eq!(memo.get(5, || "first"), "first");
        assert_eq!(memo.get(5, || unreachable!()), "first");
        assert_eq!(memo.get(6, || "second"), "second");
    }
}
