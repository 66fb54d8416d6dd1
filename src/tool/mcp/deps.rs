//! Everything needed to start a server.

use std::path::Path;
use std::sync::Arc;

use super::http::HttpSource;
use crate::exec::StartDirs;
use crate::protocol::{Redactor, SharedPeer};

/// Everything of the session that is needed to start a server.
pub struct ServerDeps {
    pub cwd: Arc<Path>,
    pub starts: StartDirs,
    pub secrets: Arc<[String]>,
    pub http: HttpSource,
    pub peer: Option<SharedPeer>,
    pub redactor: Redactor,
}
