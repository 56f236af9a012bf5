//! Which events a caller of getEvents wants.

use serde::Deserialize;

use super::jsonrpc::or_default;
use super::xdr_text::decode;
use crate::xdr::{ContractEvent, ContractEventBody, ContractEventType, ContractId, Hash, ScVal};

const MAX_FILTERS: usize = 5;
const MAX_CONTRACT_IDS: usize = 5;
const MAX_TOPICS: usize = 5;
const MAX_SEGMENTS: usize = 4;

/// A filter as it comes over the wire.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FilterRequest {
    #[serde(deserialize_with = "or_default")]
    r#type: String,
    #[serde(deserialize_with = "or_default")]
    contract_ids: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    topics: Vec<Vec<String>>,
}

/// Checked filters; an event is wanted when any of them matches, or when there is none.
pub struct EventFilters(Vec<EventFilter>);

struct EventFilter {
    types: Vec<ContractEventType>,
    contracts: Vec<ContractId>,
    topics: Vec<TopicFilter>,
}

struct TopicFilter {
    segments: Vec<Segment>,
    /// Whether further topics may follow: the filter ended with `**`.
    is_open: bool,
}

enum Segment {
    Any,
    Exactly(ScVal),
}

impl EventFilters {
    /// Reads the filters; the refusal is in the real service's words.
    pub fn read(requests: &[FilterRequest]) -> Result<EventFilters, String> {
        if requests.len() > MAX_FILTERS {
            return Err(format!("maximum {MAX_FILTERS} filters per request"));
        }
        let read = |(index, request)| {
            EventFilter::read(request).map_err(|text| format!("filter {} invalid: {text}", index + 1))
        };
        requests.iter().enumerate().map(read).collect::<Result<_, _>>().map(EventFilters)
    }

    pub fn want(&self, event: &ContractEvent) -> bool {
        self.0.is_empty() || self.0.iter().any(|filter| filter.wants(event))
    }
}

impl EventFilter {
    fn read(request: &FilterRequest) -> Result<EventFilter, String> {
        let types = request.r#type.split(',').filter(|name| !name.is_empty());
        let types = types
            .map(|name| match name {
                "system" => Ok(ContractEventType::System),
                "contract" => Ok(ContractEventType::Contract),
                _ => {
                    Err("filter type invalid: if set, type must be either 'system' or 'contract'".to_owned())
                }
            })
            .collect::<Result<_, _>>()?;
        if request.contract_ids.len() > MAX_CONTRACT_IDS {
            return Err(format!("maximum {MAX_CONTRACT_IDS} contract IDs per filter"));
        }
        if request.topics.len() > MAX_TOPICS {
            return Err(format!("maximum {MAX_TOPICS} topics per filter"));
        }
        let contract = |(index, text): (usize, &String)| {
            stellar_strkey::Contract::from_string(text)
                .map(|contract| ContractId(Hash(contract.0)))
                .map_err(|_| format!("contract ID {} invalid", index + 1))
        };
        let topic = |(index, segments): (usize, &Vec<String>)| {
            TopicFilter::read(segments).map_err(|text| format!("topic {} invalid: {text}", index + 1))
        };
        Ok(EventFilter {
            types,
            contracts: request.contract_ids.iter().enumerate().map(contract).collect::<Result<_, _>>()?,
            topics: request.topics.iter().enumerate().map(topic).collect::<Result<_, _>>()?,
        })
    }

    fn wants(&self, event: &ContractEvent) -> bool {
        let ContractEventBody::V0(body) = &event.body;
        (self.types.is_empty() || self.types.contains(&event.type_))
            && (self.contracts.is_empty()
                || event.contract_id.as_ref().is_some_and(|id| self.contracts.contains(id)))
            && (self.topics.is_empty() || self.topics.iter().any(|topic| topic.matches(&body.topics)))
    }
}

