//! The faults that are set, and what they come to for one call; nothing here waits or writes.

use std::time::Duration;

use serde::Serialize;

use super::rule::{Effect, Rule, When};
use crate::edge::call_effects::{CallEffects, SubmissionEffect};

/// An answer that is not the service's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// None at all: the connection closes.
    HangUp,
    Http {
        status: u16,
        retry_after_s: Option<u32>,
        /// None means the status's name.
        body: Option<String>,
    },
}

/// What is to happen to one call; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub delay: Duration,
    pub cut_before: Option<Cut>,
    pub cut_after: Option<Cut>,
    /// Code and message of a JSON-RPC error; the call does nothing.
    pub error_before: Option<(i32, String)>,
    /// Code and message of a JSON-RPC error after the call did everything.
    pub error_after: Option<(i32, String)>,
    pub effects: CallEffects,
}

impl Verdict {
    fn cut(&mut self, cut: Cut, when: When) {
        match when {
            When::Before => self.cut_before = Some(cut),
            When::After => self.cut_after = Some(cut),
        }
    }
}

/// One rule with what has come of it so far.
#[derive(Clone, Debug, Serialize)]
pub struct SetFault {
    pub id: u32,
    #[serde(flatten)]
    pub rule: Rule,
    /// Calls the rule was for.
    pub matched: u64,
    /// Calls that were struck.
    pub struck: u64,
    #[serde(skip)]
    random: u64,
}

#[derive(Default)]
pub struct Plan {
    set: Vec<SetFault>,
    last_id: u32,
}

impl Plan {
    /// The new fault's number.
    pub fn add(&mut self, rule: Rule) -> u32 {
        self.last_id += 1;
        let random = rule.seed;
        self.set.push(SetFault { id: self.last_id, rule, matched: 0, struck: 0, random });
        self.last_id
    }

    /// Every fault that was set and not cleared, also those that are over.
    pub fn list(&self) -> &[SetFault] {
        &self.set
    }

    /// Takes back one fault, or all of them; returns how many there were.
    pub fn clear(&mut self, id: Option<u32>) -> usize {
        let before = self.set.len();
        self.set.retain(|fault| id.is_some_and(|id| fault.id != id));
        before - self.set.len()
    }

    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Whether some fault depends on whose transaction is sent.
    pub fn asks_for_source(&self) -> bool {
        self.set.iter().any(|fault| fault.rule.source.is_some())
    }

    /// What this call meets, all faults together; the later of two that disagree wins.
    pub fn strike(&mut self, method: &str, source: Option<&str>) -> Verdict {
        let mut verdict = Verdict::default();
        for fault in &mut self.set {
            if fault.rule.strikes(method, source) && fault.draw() {
                fault.struck += 1;
                add(&mut verdict, &fault.rule.effect, fault.struck);
            }
        }
        verdict
    }
}

impl SetFault {
    /// Whether the next matching call is struck.
    fn draw(&mut self) -> bool {
        self.matched += 1;
        if self.matched <= self.rule.skip || self.rule.count.is_some_and(|count| self.struck >= count) {
            return false;
        }
        // 53 bits, as many as a fraction has.
        let fraction = (next_random(&mut self.random) >> 11) as f64 / (1u64 << 53) as f64;
        fraction < self.rule.probability
    }
}

fn add(verdict: &mut Verdict, effect: &Effect, struck: u64) {
    match effect {
        Effect::Delay { ms } => verdict.delay += Duration::from_millis(*ms),
        Effect::Drop { when } => verdict.cut(Cut::HangUp, *when),
        Effect::Http { status, retry_after_s, when, body } => {
            let cut = Cut::Http { status: *status, retry_after_s: *retry_after_s, body: body.clone() };
            verdict.cut(cut, *when);
        }
        Effect::RpcError { code, message, when: When::Before } => {
            verdict.error_before = Some((*code, message.clone()));
        }
        Effect::RpcError { code, message, when: When::After } => {
            verdict.error_after = Some((*code, message.clone()));
        }
        other => add_to_call(&mut verdict.effects, other, struck),
    }
}

fn add_to_call(effects: &mut CallEffects, effect: &Effect, struck: u64) {
    match effect {
        Effect::Stale { ledgers } | Effect::IngestionDelay { ledgers } => effects.sight.behind = *ledgers,
        // The first call reaches the node that is up to date.
        Effect::TwoNodes { ledgers } => {
            effects.sight.behind = if struck.is_multiple_of(2) { *ledgers } else { 0 };
        }
        Effect::TrimmedHistory { ledgers } => effects.sight.remembers = Some(*ledgers),
        Effect::Ahead { ledgers } => effects.sight.ahead = *ledgers,
        Effect::TornLookup { ledgers } => effects.sight.lookup_behind = *ledgers,
        Effect::TryAgainLater => effects.submission = SubmissionEffect::TryAgainLater,
        Effect::OutOfSync => effects.submission = SubmissionEffect::OutOfSync,
        Effect::Filtered => effects.submission = SubmissionEffect::Filtered,
        Effect::SimulationError { text } => effects.simulation_error = Some(text.clone()),
        Effect::NoSimulationEvents => effects.hides_simulation_events = true,
        Effect::Cursor { mode } => effects.empty_page_cursor = Some(*mode),
        Effect::EmptyList => effects.lists_nothing = true,
        Effect::Pad { bytes } => effects.padding_bytes += bytes,
        Effect::Delay { .. } | Effect::Drop { .. } | Effect::Http { .. } | Effect::RpcError { .. } => {}
    }
}

