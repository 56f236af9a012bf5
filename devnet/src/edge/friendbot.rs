//! Friendbot: new accounts with 10,000 XLM, many at a time.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;
use tokio::sync::{Mutex, mpsc};

use super::account_entries::{STARTING_BALANCE_STROOPS, account};
use super::http::{self, Answer};
use super::keys::{KeyPair, Role, account_id, parse_address};
use super::submit::{Closing, build, find_account, settle};
use super::xdr_text::encode;
use crate::node::Node;
use crate::record::TransactionRecord;
use crate::xdr::{AccountId, CreateAccountOp, LedgerEntry, OperationBody};

/// Accounts that fund; each has one transaction in the queue at a time, so this many fit into one ledger.
const FUNDERS: u32 = 64;
const FUNDER_BALANCE_STROOPS: i64 = 1_000_000_000_000_000;

#[derive(Clone)]
pub struct Friendbot {
    node: Node,
    closing: Closing,
    idle: Arc<Mutex<mpsc::Receiver<KeyPair>>>,
    give_back: mpsc::Sender<KeyPair>,
}

enum Refusal {
    Malformed,
    Exists,
    Failed(String),
}

impl Friendbot {
    /// A friendbot whose funders are in the ledger already (`missing_entries`).
    pub fn new(node: Node, closing: Closing) -> Friendbot {
        let (give_back, idle) = mpsc::channel(FUNDERS as usize);
        for funder in funders(&node) {
            // The channel holds all of them, so none is turned away.
            let _ = give_back.try_send(funder);
        }
        Friendbot { node, closing, idle: Arc::new(Mutex::new(idle)), give_back }
    }

    /// Creates the account and answers once a ledger holds it.
    pub async fn fund(&self, address: Option<&str>) -> Answer {
        let funded = match address.and_then(parse_address) {
            None => Err(Refusal::Malformed),
            Some(public) => self.create(account_id(public)).await,
        };
        match funded {
            Ok(record) => http::json(
                StatusCode::OK,
                json!({
                    "successful": true,
                    "hash": hex::encode(record.hash),
                    "ledger": record.ledger,
                    "envelope_xdr": encode(&record.envelope),
                    "result_xdr": encode(&record.result),
                    "result_meta_xdr": encode(&record.meta),
                })
                .to_string(),
            ),
            Err(Refusal::Malformed) => {
                problem(StatusCode::BAD_REQUEST, "Bad Request", "addr must be the address (G…) of an account")
            }
            Err(Refusal::Exists) => problem(
                StatusCode::BAD_REQUEST,
                "Bad Request",
                "createAccountAlreadyExist: account already funded to starting balance",
            ),
            Err(Refusal::Failed(why)) => {
                problem(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable", &why)
            }
        }
    }

    async fn create(&self, destination: AccountId) -> Result<Arc<TransactionRecord>, Refusal> {
        if find_account(&self.node, &destination).is_some() {
            return Err(Refusal::Exists);
        }
        let funder = self.idle.lock().await.recv().await;
        let funder = funder.ok_or_else(|| Refusal::Failed("the network stopped".to_owned()))?;
        let this = self.clone();
        // In a task of its own: a caller that goes away must not take the funder along.
        let funded = tokio::spawn(async move {
            let record = this.create_from(&funder, destination.clone()).await;
            let _ = this.give_back.send(funder).await;
            match record {
                Ok(record) if record.is_successful() => Ok(record),
                Ok(_) if find_account(&this.node, &destination).is_some() => Err(Refusal::Exists),
                Ok(record) => Err(Refusal::Failed(format!("failed: {}", record.result.result.name()))),
                Err(why) => Err(Refusal::Failed(why)),
            }
        });
        funded.await.unwrap_or_else(|_| Err(Refusal::Failed("internal error".to_owned())))
    }

    async fn create_from(
        &self,
        funder: &KeyPair,
        destination: AccountId,
    ) -> Result<Arc<TransactionRecord>, String> {
        let operation = CreateAccountOp { destination, starting_balance: STARTING_BALANCE_STROOPS };
        let envelope = build(&self.node, funder, OperationBody::CreateAccount(operation), None)?;
        settle(&self.node, envelope, self.closing).await
    }
}

fn funders(node: &Node) -> impl Iterator<Item = KeyPair> {
    let network_id = node.network_id();
    (0..FUNDERS).map(move |index| KeyPair::derived(&network_id, Role::Friendbot, index))
}

/// The ledger entries of the accounts that fund, and of the stranger who wraps what others send.
pub fn missing_entries(node: &Node) -> Vec<LedgerEntry> {
    let ledger = node.state().ledger.sequence;
    let entry = |funder: KeyPair| account(funder.account_id(), FUNDER_BALANCE_STROOPS, 0, ledger);
    let all = funders(node).chain([super::landing::stranger(node)]);
    all.filter(|key| find_account(node, &key.account_id()).is_none()).map(entry).collect()
}

fn problem(status: StatusCode, title: &str, detail: &str) -> Answer {
    let kind = title.to_lowercase().replace(' ', "_");
    let body = json!({
        "type": format!("https://stellar.org/horizon-errors/{kind}"),
        "title": title,
        "status": status.as_u16(),
        "detail": detail,
    });
    http::json(status, body.to_string())
}
