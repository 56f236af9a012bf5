//! How often each method was called, and how much it answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::METHODS;

/// Calls and answer bytes by method since the last reset.
#[derive(Default)]
pub struct CallCounts {
    calls: [AtomicU64; METHODS.len()],
    bytes: [AtomicU64; METHODS.len()],
}

impl CallCounts {
    pub fn add_call(&self, method: &str) {
        add(&self.calls, method, 1);
    }

    /// Counts an answer that was sent: the length of its result or error.
    pub fn add_bytes(&self, method: &str, bytes: usize) {
        add(&self.bytes, method, bytes as u64);
    }

    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        read(&self.calls)
    }

    pub fn bytes(&self) -> BTreeMap<&'static str, u64> {
        read(&self.bytes)
    }

    pub fn reset(&self) {
        self.calls.iter().chain(&self.bytes).for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

fn add(counts: &[AtomicU64; METHODS.len()], method: &str, amount: u64) {
    if let Ok(index) = METHODS.binary_search(&method) {
        counts[index].fetch_add(amount, Ordering::Relaxed);
    }
}

fn read(counts: &[AtomicU64; METHODS.len()]) -> BTreeMap<&'static str, u64> {
    METHODS.into_iter().zip(counts.iter().map(|count| count.load(Ordering::Relaxed))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_counted_by_method_until_the_reset() {
        assert!(METHODS.is_sorted());
        let counts = CallCounts::default();
        counts.add_call("simulateTransaction");
        counts.add_call("getEvents");
        counts.add_call("nonsense");
        counts.add_bytes("getEvents", 70);
        counts.add_bytes("getEvents", 7);
        assert_eq!(counts.calls()["simulateTransaction"], 1);
        assert_eq!(counts.calls().values().sum::<u64>(), 2);
        assert_eq!((counts.bytes()["getEvents"], counts.bytes().values().sum::<u64>()), (77, 77));
        counts.reset();
        assert_eq!(counts.calls().values().chain(counts.bytes().values()).sum::<u64>(), 0);
    }
}
