//! Servers that agents share, where that makes no difference to any of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio_util::task::TaskTracker;

use super::Server;
use super::server::Tell;
use super::session::Means;
use crate::protocol::{EnvOverlay, McpServer};

/// The servers of a session that somebody holds.
pub struct Pool {
    means: Arc<Means>,
    tell: Mutex<Tell>,
    tasks: TaskTracker,
    running: Mutex<Vec<Weak<Server>>>,
}

impl Pool {
    pub fn new(means: Means) -> Self {
        Self {
            means: Arc::new(means),
            tell: Mutex::new(Arc::new(|_| {})),
            tasks: TaskTracker::new(),
            running: Mutex::default(),
        }
    }

    /// Who is told what goes wrong with servers from now on.
    pub fn tell_to(&self, tell: Tell) {
        *self.tell.lock().unwrap_or_else(PoisonError::into_inner) = tell;
    }

    /// A server of this configuration for this environment: one that runs, if its configuration
    /// lets agents share it and both are the same, else a new one. It runs until nobody holds it.
    /// One that is shared keeps the depth of the agent for which it was started.
    pub fn get(&self, config: &McpServer, env: &EnvOverlay, depth: u32) -> Arc<Server> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|server| server.strong_count() > 0);
        if config.shared {
            let same = |server: &Arc<Server>| server.config() == config && server.env() == env;
            if let Some(server) = running.iter().filter_map(Weak::upgrade).find(same) {
                return server;
            }
        }
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (config, env) = (config.clone(), env.clone());
        let server = Server::start(config, env, depth, self.means.clone(), tell, &self.tasks);
        let server = Arc::new(server);
        running.push(Arc::downgrade(&server));
        server
    }

    /// Waits until every server that nobody holds any more is gone.
    pub async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub fn means(&self) -> &Means {
        &self.means
    }
}
