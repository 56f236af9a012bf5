//! JSON-RPC 2.0 as stellar-rpc's bridge speaks it: parameters by name, batches, notifications.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// What the bridge writes, with status 500, for a body that is no JSON at all.
pub const UNREADABLE: &str = "[-32700] invalid request value";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    pub fn invalid_request(message: impl Into<String>) -> RpcError {
        RpcError::new(INVALID_REQUEST, message)
    }

    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }

    pub fn internal(message: impl Into<String>) -> RpcError {
        RpcError::new(INTERNAL_ERROR, message)
    }

    fn no_such_method(method: &str) -> RpcError {
        RpcError { data: Some(method.into()), ..RpcError::new(METHOD_NOT_FOUND, "method not found") }
    }
}

/// The JSON text of a result, or why there is none.
pub type Outcome = Result<Vec<u8>, RpcError>;

/// The methods behind the bridge.
pub trait Methods: Sync {
    /// `None` when there is no such method.
    fn call(&self, method: &str, params: Option<&RawValue>) -> impl Future<Output = Option<Outcome>> + Send;
}

/// What goes back over HTTP.
#[derive(Debug, PartialEq)]
pub enum Reply {
    Json(Vec<u8>),
    /// Only notifications, or an empty batch.
    Nothing,
    Unreadable,
}

/// Answers a body: one request, or a batch of them in their order.
pub async fn answer(methods: &impl Methods, body: &[u8]) -> Reply {
    if body.trim_ascii_start().first() != Some(&b'[') {
        let Ok(message) = serde_json::from_slice(body) else { return Reply::Unreadable };
        let mut out = Vec::with_capacity(4096);
        return if answer_one(methods, message, &mut out).await { Reply::Json(out) } else { Reply::Nothing };
    }
    let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(body) else { return Reply::Unreadable };
    let mut out = vec![b'['];
    for message in messages {
        let before = out.len();
        if before > 1 {
            out.push(b',');
        }
        if !answer_one(methods, message, &mut out).await {
            out.truncate(before);
        }
    }
    if out.len() == 1 {
        return Reply::Nothing;
    }
    out.push(b']');
    Reply::Json(out)
}

/// Writes the response, if the request gets one.
async fn answer_one(methods: &impl Methods, message: &RawValue, out: &mut Vec<u8>) -> bool {
    let request = match Request::read(message) {
        Ok(request) => request,
        Err((id, error)) => {
            write_response(id, &Err(error), out);
            return true;
        }
    };
    let outcome = if request.method.is_empty() {
        Err(RpcError::invalid_request("empty method name"))
    } else {
        match without_panic(methods.call(&request.method, request.params)).await {
            Some(Some(outcome)) => outcome,
            Some(None) => Err(RpcError::no_such_method(&request.method)),
            None => Err(RpcError::internal("internal error")),
        }
    };
    if request.id.is_some() {
        write_response(request.id, &outcome, out);
    }
    request.id.is_some()
}

fn write_response(id: Option<&RawValue>, outcome: &Outcome, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
    match outcome {
        Ok(result) => {
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(result);
        }
        Err(error) => {
            out.extend_from_slice(br#","error":"#);
            out.extend_from_slice(&serde_json::to_vec(error).unwrap_or_default());
        }
    }
    out.push(b'}');
}

struct Request<'a> {
    /// `None` makes it a notification; so does `null`, as for the real service.
    id: Option<&'a RawValue>,
    method: String,
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    fn read(message: &'a RawValue) -> Result<Request<'a>, (Option<&'a RawValue>, RpcError)> {
        let parse_error = |text: &str| RpcError::new(PARSE_ERROR, text);
        if !message.get().starts_with('{') {
            return Err((None, parse_error("request is not a JSON object")));
        }
        let Ok(fields) = serde_json::from_str::<Message>(message.get()) else {
            return Err((None, parse_error("request is not a JSON object")));
        };
        let id = fields.id.filter(|id| id.get() != "null");
        if let Some(id) = id
            && !id.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
        {
            return Err((None, RpcError::invalid_request("invalid request ID")));
        }
        let method = match fields.method.map(|method| serde_json::from_str(method.get())) {
            None => String::new(),
            Some(Ok(method)) => method,
            Some(Err(_)) => return Err((id, parse_error("invalid method name"))),
        };
        let params = fields.params.filter(|params| params.get() != "null");
        if params.is_some_and(|params| !params.get().starts_with(['{', '['])) {
            return Err((id, RpcError::invalid_request("parameters must be array or object")));
        }
        if fields.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err((id, RpcError::invalid_request("invalid version marker")));
        }
        Ok(Request { id, method, params })
    }
}

/// Reads parameters by name; absent ones are the default, unknown ones are ignored.
pub fn read_params<T: DeserializeOwned + Default>(params: Option<&RawValue>) -> Result<T, RpcError> {
    let Some(params) = params else { return Ok(T::default()) };
    if params.get().starts_with('[') {
        return Err(RpcError::invalid_params("invalid parameters: parameters are accepted by name only"));
    }
    serde_json::from_str(params.get())
        .map_err(|error| RpcError::invalid_params(format!("invalid parameters: {error}")))
}

/// For fields where `null` means the same as absent.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

pub fn result(value: &impl Serialize) -> Outcome {
    serde_json::to_vec(value).map_err(|error| RpcError::internal(error.to_string()))
}

/// The future's output, or `None` when it panicked: no input may take a connection down.
async fn without_panic<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
        Err(_) => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Methods for Echo {
        async fn call(&self, method: &str, params: Option<&RawValue>) -> Option<Outcome> {
            match method {
                "echo" => Some(result(&params)),
                "panic" => panic!("on purpose"),
                _ => None,
            }
        }
    }

    async fn reply(body: &str) -> String {
        match answer(&Echo, body.as_bytes()).await {
            Reply::Json(json) => String::from_utf8(json).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_call_is_answered_with_its_own_id() {
        let answered = reply(r#"{"jsonrpc":"2.0","id":"a","method":"echo","params":{"x":1}}"#).await;
        assert_eq!(answered, r#"{"jsonrpc":"2.0","id":"a","result":{"x":1}}"#);
    }

    #[tokio::test]
    async fn a_batch_is_answered_in_order_and_its_notifications_are_not() {
        let body = r#"[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","method":"echo"},
                      {"jsonrpc":"2.0","id":2,"method":"none"},{"id":3}]"#;
        let expected = concat!(
            r#"[{"jsonrpc":"2.0","id":1,"result":null},"#,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found","data":"none"}},"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid version marker"}}]"#
        );
        assert_eq!(reply(body).await, expected);
        assert_eq!(reply("[]").await, "Nothing");
    }

    #[tokio::test]
    async fn what_is_no_request_is_refused_with_the_codes_of_the_real_service() {
        for (body, expected) in [
            ("", "Unreadable"),
            ("{", "Unreadable"),
            ("[1", "Unreadable"),
            (
                "5",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"request is not a JSON object"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":[1],"method":"echo"}"#,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request ID"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"empty method name"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":7}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"parameters must be array or object"}}"#,
            ),
            (r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#, "Nothing"),
        ] {
            assert_eq!(reply(body).await, expected, "{body}");
        }
    }

    #[tokio::test]
    async fn a_panic_in_a_method_is_an_internal_error() {
        let answered = reply(r#"{"jsonrpc":"2.0","id":1,"method":"panic"}"#).await;
        assert!(answered.contains("-32603"), "{answered}");
    }
}
