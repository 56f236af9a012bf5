//! The port that clients know: Stellar RPC as `POST /`, friendbot as `/friendbot`.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::faults::{Cut, Faults, FaultyCalls};
use super::friendbot::Friendbot;
use super::http::{self, Answer, HangUp, Port};
use super::jsonrpc::{self, Reply};
use super::methods::Rpc;

pub struct RpcPort {
    pub rpc: Rpc,
    pub faults: Arc<Faults>,
    pub friendbot: Friendbot,
    /// Added to every answer.
    pub latency: Duration,
}

impl Port for RpcPort {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, HangUp> {
        let is_cross_origin = request.headers().contains_key(header::ORIGIN);
        let mut answer = self.route(request).await?;
        if is_cross_origin {
            let headers = answer.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
            headers
                .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
        }
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        Ok(answer)
    }
}

impl RpcPort {
    async fn route(&self, request: Request<Incoming>) -> Result<Answer, HangUp> {
        Ok(match (request.method(), request.uri().path()) {
            (&Method::OPTIONS, _) => http::empty(StatusCode::NO_CONTENT),
            (&Method::GET | &Method::POST, "/friendbot") => {
                let address = http::query_value(request.uri().query().unwrap_or_default(), "addr");
                self.friendbot.fund(address.as_deref()).await
            }
            (&Method::POST, "/") => return self.call(request).await,
            (_, "/" | "/friendbot") => {
                let mut answer = http::empty(StatusCode::METHOD_NOT_ALLOWED);
                answer.headers_mut().insert("accept-post", HeaderValue::from_static("application/json"));
                answer
            }
            _ => http::text(
                StatusCode::NOT_FOUND,
                "POST / is Stellar RPC, GET /friendbot?addr= funds an account",
            ),
        })
    }

    async fn call(&self, request: Request<Incoming>) -> Result<Answer, HangUp> {
        if let Err(refusal) = require_json(request.headers()) {
            return Ok(http::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusal));
        }
        let body = match http::read_body(request).await {
            Ok(body) => body,
            Err(refusal) => return Ok(refusal),
        };
        let calls = FaultyCalls::new(&self.rpc, &self.faults);
        let reply = jsonrpc::answer(&calls, &body).await;
        if let Some(cut) = calls.cut() {
            return cut_off(cut);
        }
        Ok(match reply {
            Reply::Json(json) => http::json(StatusCode::OK, json),
            Reply::Nothing => http::empty(StatusCode::NO_CONTENT),
            Reply::Unreadable => http::text(StatusCode::INTERNAL_SERVER_ERROR, jsonrpc::UNREADABLE),
        })
    }
}

fn cut_off(cut: Cut) -> Result<Answer, HangUp> {
    let Cut::Http { status, retry_after_s, body } = cut else { return Err(HangUp) };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut answer = match body {
        None => http::text(status, status.canonical_reason().unwrap_or("failed")),
        Some(body) if body.is_empty() => http::empty(status),
        Some(body) => http::exact_text(status, body),
    };
    if let Some(seconds) = retry_after_s {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Ok(answer)
}

fn require_json(headers: &HeaderMap) -> Result<(), &'static str> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = value.split(';').map(str::trim);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case("application/json") {
        return Err("content-type must be application/json");
    }
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("charset").then(|| value.trim_matches('"').to_ascii_lowercase())
    });
    match charset.as_deref() {
        None | Some("utf-8" | "utf8") => Ok(()),
        Some(_) => Err("invalid content-type charset"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(content_type: &'static str) -> Result<(), &'static str> {
        require_json(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))]))
    }

    #[test]
    fn only_json_in_utf8_is_a_call() {
        assert_eq!(verdict("application/json"), Ok(()));
        assert_eq!(verdict("Application/JSON; charset=\"UTF-8\""), Ok(()));
        assert!(verdict("text/plain").is_err());
        assert!(verdict("application/json; charset=latin1").is_err());
        assert!(require_json(&HeaderMap::new()).is_err());
    }
}
