//! What a server says by itself: how far a call has come, and that its tools have changed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::NotificationContext;
use tokio::sync::Notify;

use crate::exec::Cleaner;
use crate::protocol::Redactor;
use crate::tool::ToolContext;

/// How many words on calls that nobody has registered yet are kept.
const EARLY: usize = 16;

/// The most characters that one call shows while it runs.
const SHOWN: usize = 20_000;

/// Hears one server. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Listener {
    progress: Arc<Mutex<Progress>>,
    changed: Arc<Notify>,
    redactor: Redactor,
}

#[derive(Debug, Default)]
struct Progress {
    open: HashMap<ProgressToken, Watcher>,
    /// The answer to a request may be faster than the one who has sent it.
    early: VecDeque<(ProgressToken, String)>,
}

/// A call whose progress is shown.
#[derive(Debug)]
struct Watcher {
    cx: ToolContext,
    room: usize,
}

/// Hears the progress of a call until it is dropped.
pub struct Watching<'a> {
    listener: &'a Listener,
    token: ProgressToken,
}

impl Listener {
    /// Shows nothing that `redactor` masks.
    pub fn masking(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Shows the progress under `token` as that of the call.
    pub fn watch(&self, token: ProgressToken, cx: &ToolContext) -> Watching<'_> {
        let mut progress = self.lock();
        let mut watcher = Watcher { cx: cx.clone(), room: SHOWN };
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
        Watching { listener: self, token }
    }

    /// Waits until the server says that its tools have changed. What it said since the last wait counts.
    pub async fn tools_changed(&self) {
        self.changed.notified().await;
    }

    fn hear(&self, params: ProgressNotificationParam) {
        let text = self.redactor.mask(&words(&params)).into_owned();
        let mut progress = self.lock();
        if let Some(watcher) = progress.open.get_mut(&params.progress_token) {
            return watcher.show(&text);
        }
        if progress.early.len() == EARLY {
            progress.early.pop_front();
        }
        progress.early.push_back((params.progress_token, text));
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    fn show(&mut self, text: &str) {
        let size = text.chars().count();
        if size <= self.room {
            self.room -= size;
            self.cx.progress(text);
        }
    }
}

impl Drop for Watching<'_> {
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
        self.hear(params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("caliban", env!("CARGO_PKG_VERSION"));
        // The newest revision has no `initialize`: naming it there asks for what cannot be.
        ClientConfig::new(Default::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// One line of progress: what the server says, else how far it is.
fn words(params: &ProgressNotificationParam) -> String {
    let count = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    match params.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("{}\n", Cleaner::whole(message)),
        None => format!("{count}\n"),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn the_handshake_names_a_revision_that_has_one() {
        let info = Listener::masking(Redactor::default()).get_info();
        assert!(info.protocol_version.has_initialize(), "{}", info.protocol_version);
    }

    #[test]
    fn no_key_is_shown_as_progress() {
        let redactor = Redactor::default();
        redactor.add("sk-secret-1");
        let listener = Listener::masking(redactor);
        let token = ProgressToken(NumberOrString::Number(1));
        let params = ProgressNotificationParam::new(token, 1.0).with_message("with sk-secret-1");
        listener.hear(params);
        assert_eq!(listener.lock().early[0].1, "with ***\n");
    }
}
