//! Control lines: what the driving program asks of us beside prompts, and what we ask of it.

mod context;
mod desk;
mod initialize;
mod peer;
pub(super) mod permission;
mod request;

pub(super) use desk::Desk;
pub use desk::{Backstage, Served};
pub use initialize::{HandshakeServers, HookCallbacks, Initialize, SdkServer};
pub(super) use peer::{Client, Delivered};
pub(super) use request::Request;