/// SplitMix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::call_effects::CursorMode;

    fn rule(text: &str) -> Rule {
        serde_json::from_str(text).unwrap()
    }

    fn struck(plan: &mut Plan, calls: usize) -> Vec<bool> {
        (0..calls).map(|_| plan.strike("getHealth", None) != Verdict::default()).collect()
    }

    #[test]
    fn a_counted_fault_spares_the_first_calls_and_then_strikes_so_many() {
        let mut plan = Plan::default();
        plan.add(rule(r#"{"effect": {"kind": "drop", "when": "after"}, "skip": 1, "count": 2}"#));
        assert_eq!(struck(&mut plan, 5), [false, true, true, false, false]);
        assert_eq!((plan.list()[0].matched, plan.list()[0].struck), (5, 2));
    }

    #[test]
    fn chance_is_the_same_for_the_same_seed() {
        let drawn = |seed: u64| {
            let mut plan = Plan::default();
            let text = r#"{"effect": {"kind": "delay", "ms": 1}, "probability": 0.5}"#;
            plan.add(Rule { seed, ..rule(text) });
            struck(&mut plan, 1_000)
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let often = drawn(7).into_iter().filter(|struck| *struck).count();
        assert!((400..600).contains(&often), "{often}");
    }

    #[test]
    fn two_nodes_take_turns_over_all_methods() {
        let mut plan = Plan::default();
        plan.add(rule(r#"{"effect": {"kind": "two_nodes", "ledgers": 3}}"#));
        let calls = ["getHealth", "sendTransaction", "getTransaction", "getHealth"];
        let behind: Vec<_> = calls.map(|method| plan.strike(method, None).effects.sight.behind).to_vec();
        assert_eq!(behind, [0, 3, 0, 3]);
    }

    #[test]
    fn faults_add_up_and_can_be_taken_back_one_by_one() {
        let mut plan = Plan::default();
        let slow = plan.add(rule(r#"{"effect": {"kind": "delay", "ms": 2}}"#));
        plan.add(rule(r#"{"effect": {"kind": "stale", "ledgers": 4}}"#));
        let verdict = plan.strike("getHealth", None);
        assert_eq!((verdict.delay, verdict.effects.sight.behind), (Duration::from_millis(2), 4));
        assert_eq!(plan.clear(Some(slow)), 1);
        assert!(plan.strike("getHealth", None).delay.is_zero());
        assert_eq!(plan.clear(None), 1);
        assert!(plan.is_empty());
    }

    #[test]
    fn each_effect_changes_its_own_part_of_the_call() {
        let effects = |effect: &str, method: &str| {
            let mut plan = Plan::default();
            plan.add(rule(&format!(r#"{{"effect": {effect}}}"#)));
            plan.strike(method, None).effects
        };
        assert_eq!(effects(r#"{"kind": "ahead", "ledgers": 9}"#, "getHealth").sight.ahead, 9);
        let torn = effects(r#"{"kind": "torn_lookup", "ledgers": 2}"#, "getTransaction");
        assert_eq!((torn.sight.lookup_behind, torn.sight.behind), (2, 0));
        let lost = effects(r#"{"kind": "out_of_sync"}"#, "sendTransaction");
        assert_eq!(lost.submission, SubmissionEffect::OutOfSync);
        let filtered = effects(r#"{"kind": "filtered"}"#, "sendTransaction");
        assert_eq!(filtered.submission, SubmissionEffect::Filtered);
        let cursor = effects(r#"{"kind": "cursor", "mode": "empty"}"#, "getTransactions");
        assert_eq!(cursor.empty_page_cursor, Some(CursorMode::Empty));
        assert!(effects(r#"{"kind": "empty_list"}"#, "getEvents").lists_nothing);
        assert_eq!(effects(r#"{"kind": "pad", "bytes": 5}"#, "getHealth").padding_bytes, 5);
        let silent = effects(r#"{"kind": "no_simulation_events"}"#, "simulateTransaction");
        assert!(silent.hides_simulation_events);
        assert_eq!(effects(r#"{"kind": "empty_list"}"#, "getHealth"), CallEffects::default());
    }

    #[test]
    fn an_error_comes_before_or_after_the_call() {
        let verdict = |when: &str| {
            let mut plan = Plan::default();
            let effect = format!(r#"{{"kind": "rpc_error", "code": -32603, "message": "x"{when}}}"#);
            plan.add(rule(&format!(r#"{{"effect": {effect}}}"#)));
            let verdict = plan.strike("getHealth", None);
            (verdict.error_before.is_some(), verdict.error_after.is_some())
        };
        assert_eq!(verdict(""), (true, false));
        assert_eq!(verdict(r#", "when": "before""#), (true, false));
        assert_eq!(verdict(r#", "when": "after""#), (false, true));
    }
}
