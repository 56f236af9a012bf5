//! Faults on request: what the admin port sets, the RPC port suffers.

mod calls;
mod plan;
mod rule;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

pub use calls::FaultyCalls;
pub use plan::{Cut, Plan, Verdict};
pub use rule::Rule;

use super::methods::METHODS;

/// The faults of one network, shared by its two ports.
#[derive(Default)]
pub struct Faults {
    plan: Mutex<Plan>,
    /// Spares every call the lock while nothing is set.
    any: AtomicBool,
}

impl Faults {
    /// The new fault's number, or what is wrong with it.
    pub fn set(&self, rule: Rule) -> Result<u32, String> {
        rule.check(&METHODS)?;
        let id = self.plan().add(rule);
        self.any.store(true, Ordering::Release);
        Ok(id)
    }

    pub fn list(&self) -> Value {
        json!({ "faults": self.plan().list() })
    }

    /// Takes back one fault, or all of them; returns how many there were.
    pub fn clear(&self, id: Option<u32>) -> usize {
        let mut plan = self.plan();
        let cleared = plan.clear(id);
        self.any.store(!plan.is_empty(), Ordering::Release);
        cleared
    }

    fn strike(&self, method: &str, source: impl FnOnce() -> Option<String>) -> Verdict {
        if !self.any.load(Ordering::Acquire) {
            return Verdict::default();
        }
        let mut plan = self.plan();
        let source = if plan.asks_for_source() { source() } else { None };
        plan.strike(method, source.as_deref())
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
