//! The admin port: what a test may do to the network that no client may.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::faults::Faults;
use super::http::{self, Answer, HangUp, Port};
use super::landing;
use super::methods::CallCounts;
use super::scene::{SceneRequest, Stage};
use crate::node::Node;

/// Enough to let every entry of testnet's limits expire.
const MAX_CLOSE: u32 = 200_000;
/// Ten years.
const MAX_JUMP_S: u64 = 315_360_000;

pub struct AdminPort {
    pub node: Node,
    pub stage: Stage,
    pub counts: Arc<CallCounts>,
    pub faults: Arc<Faults>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseRequest {
    #[serde(default = "one")]
    count: u32,
    /// What waits is left out and grows older.
    #[serde(default)]
    empty: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct JumpRequest {
    seconds: u64,
    ledgers: u32,
}

impl Default for CloseRequest {
    fn default() -> Self {
        CloseRequest { count: one(), empty: false }
    }
}

fn one() -> u32 {
    1
}

const CALLS: &str = "POST /scene, POST /close, POST /jump, POST /land, GET /counts, GET /bytes, POST /counts/reset, \
                     GET, POST and DELETE /faults";

impl Port for AdminPort {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, HangUp> {
        // A page in a browser must not reach this port: it would come with an origin.
        if request.headers().contains_key(hyper::header::ORIGIN) {
            return Ok(refused(StatusCode::FORBIDDEN, "not for browsers"));
        }
        Ok(self.route(request).await.unwrap_or_else(|refusal| refusal))
    }
}

impl AdminPort {
    async fn route(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match (method, path.as_str()) {
            (Method::POST, "/scene") => self.scene(request).await,
            (Method::POST, "/close") => self.close(request).await,
            (Method::POST, "/jump") => self.jump(request).await,
            (Method::POST, "/land") => self.land(request).await,
            (Method::GET, "/faults") => Ok(answer(&self.faults.list())),
            (Method::POST, "/faults") => self.set_fault(request).await,
            (Method::DELETE, "/faults") => self.clear_faults(&request),
            (Method::GET, "/counts") => Ok(answer(&self.counts.calls())),
            (Method::GET, "/bytes") => Ok(answer(&self.counts.bytes())),
            (Method::POST, "/counts/reset") => {
                self.counts.reset();
                Ok(answer(&self.counts.calls()))
            }
            (
                _,
                "/scene" | "/close" | "/jump" | "/land" | "/faults" | "/counts" | "/bytes" | "/counts/reset",
            ) => Err(refused(StatusCode::METHOD_NOT_ALLOWED, CALLS)),
            _ => Err(refused(StatusCode::NOT_FOUND, CALLS)),
        }
    }

    async fn scene(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let scene = self.stage.set(read::<SceneRequest>(request).await?).await.map_err(wrong)?;
        Ok(answer(&scene))
    }

    async fn close(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let CloseRequest { count, empty } = read(request).await?;
        if !(1..=MAX_CLOSE).contains(&count) {
            return Err(wrong(format!("count must be from 1 to {MAX_CLOSE}")));
        }
        let ledger = match empty {
            true => self.node.skip(0, count).await,
            false => self.node.close_ledgers(count).await,
        };
        Ok(answer(&json!({ "ledger": ledger })))
    }

    async fn jump(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let JumpRequest { seconds, ledgers } = read(request).await?;
        if seconds > MAX_JUMP_S || ledgers > MAX_CLOSE {
            return Err(wrong(format!("at most {MAX_JUMP_S} seconds and {MAX_CLOSE} ledgers")));
        }
        let ledger = self.node.skip(seconds * 1000, ledgers).await;
        let close_time = self.node.state().ledger.close_time_s().to_string();
        Ok(answer(&json!({ "ledger": ledger, "closeTime": close_time })))
    }

    async fn land(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let hash = landing::land(&self.node, read(request).await?).await.map_err(wrong)?;
        Ok(answer(&json!({ "hash": hash })))
    }

    async fn set_fault(&self, request: Request<Incoming>) -> Result<Answer, Answer> {
        let body = http::read_body(request).await?;
        let rule = serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))?;
        let id = self.faults.set(rule).map_err(wrong)?;
        Ok(answer(&json!({ "id": id })))
    }

    fn clear_faults(&self, request: &Request<Incoming>) -> Result<Answer, Answer> {
        let id = http::query_value(request.uri().query().unwrap_or_default(), "id");
        let id = id.map(|text| text.parse().map_err(|_| wrong("id must be a fault's number".to_owned())));
        Ok(answer(&json!({ "cleared": self.faults.clear(id.transpose()?) })))
    }
}

fn wrong(error: String) -> Answer {
    refused(StatusCode::BAD_REQUEST, &error)
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
