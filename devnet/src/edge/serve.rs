//! The process: listen, say so in one line, serve until told to stop.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::admin::AdminPort;
use super::cli::Options;
use super::faults::Faults;
use super::friendbot::{self, Friendbot};
use super::http;
use super::methods::{CallCounts, Rpc};
use super::rpc_port::RpcPort;
use super::scene::Stage;
use super::submit::Closing;
use super::tls::{self, Identity};
use crate::node::Node;
use crate::options::CloseMode;

/// Runs the network until a signal; the code is the process's.
pub fn run(options: Options) -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads).enable_all().build();
    let served = match runtime {
        Err(error) => Err(format!("The threads could not be started: {error}.")),
        Ok(runtime) => runtime.block_on(serve(options)),
    };
    // The network's own threads are still at work; nothing of theirs outlives the process.
    match served {
        Ok(()) => std::process::exit(0),
        Err(why) => {
            eprintln!("farebox-devnet: {why}");
            std::process::exit(2)
        }
    }
}

async fn serve(options: Options) -> Result<(), String> {
    let identity = options.tls.as_deref().map(tls::identity).transpose()?;
    let rpc_listener = listen(options.host, options.port, "--port").await?;
    let admin_listener = listen(Ipv4Addr::LOCALHOST.into(), options.admin_port, "--admin-port").await?;
    let stop = stop_signal(options.stop_with_stdin)?;

    let scheme = if identity.is_some() { "https" } else { "http" };
    let rpc_url = url(scheme, &rpc_listener)?;
    let admin_url = url("http", &admin_listener)?;
    let counts = Arc::new(CallCounts::default());
    let faults = Arc::new(Faults::default());
    let node = Node::open(options.node_options()).map_err(|error| format!("{error:#}."))?;
    // A network that goes on from its journal has them.
    let funders = friendbot::missing_entries(&node);
    if !funders.is_empty() {
        node.inject(funders).await;
    }
    let rpc_port = rpc_port(&options, &node, &rpc_url, counts.clone(), faults.clone());
    let admin_port = AdminPort { node: node.clone(), stage: Stage::new(node), counts, faults };

    announce(&options, &rpc_url, &admin_url, identity.as_ref())?;
    let acceptor = identity.map(|identity| identity.acceptor);
    tokio::select! {
        () = http::serve(rpc_listener, acceptor, Arc::new(rpc_port)) => {}
        () = http::serve(admin_listener, None, Arc::new(admin_port)) => {}
        () = stop => {}
    }
    Ok(())
}

fn rpc_port(
    options: &Options,
    node: &Node,
    rpc_url: &str,
    counts: Arc<CallCounts>,
    faults: Arc<Faults>,
) -> RpcPort {
    let closing = match options.close_ms {
        CloseMode::EveryMs(_) => Closing::ByTheClock,
        CloseMode::Manual => Closing::Now,
    };
    RpcPort {
        rpc: Rpc::new(node.clone(), options.rpc_options(rpc_url), counts),
        faults,
        friendbot: Friendbot::new(node.clone(), closing),
        latency: Duration::from_millis(options.latency_ms),
    }
}

async fn listen(host: IpAddr, port: u16, option: &str) -> Result<TcpListener, String> {
    TcpListener::bind(SocketAddr::new(host, port)).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!("Port {port} on {host} is taken; choose another with {option}, or 0 for any free one.")
        }
        _ => format!("Port {port} on {host} cannot be listened on ({error}); choose another with {option}."),
    })
}

fn url(scheme: &str, listener: &TcpListener) -> Result<String, String> {
    let address = listener.local_addr().map_err(|error| format!("The address is not known: {error}."))?;
    Ok(format!("{scheme}://{address}"))
}

/// The only line on standard output.
fn announce(options: &Options, rpc: &str, admin: &str, identity: Option<&Identity>) -> Result<(), String> {
    let line = json!({
        "event": "listening",
        "rpc": rpc,
        "admin": admin,
        "passphrase": options.passphrase,
        "authority": identity.map(|identity| identity.authority.to_string_lossy()),
    });
    eprintln!("farebox-devnet: a local network for development, not a node of a real one; RPC at {rpc}");
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| format!("Nobody reads: {error}."))
}

/// Ends at SIGTERM, at SIGINT, and, when asked to, when standard input closes.
fn stop_signal(with_stdin: bool) -> Result<impl Future<Output = ()>, String> {
    let failed = |error| format!("Signals cannot be received: {error}.");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (closed, stdin_closed) = oneshot::channel();
    // Never sent without the option; kept, because a dropped sender ends the wait too.
    let mut kept = Some(closed);
    if with_stdin && let Some(closed) = kept.take() {
        std::thread::spawn(move || {
            let mut bytes = [0; 256];
            while std::io::stdin().read(&mut bytes).is_ok_and(|count| count > 0) {}
            let _ = closed.send(());
        });
    }
    Ok(async move {
        let _kept = kept;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = stdin_closed => {}
        }
    })
}
