//! sendTransaction.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Rpc, require_base64};
use crate::edge::call_effects::SubmissionEffect;
use crate::edge::jsonrpc::{Outcome, RpcError, or_default, read_params, result};
use crate::edge::view::View;
use crate::edge::xdr_text::{decode, encode, encode_all};
use crate::submission::Submission;
use crate::xdr::TransactionEnvelope;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SendRequest {
    #[serde(deserialize_with = "or_default")]
    transaction: String,
    #[serde(deserialize_with = "or_default")]
    xdr_format: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SendResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    error_result_xdr: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostic_events_xdr: Vec<String>,
    status: &'static str,
    hash: String,
    latest_ledger: u32,
    latest_ledger_close_time: String,
}

impl Rpc {
    pub(super) async fn send_transaction(
        &self,
        view: &View<'_>,
        params: Option<&RawValue>,
        effect: SubmissionEffect,
    ) -> Outcome {
        let request: SendRequest = read_params(params)?;
        require_base64(&request.xdr_format)?;
        let envelope: TransactionEnvelope =
            decode(&request.transaction).ok_or_else(|| RpcError::invalid_params("invalid_xdr"))?;
        let hash =
            envelope.hash(self.node.network_id()).map_err(|_| RpcError::invalid_params("invalid_hash"))?;
        let latest = view.stated();
        let submission = match effect {
            SubmissionEffect::Queued => self.node.submit(envelope).await,
            SubmissionEffect::TryAgainLater => Submission::TryAgainLater,
            SubmissionEffect::OutOfSync => Submission::Pending,
            SubmissionEffect::Filtered => {
                return Err(RpcError::internal("invalid status from stellar-core"));
            }
        };
        let (status, error_result_xdr, diagnostic_events_xdr) = match submission {
            Submission::Pending => ("PENDING", None, Vec::new()),
            Submission::Duplicate => ("DUPLICATE", None, Vec::new()),
            Submission::TryAgainLater => ("TRY_AGAIN_LATER", None, Vec::new()),
            Submission::Error { result, diagnostic_events } => {
                ("ERROR", Some(encode(&result)), encode_all(&diagnostic_events))
            }
        };
        result(&SendResponse {
            error_result_xdr,
            diagnostic_events_xdr,
            status,
            hash: hex::encode(hash),
            latest_ledger: latest.sequence,
            latest_ledger_close_time: latest.close_time_s.to_string(),
        })
    }
}
