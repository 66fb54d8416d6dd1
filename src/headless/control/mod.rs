//! Control lines: requests of the driving program to us, and ours to it.

mod handler;
mod initialize;
mod peer;
pub(super) mod permission;
mod request;

pub(super) use handler::ControlHandler;
pub use handler::{ControlBackend, McpInventory};
pub use initialize::{HandshakeServers, HookCallbacks, Initialize, SdkServer};
pub(super) use peer::{Delivery, PeerClient};
pub(super) use request::ControlRequest;
