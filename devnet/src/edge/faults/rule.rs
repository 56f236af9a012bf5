//! What may be asked of the network to go wrong, and for which calls.

use serde::{Deserialize, Serialize};

use crate::edge::keys::parse_address;

/// Ledgers that an answer can be behind; older states are not kept.
const MAX_BEHIND: u32 = 60;
const MAX_DELAY_MS: u64 = 600_000;

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
    },
    /// A JSON-RPC error instead of a result; the call does nothing.
    RpcError { code: i32, message: String },
    /// The answer is as of so many ledgers ago.
    Stale { ledgers: u32 },
    /// getTransaction and getTransactions are as of so many ledgers ago.
    IngestionDelay { ledgers: u32 },
    /// Every second call reaches a node that is so many ledgers behind.
    TwoNodes { ledgers: u32 },
    /// Only so many ledgers are remembered.
    TrimmedHistory { ledgers: u32 },
    /// sendTransaction answers TRY_AGAIN_LATER and queues nothing.
    TryAgainLater,
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
        match &self.effect {
            Effect::Delay { ms } if *ms > MAX_DELAY_MS => Err(format!("ms must be at most {MAX_DELAY_MS}")),
            Effect::Http { status, .. } if !(400..=599).contains(status) => {
                Err("status must be from 400 to 599".to_owned())
            }
            Effect::Stale { ledgers } | Effect::IngestionDelay { ledgers } | Effect::TwoNodes { ledgers }
                if !(1..=MAX_BEHIND).contains(ledgers) =>
            {
                Err(format!("ledgers must be from 1 to {MAX_BEHIND}"))
            }
            Effect::TrimmedHistory { ledgers: 0 } => Err("ledgers must be at least 1".to_owned()),
            _ => Ok(()),
        }
    }

    pub fn strikes(&self, method: &str, source: Option<&str>) -> bool {
        let is_wanted = self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method);
        let makes_sense = match self.effect {
            Effect::TryAgainLater => method == "sendTransaction",
            Effect::IngestionDelay { .. } => matches!(method, "getTransaction" | "getTransactions"),
            _ => true,
        };
        is_wanted && makes_sense && (self.source.is_none() || self.source.as_deref() == source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rule, String> {
        let rule: Rule = serde_json::from_str(text).map_err(|error| error.to_string())?;
        rule.check(&["sendTransaction"]).map(|()| rule)
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
            r#"{"effect": {"kind": "try_again_later"}, "methods": ["send"]}"#,
            r#"{"effect": {"kind": "try_again_later"}, "probability": 1.5}"#,
            r#"{"effect": {"kind": "try_again_later"}, "source": "me"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
