//! HTTP/1.1 connections, plain or TLS, and the few things every port's answers share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// As the real service: a larger body is refused before it is read.
pub const BODY_LIMIT_BYTES: usize = 512 * 1024;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

pub type Answer = Response<Full<Bytes>>;

/// The connection closes without an answer.
#[derive(Debug)]
pub struct HangUp;

impl std::fmt::Display for HangUp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the connection is closed without an answer")
    }
}

impl std::error::Error for HangUp {}

/// What answers the requests of one port.
pub trait Port: Send + Sync + 'static {
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Result<Answer, HangUp>> + Send;
}

/// Serves `port` on `listener` for as long as the task lives.
pub async fn serve<P: Port>(listener: TcpListener, tls: Option<TlsAcceptor>, port: Arc<P>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Out of file descriptors, most likely; some close while we wait.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Answers are small and whole: waiting to fill a packet costs 40 ms a call.
        let _ = stream.set_nodelay(true);
        let (port, tls) = (port.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => connection(stream, port).await,
                Some(acceptor) => {
                    if let Ok(Ok(stream)) =
                        tokio::time::timeout(HANDSHAKE_LIMIT, acceptor.accept(stream)).await
                    {
                        connection(stream, port).await;
                    }
                }
            }
        });
    }
}

async fn connection<P: Port>(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, port: Arc<P>) {
    let service = service_fn(move |request| {
        let port = port.clone();
        async move { port.answer(request).await }
    });
    // No idle limit: a connection closed under a pooled client is a failure nobody asked for.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The whole body, or the refusal to send instead.
pub async fn read_body(request: Request<Incoming>) -> Result<Bytes, Answer> {
    match Limited::new(request.into_body(), BODY_LIMIT_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(text(StatusCode::PAYLOAD_TOO_LARGE, "http: request body too large"))
        }
        Err(_) => Err(text(StatusCode::BAD_REQUEST, "the request body could not be read")),
    }
}

pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    with_type(status, "application/json", body.into())
}

pub fn text(status: StatusCode, body: &str) -> Answer {
    with_type(status, "text/plain; charset=utf-8", Bytes::from(format!("{body}\n")))
}

/// Text that is sent as it is, without a line break at its end.
pub fn exact_text(status: StatusCode, body: String) -> Answer {
    with_type(status, "text/plain; charset=utf-8", Bytes::from(body))
}

pub fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

fn with_type(status: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// The first value of a query parameter, percent-decoded; `None` when it is absent or not UTF-8.
pub fn query_value(query: &str, name: &str) -> Option<String> {
    let raw = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [first, tail @ ..] = rest {
        (rest, _) = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digits = [*high, *low];
                let code = std::str::from_utf8(&digits).ok()?;
                (tail, bytes.push(u8::from_str_radix(code, 16).ok()?))
            }
            (b'+', tail) => (tail, bytes.push(b' ')),
            (other, tail) => (tail, bytes.push(*other)),
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_value_is_found_and_decoded() {
        assert_eq!(query_value("a=1&addr=G%41+x", "addr").as_deref(), Some("GA x"));
        assert_eq!(query_value("address=1", "addr"), None);
        assert_eq!(query_value("addr=%zz", "addr"), None);
        assert_eq!(query_value("addr=%", "addr").as_deref(), Some("%"));
        assert_eq!(query_value("addr=%ff", "addr"), None);
    }
}
