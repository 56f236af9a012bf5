//! The admin port: what a test may do to the network that no client may.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::http::{self, Answer, Port};
use super::methods::CallCounts;
use super::scene::{SceneRequest, Stage};
use crate::node::Node;

/// Enough to let every entry of testnet's limits expire.
const MAX_CLOSE: u32 = 200_000;

pub struct AdminPort {
    pub node: Node,
    pub stage: Stage,
    pub counts: Arc<CallCounts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseRequest {
    #[serde(default = "one")]
    count: u32,
}

impl Default for CloseRequest {
    fn default() -> Self {
        CloseRequest { count: one() }
    }
}

fn one() -> u32 {
    1
}

impl Port for AdminPort {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        // A page in a browser must not reach this port: it would come with an origin.
        if request.headers().contains_key(hyper::header::ORIGIN) {
            return refused(StatusCode::FORBIDDEN, "not for browsers");
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match (method, path.as_str()) {
            (Method::POST, "/scene") => self.scene(request).await,
            (Method::POST, "/close") => self.close(request).await,
            (Method::GET, "/counts") => answer(&self.counts.read()),
            (Method::POST, "/counts/reset") => {
                self.counts.reset();
                answer(&self.counts.read())
            }
            (_, "/scene" | "/close" | "/counts" | "/counts/reset") => refused(
                StatusCode::METHOD_NOT_ALLOWED,
                "POST /scene, POST /close, GET /counts, POST /counts/reset",
            ),
            _ => refused(StatusCode::NOT_FOUND, "POST /scene, POST /close, GET /counts, POST /counts/reset"),
        }
    }
}

impl AdminPort {
    async fn scene(&self, request: Request<Incoming>) -> Answer {
        match read::<SceneRequest>(request).await {
            Err(refusal) => refusal,
            Ok(wanted) => match self.stage.set(wanted).await {
                Ok(scene) => answer(&scene),
                Err(why) => refused(StatusCode::BAD_REQUEST, &why),
            },
        }
    }

    async fn close(&self, request: Request<Incoming>) -> Answer {
        match read::<CloseRequest>(request).await {
            Err(refusal) => refusal,
            Ok(CloseRequest { count: count @ 1..=MAX_CLOSE }) => {
                answer(&json!({ "ledger": self.node.close_ledgers(count).await }))
            }
            Ok(_) => refused(StatusCode::BAD_REQUEST, &format!("count must be from 1 to {MAX_CLOSE}")),
        }
    }
}

/// The request's body; none at all is the default.
async fn read<T: DeserializeOwned + Default>(request: Request<Incoming>) -> Result<T, Answer> {
    let body = http::read_body(request).await?;
    if body.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&body).map_err(|error| refused(StatusCode::BAD_REQUEST, &error.to_string()))
}

fn answer(value: &impl Serialize) -> Answer {
    http::json(StatusCode::OK, serde_json::to_vec(value).unwrap_or_default())
}

fn refused(status: StatusCode, error: &str) -> Answer {
    http::json(status, json!({ "error": error }).to_string())
}
