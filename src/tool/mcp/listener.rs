//! Handles notifications of a server: the progress of a call, and changes of its tools.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::NotificationContext;
use tokio::sync::Notify;

use crate::exec::OutputCleaner;
use crate::protocol::Redactor;
use crate::tool::api::ToolContext;

/// Maximum progress messages kept for calls that are not registered yet.
const MAX_EARLY: usize = 16;

/// Maximum characters of progress per call.
const MAX_SHOWN_CHARS: usize = 20_000;

/// Handles the notifications of one server. Clones share state.
#[derive(Clone, Debug, Default)]
pub struct Listener {
    progress: Arc<Mutex<ProgressState>>,
    changed: Arc<Notify>,
    redactor: Redactor,
}

#[derive(Debug, Default)]
struct ProgressState {
    open: HashMap<ProgressToken, ProgressWatcher>,
    /// Progress can arrive before the sender of the request has registered it.
    early: VecDeque<(ProgressToken, String)>,
}

/// A call whose progress is shown.
#[derive(Debug)]
struct ProgressWatcher {
    cx: ToolContext,
    room: usize,
}

/// Receives the progress of a call until dropped.
pub struct WatchGuard<'a> {
    listener: &'a Listener,
    token: ProgressToken,
}

impl Listener {
    /// Creates a listener whose output is masked by `redactor`.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Shows the progress under `token` as that of the call.
    pub fn watch(&self, token: ProgressToken, cx: &ToolContext) -> WatchGuard<'_> {
        let mut progress = self.lock();
        let mut watcher = ProgressWatcher { cx: cx.clone(), room: MAX_SHOWN_CHARS };
        let early = std::mem::take(&mut progress.early);
        for (of, text) in early {
            if of == token {
                watcher.show(&text);
            } else {
                progress.early.push_back((of, text));
            }
        }
        progress.open.insert(token.clone(), watcher);
        drop(progress);
        WatchGuard { listener: self, token }
    }

    /// Waits until the server reports that its tools have changed. Changes since the last wait count.
    pub async fn tools_changed(&self) {
        self.changed.notified().await;
    }

    fn handle_progress(&self, params: ProgressNotificationParam) {
        let text = self.redactor.mask(&words(&params)).into_owned();
        let mut progress = self.lock();
        if let Some(watcher) = progress.open.get_mut(&params.progress_token) {
            return watcher.show(&text);
        }
        if progress.early.len() == MAX_EARLY {
            progress.early.pop_front();
        }
        progress.early.push_back((params.progress_token, text));
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.progress.lock()
    }
}

impl ProgressWatcher {
    fn show(&mut self, text: &str) {
        let size = text.chars().count();
        if size <= self.room {
            self.room -= size;
            self.cx.progress(text);
        }
    }
}

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        self.listener.lock().open.remove(&self.token);
    }
}

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.handle_progress(params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("caliban", env!("CARGO_PKG_VERSION"));
        // The newest revision has no `initialize`: naming it there would ask for something impossible.
        ClientConfig::new(Default::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Formats one line of progress: the server's message, or else the numbers.
fn words(params: &ProgressNotificationParam) -> String {
    let count = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    match params.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("{}\n", OutputCleaner::clean(message)),
        None => format!("{count}\n"),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn the_handshake_names_a_revision_that_has_one() {
        let info = Listener::new(Redactor::default()).get_info();
        assert!(info.protocol_version.has_initialize(), "{}", info.protocol_version);
    }

    #[test]
    fn no_key_is_shown_as_progress() {
        let redactor = Redactor::default();
        redactor.add("sk-secret-1");
        let listener = Listener::new(redactor);
        let token = ProgressToken(NumberOrString::Number(1));
        let params = ProgressNotificationParam::new(token, 1.0).with_message("with sk-secret-1");
        listener.handle_progress(params);
        assert_eq!(listener.lock().early[0].1, "with ***\n");
    }
}
