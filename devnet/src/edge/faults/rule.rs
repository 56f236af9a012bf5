//! What may be asked of the network to go wrong, and for which calls.

use serde::{Deserialize, Serialize};

use crate::edge::call_effects::CursorMode;
use crate::edge::keys::parse_address;

/// Ledgers that an answer can be behind; older states are not kept.
const MAX_BEHIND: u32 = 60;
/// Ledgers that an answer can claim to be in the future.
const MAX_AHEAD: u32 = 200;
/// Ledgers between a look-up and the ledger range of its answer.
const MAX_TORN: u32 = 10;
const MAX_DELAY_MS: u64 = 600_000;
const MAX_PADDING_BYTES: usize = 32 * 1024 * 1024;

/// Whether a call is cut off before it did anything, or after it did everything.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    #[default]
    Before,
    After,
}

/// What goes wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Effect {
    /// The answer comes later.
    Delay { ms: u64 },
    /// The connection closes without an answer.
    Drop { when: When },
    /// An answer with this status, as a gateway in front would send it.
    Http {
        status: u16,
        #[serde(default)]
        retry_after_s: Option<u32>,
        #[serde(default)]
        when: When,
        /// None means the status's name; an empty text means no body at all.
        #[serde(default)]
        body: Option<String>,
    },
    /// A JSON-RPC error instead of the result.
    RpcError {
        code: i32,
        message: String,
        #[serde(default)]
        when: When,
    },
    /// The answer is as of so many ledgers ago.
    Stale { ledgers: u32 },
    /// getTransaction and getTransactions are as of so many ledgers ago.
    IngestionDelay { ledgers: u32 },
    /// Every second call reaches a node that is so many ledgers behind.
    TwoNodes { ledgers: u32 },
    /// Only so many ledgers are remembered.
    TrimmedHistory { ledgers: u32 },
    /// The answer states a latest ledger so many ledgers in the future.
    Ahead { ledgers: u32 },
    /// getTransaction looks up as of so many ledgers ago and states the newest ledger range.
    TornLookup { ledgers: u32 },
    /// sendTransaction answers TRY_AGAIN_LATER and queues nothing.
    TryAgainLater,
    /// sendTransaction answers PENDING and queues nothing.
    OutOfSync,
    /// sendTransaction answers as stellar-rpc does for core's status FILTERED and queues nothing.
    Filtered,
    /// simulateTransaction answers this text as its error.
    SimulationError { text: String },
    /// A simulation has no `events`.
    NoSimulationEvents,
    /// The cursor of an empty page of getTransactions.
    Cursor { mode: CursorMode },
    /// getTransactions and getEvents list nothing.
    EmptyList,
    /// The answer grows by so many bytes.
    Pad { bytes: usize },
}

impl Effect {
    /// The only methods that the effect makes sense for; `None` means all.
    fn methods(&self) -> Option<&'static [&'static str]> {
        Some(match self {
            Effect::IngestionDelay { .. } => &["getTransaction", "getTransactions"],
            Effect::TornLookup { .. } => &["getTransaction"],
            Effect::TryAgainLater | Effect::OutOfSync | Effect::Filtered => &["sendTransaction"],
            Effect::SimulationError { .. } | Effect::NoSimulationEvents => &["simulateTransaction"],
            Effect::Cursor { .. } => &["getTransactions"],
            Effect::EmptyList => &["getTransactions", "getEvents"],
            _ => return None,
        })
    }

    /// What is wrong with the effect's numbers, in one sentence.
    fn check(&self) -> Result<(), String> {
        match self {
            Effect::Delay { ms } if *ms > MAX_DELAY_MS => Err(format!("ms must be at most {MAX_DELAY_MS}")),
            Effect::Http { status, .. } if !(400..=599).contains(status) => {
                Err("status must be from 400 to 599".to_owned())
            }
            Effect::Stale { ledgers } | Effect::IngestionDelay { ledgers } | Effect::TwoNodes { ledgers } => {
                check_ledgers(*ledgers, MAX_BEHIND)
            }
            Effect::Ahead { ledgers } => check_ledgers(*ledgers, MAX_AHEAD),
            Effect::TornLookup { ledgers } => check_ledgers(*ledgers, MAX_TORN),
            Effect::TrimmedHistory { ledgers: 0 } => Err("ledgers must be at least 1".to_owned()),
            Effect::Pad { bytes } if !(1..=MAX_PADDING_BYTES).contains(bytes) => {
                Err(format!("bytes must be from 1 to {MAX_PADDING_BYTES}"))
            }
            _ => Ok(()),
        }
    }
}

fn check_ledgers(ledgers: u32, most: u32) -> Result<(), String> {
    if (1..=most).contains(&ledgers) { Ok(()) } else { Err(format!("ledgers must be from 1 to {most}")) }
}

/// A fault and the calls it strikes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub effect: Effect,
    /// None means all that the effect makes sense for.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Only transactions of this account (G…): in sendTransaction and simulateTransaction.
    #[serde(default)]
    pub source: Option<String>,
    /// Matching calls that are spared at first.
    #[serde(default)]
    pub skip: u64,
    /// Calls that are struck before the rule is over; none means until it is cleared.
    #[serde(default)]
    pub count: Option<u64>,
    /// How likely a matching call is struck, from 0 to 1.
    #[serde(default = "always")]
    pub probability: f64,
    /// The same seed strikes the same calls again.
    #[serde(default)]
    pub seed: u64,
}

