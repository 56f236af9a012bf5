//! What a caller sees of the network: Stellar RPC and friendbot on one port, the admin calls on another.

pub mod account_entries;
pub mod admin;
pub mod assets;
pub mod call_effects;
pub mod cli;
pub mod cursor;
pub mod event_filter;
pub mod faults;
pub mod friendbot;
pub mod http;
pub mod jsonrpc;
pub mod keys;
pub mod landing;
pub mod latest;
pub mod methods;
pub mod padding;
pub mod release;
pub mod rpc_port;
pub mod scene;
pub mod serve;
pub mod submit;
pub mod tls;
pub mod view;
pub mod xdr_text;
