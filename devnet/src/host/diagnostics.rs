//! Diagnostic events that the validator adds to the host's own.

use crate::xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, DiagnosticEvent, ExtensionPoint,
    ScError, ScErrorCode, ScString, ScSymbol, ScVal, ScVec,
};

/// A limit that was declared or configured, and by how much it was passed.
pub fn exceeded(text: &str, used: u64, allowed: u64) -> DiagnosticEvent {
    let error = ScVal::Error(ScError::Budget(ScErrorCode::ExceededLimit));
    let text = ScVal::String(text.try_into().map(ScString).unwrap_or_default());
    let data = vec![text, ScVal::U64(used), ScVal::U64(allowed)];
    event(false, vec![symbol("error"), error], ScVal::Vec(data.try_into().ok().map(ScVec)))
}

/// What an invocation used, in the units of its declaration; a failed one wrote and emitted nothing.
#[derive(Default)]
pub struct Used {
    pub instructions: u64,
    pub memory: u64,
    pub read_bytes: u32,
    pub written: u32,
    pub event_bytes: u32,
    pub events: usize,
    pub read_entries: usize,
    pub write_entries: usize,
}

/// The figures as a node's `core_metrics` events name them; those that depend on wall time are left out.
pub fn core_metrics(used: &Used) -> Vec<DiagnosticEvent> {
    let figures = [
        ("read_entry", used.read_entries as u64),
        ("write_entry", used.write_entries as u64),
        ("ledger_read_byte", u64::from(used.read_bytes)),
        ("ledger_write_byte", u64::from(used.written)),
        ("emit_event", used.events as u64),
        ("emit_event_byte", u64::from(used.event_bytes)),
        ("cpu_insn", used.instructions),
        ("mem_byte", used.memory),
    ];
    let metric = |(name, value)| {
        let topics = vec![symbol("core_metrics"), symbol(name)];
        event(false, topics, ScVal::U64(value))
    };
    figures.into_iter().map(metric).collect()
}

fn symbol(name: &str) -> ScVal {
    ScVal::Symbol(name.try_into().map(ScSymbol).unwrap_or_default())
}

fn event(in_successful_contract_call: bool, topics: Vec<ScVal>, data: ScVal) -> DiagnosticEvent {
    DiagnosticEvent {
        in_successful_contract_call,
        event: ContractEvent {
            ext: ExtensionPoint::V0,
            contract_id: None,
            type_: ContractEventType::Diagnostic,
            body: ContractEventBody::V0(ContractEventV0 {
                topics: topics.try_into().unwrap_or_default(),
                data,
            }),
        },
    }
}