fn always() -> f64 {
    1.0
}

impl Rule {
    /// What is wrong with the rule itself, in one sentence.
    pub fn check(&self, methods: &[&str]) -> Result<(), String> {
        if let Some(unknown) = self.methods.iter().find(|method| !methods.contains(&method.as_str())) {
            return Err(format!("there is no method {unknown:?}"));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return Err("probability must be from 0 to 1".to_owned());
        }
        if self.source.as_ref().is_some_and(|source| parse_address(source).is_none()) {
            return Err("source must be the address (G…) of an account".to_owned());
        }
        let sensible = self.effect.methods();
        if let Some(sensible) = sensible
            && !self.methods.is_empty()
            && !self.methods.iter().any(|method| sensible.contains(&method.as_str()))
        {
            return Err(format!("the effect strikes {} only", sensible.join(" and ")));
        }
        self.effect.check()
    }

    pub fn strikes(&self, method: &str, source: Option<&str>) -> bool {
        let is_wanted = self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method);
        let makes_sense = self.effect.methods().is_none_or(|sensible| sensible.contains(&method));
        is_wanted && makes_sense && (self.source.is_none() || self.source.as_deref() == source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::methods::METHODS;

    fn read(text: &str) -> Result<Rule, String> {
        let rule: Rule = serde_json::from_str(text).map_err(|error| error.to_string())?;
        rule.check(&METHODS).map(|()| rule)
    }

    #[test]
    fn a_rule_strikes_the_calls_it_names() {
        let rule = read(r#"{"effect": {"kind": "try_again_later"}}"#).unwrap();
        assert!(rule.strikes("sendTransaction", None) && !rule.strikes("getHealth", None));
        let rule = read(r#"{"effect": {"kind": "delay", "ms": 5}, "methods": ["sendTransaction"]}"#).unwrap();
        assert!(rule.strikes("sendTransaction", Some("G")) && !rule.strikes("getHealth", None));
        let rule = Rule { source: Some("GA".to_owned()), ..rule };
        assert!(rule.strikes("sendTransaction", Some("GA")) && !rule.strikes("sendTransaction", Some("GB")));
    }

    fn struck_methods(effect: &str) -> Vec<&'static str> {
        let rule = read(&format!(r#"{{"effect": {effect}}}"#)).unwrap();
        METHODS.into_iter().filter(|method| rule.strikes(method, None)).collect()
    }

    #[test]
    fn an_effect_strikes_only_the_methods_it_makes_sense_for() {
        assert_eq!(struck_methods(r#"{"kind": "torn_lookup", "ledgers": 10}"#), ["getTransaction"]);
        assert_eq!(struck_methods(r#"{"kind": "cursor", "mode": "rewind"}"#), ["getTransactions"]);
        assert_eq!(struck_methods(r#"{"kind": "empty_list"}"#), ["getEvents", "getTransactions"]);
        for kind in ["try_again_later", "out_of_sync", "filtered"] {
            assert_eq!(struck_methods(&format!(r#"{{"kind": "{kind}"}}"#)), ["sendTransaction"]);
        }
        assert_eq!(struck_methods(r#"{"kind": "no_simulation_events"}"#), ["simulateTransaction"]);
        assert_eq!(struck_methods(r#"{"kind": "simulation_error", "text": "x"}"#), ["simulateTransaction"]);
        assert_eq!(struck_methods(r#"{"kind": "ahead", "ledgers": 200}"#), METHODS);
        assert_eq!(struck_methods(r#"{"kind": "pad", "bytes": 33554432}"#), METHODS);
        assert_eq!(struck_methods(r#"{"kind": "two_nodes", "ledgers": 1}"#), METHODS);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            r#"{}"#,
            r#"{"effect": {"kind": "nonsense"}}"#,
            r#"{"effect": {"kind": "delay", "ms": 5, "s": 1}}"#,
            r#"{"effect": {"kind": "delay", "ms": 5}, "method": "sendTransaction"}"#,
            r#"{"effect": {"kind": "delay", "ms": 600001}}"#,
            r#"{"effect": {"kind": "http", "status": 200}}"#,
            r#"{"effect": {"kind": "stale", "ledgers": 0}}"#,
            r#"{"effect": {"kind": "trimmed_history", "ledgers": 0}}"#,
            r#"{"effect": {"kind": "ahead", "ledgers": 0}}"#,
            r#"{"effect": {"kind": "ahead", "ledgers": 201}}"#,
            r#"{"effect": {"kind": "torn_lookup", "ledgers": 11}}"#,
            r#"{"effect": {"kind": "cursor", "mode": "backwards"}}"#,
            r#"{"effect": {"kind": "cursor"}}"#,
            r#"{"effect": {"kind": "pad", "bytes": 0}}"#,
            r#"{"effect": {"kind": "pad", "bytes": 33554433}}"#,
            r#"{"effect": {"kind": "simulation_error"}}"#,
            r#"{"effect": {"kind": "rpc_error", "code": -1, "message": "x", "when": "never"}}"#,
            r#"{"effect": {"kind": "filtered"}, "methods": ["getEvents"]}"#,
            r#"{"effect": {"kind": "try_again_later"}, "methods": ["send"]}"#,
            r#"{"effect": {"kind": "try_again_later"}, "probability": 1.5}"#,
            r#"{"effect": {"kind": "try_again_later"}, "source": "me"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
