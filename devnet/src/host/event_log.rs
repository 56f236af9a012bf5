//! Why an invocation failed, in the words a real node answers with.

use std::fmt::Write;

use soroban_env_host::HostError;
use soroban_env_host::events::HostEvent;

use crate::xdr::DiagnosticEvent;

/// The error and the host's events, newest first, as stellar-rpc prints them.
pub fn failure_text(error: &HostError, events: &[DiagnosticEvent]) -> String {
    let mut text = format!("HostError: {:?}\n", error.error);
    if events.is_empty() {
        return text;
    }
    text.push_str("\nEvent log (newest first):\n");
    for (index, event) in events.iter().rev().enumerate() {
        let shown = HostEvent { event: event.event.clone(), failed_call: !event.in_successful_contract_call };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "   {index}: {shown}");
    }
    text
}
