//! simulateTransaction: whatever is wrong with the transaction is in the result, never a JSON-RPC error.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, format_refusal};
use crate::edge::call_effects::CallEffects;
use crate::edge::jsonrpc::{Outcome, or_default, read_params, result};
use crate::edge::release::Release;
use crate::edge::view::View;
use crate::edge::xdr_text::{decode, encode, encode_all};
use crate::simulation::{AuthMode, Simulated, SimulationFailure, SimulationRequest, StateChange};
use crate::xdr::{
    AccountId, FeeBumpTransactionInnerTx, InvokeHostFunctionOp, LedgerFootprint, Memo, MuxedAccount,
    Operation, OperationBody, TransactionEnvelope, TransactionExt,
};

/// What the host's event log in an error begins with.
const EVENT_LOG: &str = "\nEvent log (newest first)";

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SimulateRequest {
    #[serde(deserialize_with = "or_default")]
    transaction: String,
    #[serde(deserialize_with = "or_default")]
    resource_config: ResourceConfig,
    #[serde(deserialize_with = "or_default")]
    auth_mode: String,
    #[serde(deserialize_with = "or_default")]
    use_upgraded_auth: bool,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceConfig {
    #[serde(deserialize_with = "or_default")]
    instruction_leeway: u64,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SimulateResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_data: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_resource_fee: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<InvocationResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restore_preamble: Option<Preamble>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    state_changes: Vec<Change>,
    latest_ledger: u32,
}

#[derive(Serialize)]
struct InvocationResult {
    auth: Vec<String>,
    xdr: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preamble {
    transaction_data: String,
    min_resource_fee: String,
}

#[derive(Serialize)]
struct Change {
    r#type: &'static str,
    key: String,
    before: Option<String>,
    after: Option<String>,
}

impl Rpc {
    pub(super) async fn simulate_transaction(
        &self,
        view: &View<'_>,
        params: Option<&RawValue>,
        effects: &CallEffects,
    ) -> Outcome {
        let latest_ledger = view.stated().sequence;
        let request: SimulateRequest = read_params(params)?;
        if let Some(text) = &effects.simulation_error {
            let error = Some(text.clone());
            return result(&SimulateResponse { error, latest_ledger, ..Default::default() });
        }
        let simulation = match read_simulation(request, self.options.release) {
            Ok(simulation) => simulation,
            Err(error) => return result(&SimulateResponse { error: Some(error), ..Default::default() }),
        };
        let answer = self.node.simulate_on(view.state(), simulation).await;
        let mut response = match answer.outcome {
            Ok(simulated) => success(simulated),
            Err(failure) => failed(failure),
        };
        response.latest_ledger = latest_ledger;
        if effects.hides_simulation_events || !self.options.shows_simulation_events {
            response.hide_events();
        }
        result(&response)
    }
}

impl SimulateResponse {
    /// Leaves the host's events out, as a service without preflight debugging: the list, and the log of them
    /// in the error.
    fn hide_events(&mut self) {
        self.events.clear();
        if let Some(error) = &mut self.error
            && let Some(start) = error.find(EVENT_LOG)
        {
            error.truncate(start);
        }
    }
}

fn success(simulated: Simulated) -> SimulateResponse {
    let invocation = simulated.invocation.iter();
    SimulateResponse {
        error: None,
        transaction_data: Some(encode(&simulated.transaction_data)),
        events: encode_all(&simulated.events),
        min_resource_fee: Some(simulated.min_resource_fee.to_string()),
        results: invocation
            .map(|call| InvocationResult { auth: encode_all(&call.auth), xdr: encode(&call.value) })
            .collect(),
        restore_preamble: simulated.restore_preamble.map(|preamble| Preamble {
            transaction_data: encode(&preamble.transaction_data),
            min_resource_fee: preamble.min_resource_fee.to_string(),
        }),
        state_changes: simulated.state_changes.iter().filter_map(change).collect(),
        latest_ledger: 0,
    }
}

fn failed(failure: SimulationFailure) -> SimulateResponse {
    SimulateResponse { error: Some(failure.error), events: encode_all(&failure.events), ..Default::default() }
}

fn change(change: &StateChange) -> Option<Change> {
    let r#type = match (&change.before, &change.after) {
        (None, None) => return None,
        (None, Some(_)) => "created",
        (Some(_), Some(_)) => "updated",
        (Some(_), None) => "deleted",
    };
    Some(Change {
        r#type,
        key: encode(&change.key),
        before: change.before.as_ref().map(encode),
        after: change.after.as_ref().map(encode),
    })
}

/// The one operation of an envelope with what around it matters to a simulation.
struct Subject {
    source: MuxedAccount,
    operation: Operation,
    memo: Memo,
    footprint: Option<LedgerFootprint>,
}

fn read_simulation(request: SimulateRequest, release: Release) -> Result<SimulationRequest, String> {
    if let Some(refusal) = format_refusal(&request.xdr_format) {
        return Err(refusal);
    }
    let envelope = decode(&request.transaction).ok_or("Could not unmarshal transaction")?;
    let subject = read_subject(envelope).ok_or("Transaction contains more than one operation")?;
    check_auth_mode(&request.auth_mode, &subject.operation.body)?;
    if subject.memo != Memo::None {
        return Err("Transaction contains a memo. Soroban transactions do not support memos.".to_owned());
    }
    let source = subject.operation.source_account.unwrap_or(subject.source);
    let keys = |footprint: Option<LedgerFootprint>| {
        footprint.ok_or(
            "To perform a SimulateTransaction for ExtendFootprintTtl or RestoreFootprint operations, \
             SorobanTransactionData must be provided",
        )
    };
    let use_upgraded_auth = request.use_upgraded_auth && release.reads_upgraded_auth();
    Ok(match subject.operation.body {
        OperationBody::InvokeHostFunction(call) => SimulationRequest::Invoke {
            source: account_id(source),
            auth: auth_mode(&request.auth_mode, use_upgraded_auth, &call),
            host_function: call.host_function,
            instruction_leeway: request.resource_config.instruction_leeway,
        },
        OperationBody::ExtendFootprintTtl(extend) => SimulationRequest::ExtendTtl {
            keys: keys(subject.footprint)?.read_only.into_vec(),
            extend_to: extend.extend_to,
        },
        OperationBody::RestoreFootprint(_) => {
            SimulationRequest::Restore { keys: keys(subject.footprint)?.read_write.into_vec() }
        }
        other => return Err(unsupported(&other)),
    })
}

/// `None` unless the envelope holds exactly one operation; a fee bump is looked into.
fn read_subject(envelope: TransactionEnvelope) -> Option<Subject> {
    let (source, operations, memo, ext) = match envelope {
        TransactionEnvelope::TxV0(v0) => {
            let source = MuxedAccount::Ed25519(v0.tx.source_account_ed25519);
            (source, v0.tx.operations, v0.tx.memo, TransactionExt::V0)
        }
        TransactionEnvelope::Tx(v1) => (v1.tx.source_account, v1.tx.operations, v1.tx.memo, v1.tx.ext),
        TransactionEnvelope::TxFeeBump(bump) => {
            let FeeBumpTransactionInnerTx::Tx(inner) = bump.tx.inner_tx;
            (inner.tx.source_account, inner.tx.operations, inner.tx.memo, inner.tx.ext)
        }
    };
    let footprint = match ext {
        TransactionExt::V0 => None,
        TransactionExt::V1(data) => Some(data.resources.footprint),
    };
    let [operation] = <[Operation; 1]>::try_from(operations.into_vec()).ok()?;
    Some(Subject { source, operation, memo, footprint })
}

fn check_auth_mode(mode: &str, body: &OperationBody) -> Result<(), String> {
    if !matches!(mode, "" | "enforce" | "record" | "record_allow_nonroot") {
        return Err(
            "optional 'authMode' must be one of enforce,record,record_allow_nonroot when included".into()
        );
    }
    match body {
        OperationBody::InvokeHostFunction(call) if !call.auth.is_empty() && mode.starts_with("record") => {
            Err(format!("cannot set authMode to '{mode}' with an auth footprint"))
        }
        OperationBody::InvokeHostFunction(_) => Ok(()),
        OperationBody::ExtendFootprintTtl(_) | OperationBody::RestoreFootprint(_) if !mode.is_empty() => {
            Err("cannot set authMode with non-InvokeHostFunction operations".to_owned())
        }
        OperationBody::ExtendFootprintTtl(_) | OperationBody::RestoreFootprint(_) => Ok(()),
        other => Err(unsupported(other)),
    }
}

fn unsupported(body: &OperationBody) -> String {
    format!("transaction contains unsupported operation type: OperationType{}", body.name())
}

fn auth_mode(mode: &str, use_address_v2: bool, call: &InvokeHostFunctionOp) -> AuthMode {
    if mode == "enforce" || !call.auth.is_empty() {
        return AuthMode::Enforce(call.auth.to_vec());
    }
    AuthMode::Record { allow_non_root: mode == "record_allow_nonroot", use_address_v2 }
}

fn account_id(source: MuxedAccount) -> AccountId {
    source.account_id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{
        HostFunction, InvokeContractArgs, Preconditions, SequenceNumber, Transaction, TransactionV1Envelope,
        Uint256,
    };

    fn refusal(transaction: String, auth_mode: &str) -> Option<String> {
        let auth_mode = auth_mode.to_owned();
        let request = SimulateRequest { transaction, auth_mode, ..Default::default() };
        read_simulation(request, Release::default()).err()
    }

    fn envelope(operations: Vec<OperationBody>, memo: Memo) -> String {
        let operations = operations.into_iter().map(|body| Operation { source_account: None, body });
        let tx = Transaction {
            source_account: MuxedAccount::Ed25519(Uint256([1; 32])),
            fee: 100,
            seq_num: SequenceNumber(1),
            cond: Preconditions::None,
            memo,
            operations: operations.collect::<Vec<_>>().try_into().unwrap(),
            ext: TransactionExt::V0,
        };
        encode(&TransactionEnvelope::Tx(TransactionV1Envelope { tx, signatures: Default::default() }))
    }

    fn call() -> OperationBody {
        let function = HostFunction::InvokeContract(InvokeContractArgs {
            contract_address: crate::xdr::ScAddress::Contract(crate::xdr::ContractId(crate::xdr::Hash(
                [2; 32],
            ))),
            function_name: "f".try_into().unwrap(),
            args: Default::default(),
        });
        OperationBody::InvokeHostFunction(InvokeHostFunctionOp {
            host_function: function,
            auth: Default::default(),
        })
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_in_the_real_service_s_words() {
        let refused = |operations, memo| refusal(envelope(operations, memo), "").unwrap_or_default();
        assert_eq!(refusal("AAAA".to_owned(), "").as_deref(), Some("Could not unmarshal transaction"));
        assert_eq!(refused(vec![call(), call()], Memo::None), "Transaction contains more than one operation");
        assert_eq!(refused(vec![], Memo::None), "Transaction contains more than one operation");
        assert_eq!(
            refused(vec![OperationBody::Inflation], Memo::None),
            "transaction contains unsupported operation type: OperationTypeInflation"
        );
        assert!(refused(vec![call()], Memo::Id(5)).contains("memo"));
        assert_eq!(refused(vec![call()], Memo::None), "");
    }

    #[test]
    fn hidden_events_leave_the_first_line_of_the_error() {
        let shown = "HostError: Error(Contract, #10)\n\nEvent log (newest first):\n   0: …\n";
        let (error, events) = (Some(shown.to_owned()), vec!["AAAA".to_owned()]);
        let mut response = SimulateResponse { error, events, ..Default::default() };
        response.hide_events();
        assert_eq!(response.error.as_deref(), Some("HostError: Error(Contract, #10)\n"));
        assert!(response.events.is_empty());
    }

    #[test]
    fn the_auth_mode_must_fit_the_operation() {
        assert!(refusal(envelope(vec![call()], Memo::None), "sometimes").unwrap().contains("authMode"));
        assert_eq!(refusal(envelope(vec![call()], Memo::None), "enforce"), None);
        assert_eq!(refusal(envelope(vec![call()], Memo::None), "record_allow_nonroot"), None);
    }
}