impl TopicFilter {
    fn read(texts: &[String]) -> Result<TopicFilter, String> {
        if texts.is_empty() {
            return Err("topic must have at least 1 segment".to_owned());
        }
        let (segments, is_open) = match texts.split_last() {
            Some((last, before)) if last == "**" => (before, true),
            _ => (texts, false),
        };
        if let Some(index) = segments.iter().position(|segment| segment == "**") {
            let place = index + 1;
            return Err(format!(
                "segment {place} invalid: wildcard '**' is only allowed as the last segment"
            ));
        }
        if segments.len() > MAX_SEGMENTS {
            return Err(format!("topic cannot have more than {MAX_SEGMENTS} segments"));
        }
        let segment = |(index, text): (usize, &String)| match text.as_str() {
            "*" => Ok(Segment::Any),
            _ => decode(text)
                .map(Segment::Exactly)
                .ok_or_else(|| format!("segment {} invalid: not an ScVal in base64", index + 1)),
        };
        let segments = segments.iter().enumerate().map(segment).collect::<Result<_, _>>()?;
        Ok(TopicFilter { segments, is_open })
    }

    fn matches(&self, topics: &[ScVal]) -> bool {
        let fits = if self.is_open {
            topics.len() >= self.segments.len()
        } else {
            topics.len() == self.segments.len()
        };
        fits && self.segments.iter().zip(topics).all(|(segment, topic)| match segment {
            Segment::Any => true,
            Segment::Exactly(wanted) => wanted == topic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::xdr_text::encode;
    use crate::xdr::{ContractEventV0, ExtensionPoint};

    fn symbol(text: &str) -> ScVal {
        ScVal::Symbol(text.try_into().unwrap())
    }

    fn event(topics: &[&str]) -> ContractEvent {
        let topics: Vec<ScVal> = topics.iter().map(|text| symbol(text)).collect();
        ContractEvent {
            ext: ExtensionPoint::V0,
            contract_id: Some(ContractId(Hash([7; 32]))),
            type_: ContractEventType::Contract,
            body: ContractEventBody::V0(ContractEventV0 {
                topics: topics.try_into().unwrap(),
                data: ScVal::Void,
            }),
        }
    }

    fn filters(topics: &[&str]) -> Result<EventFilters, String> {
        let segment =
            |text: &&str| if text.starts_with('*') { (*text).to_owned() } else { encode(&symbol(text)) };
        let topics = vec![topics.iter().map(segment).collect()];
        EventFilters::read(&[FilterRequest { topics, ..Default::default() }])
    }

    #[test]
    fn topics_match_by_place_with_wildcards() {
        let transfer = event(&["transfer", "a", "b"]);
        for (segments, wanted) in [
            (&["transfer", "*", "b"][..], true),
            (&["transfer", "*"][..], false),
            (&["transfer", "**"][..], true),
            (&["**"][..], true),
            (&["*", "*", "*", "**"][..], true),
            (&["*", "*", "*", "*"][..], false),
            (&["mint", "**"][..], false),
        ] {
            assert_eq!(filters(segments).unwrap().want(&transfer), wanted, "{segments:?}");
        }
    }

    #[test]
    fn contracts_and_types_narrow_what_is_wanted() {
        let own = stellar_strkey::Contract([7; 32]).to_string().to_string();
        let other = stellar_strkey::Contract([8; 32]).to_string().to_string();
        let wants = |contract: &str, r#type: &str| {
            let request = FilterRequest {
                r#type: r#type.to_owned(),
                contract_ids: vec![contract.to_owned()],
                topics: vec![],
            };
            EventFilters::read(&[request]).unwrap().want(&event(&["x"]))
        };
        assert!(wants(&own, "contract"));
        assert!(wants(&own, "system,contract"));
        assert!(!wants(&own, "system"));
        assert!(!wants(&other, ""));
        assert!(EventFilters::read(&[]).unwrap().want(&event(&["x"])));
    }

    #[test]
    fn a_filter_that_breaks_a_rule_is_refused_by_name() {
        assert!(filters(&[]).err().unwrap().contains("at least 1 segment"));
        assert!(filters(&["**", "*"]).err().unwrap().contains("only allowed as the last segment"));
        assert!(filters(&["*", "*", "*", "*", "*"]).err().unwrap().contains("more than 4 segments"));
        let diagnostic = FilterRequest { r#type: "diagnostic".to_owned(), ..Default::default() };
        assert!(EventFilters::read(&[diagnostic]).err().unwrap().contains("'system' or 'contract'"));
        let many = || (0..6).map(|_| FilterRequest::default()).collect::<Vec<_>>();
        assert_eq!(EventFilters::read(&many()).err().unwrap(), "maximum 5 filters per request");
    }
}
