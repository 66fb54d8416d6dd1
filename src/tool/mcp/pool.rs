//! Servers that agents share, where that makes no difference to any of them.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use super::deps::ServerDeps;
use super::server::{NoticeFn, Server};
use crate::protocol::{EnvOverlay, McpServer};

/// The running servers of a session.
pub struct ServerPool {
    deps: Arc<ServerDeps>,
    notify: Mutex<NoticeFn>,
    tasks: TaskTracker,
    running: Mutex<Vec<Weak<Server>>>,
}

impl ServerPool {
    pub fn new(deps: ServerDeps) -> Self {
        Self {
            deps: Arc::new(deps),
            notify: Mutex::new(Arc::new(|_| {})),
            tasks: TaskTracker::new(),
            running: Mutex::default(),
        }
    }

    /// Sets the receiver of errors of servers from now on.
    pub fn set_notice(&self, notify: NoticeFn) {
        *self.notify.lock() = notify;
    }

    /// Returns a server of this configuration for this environment: a running one, if its
    /// configuration lets agents share it and both are the same, else a new one. It runs until
    /// its last handle is dropped. A shared one keeps the depth of the agent for which it was started.
    pub fn get(&self, config: &McpServer, env: &EnvOverlay, depth: u32) -> Arc<Server> {
        let mut running = self.running.lock();
        running.retain(|server| server.strong_count() > 0);
        if config.shared {
            let same = |server: &Arc<Server>| server.config() == config && server.env() == env;
            if let Some(server) = running.iter().filter_map(Weak::upgrade).find(same) {
                return server;
            }
        }
        let notify = self.notify.lock().clone();
        let (config, env) = (config.clone(), env.clone());
        let server = Server::start(config, env, depth, self.deps.clone(), notify, &self.tasks);
        let server = Arc::new(server);
        running.push(Arc::downgrade(&server));
        server
    }

    /// Waits until every server whose last handle was dropped is gone.
    pub async fn wait_ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub fn deps(&self) -> &ServerDeps {
        &self.deps
    }
}
