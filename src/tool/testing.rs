//! Fixture for tests of tools: a folder to work in, and calls as the agent loop makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    BuiltinSettings, FileLock, PreparedCall, SoftKind, ToolContext, ToolError, ToolOutcome,
    ToolRegistry, builtin,
};
use crate::budget::{Budget, Limits};
use crate::exec::BlockingPools;
use crate::protocol::{Access, EnvOverlay, EventQueue, ResultBlock, Span, ToolUseId};

/// A folder, and the built-in tools of one agent that works there.
pub struct ToolFixture {
    _folder: tempfile::TempDir,
    pub base: PathBuf,
    pub queue: EventQueue,
    pub cancel: CancellationToken,
    pub settings: BuiltinSettings,
    /// Held by every call.
    pub lock: FileLock,
    tools: ToolRegistry,
}

impl ToolFixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let settings = BuiltinSettings::new(base.as_path().into());
        let tools = ToolRegistry::new(builtin(&settings));
        let (queue, cancel) = (EventQueue::unbounded(), CancellationToken::new());
        let lock = FileLock::default();
        Self { _folder: folder, base, queue, cancel, settings, lock, tools }
    }

    /// Replaces the agent by a fresh one.
    pub fn next_agent(&mut self) {
        self.tools = ToolRegistry::new(builtin(&self.settings));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// Writes a file, with its folders.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn context(&self, access: Access) -> ToolContext {
        ToolContext {
            tool_use_id: ToolUseId::new("call"),
            events: self.queue.sink(),
            cancel: self.cancel.clone(),
            overdue: Arc::default(),
            access,
            order: 0,
            cwd: Arc::from(self.base.as_path()),
            env: EnvOverlay::from_iter([("PATH", "/usr/local/bin:/usr/bin:/bin")]),
            budget: Budget::new(Limits::default()),
            depth: 0,
            span: Span::root(),
            conversation: super::Conversation::default(),
            masked: Default::default(),
            read_only: None,
            approved_content: None,
            file_guard: None,
            files: BlockingPools::default().files,
        }
    }

    pub fn tool(&self, name: &str) -> &dyn super::Tool {
        self.tools.get(name).unwrap().as_ref()
    }

    /// Returns what a call would touch.
    pub fn access(&self, name: &str, input: &Value) -> Access {
        self.access_of(name, self.prepare(name, input).as_ref())
    }

    fn access_of(&self, name: &str, call: &dyn PreparedCall) -> Access {
        call.access(self.tool(name).directory().as_deref().unwrap_or(&self.base))
    }

    /// Prepares a call with a valid input.
    pub fn prepare(&self, name: &str, input: &Value) -> Box<dyn PreparedCall> {
        self.tools.get(name).unwrap().clone().prepare(input).unwrap()
    }

    /// Prepares and runs a call.
    pub async fn call(&self, name: &str, input: Value) -> Result<ToolOutcome, ToolError> {
        let call = self.tools.get(name).unwrap().clone().prepare(&input);
        let call = call.map_err(|error| ToolError::soft(SoftKind::InvalidInput, error.0))?;
        let file_guard = Some(self.lock.hold().await);
        let access = self.access_of(name, call.as_ref());
        call.run(ToolContext { file_guard, ..self.context(access) }).await
    }

    /// Returns the text of a successful call.
    pub async fn text(&self, name: &str, input: Value) -> String {
        text(&self.call(name, input).await.unwrap())
    }

    /// Returns the message of a failed call, without the folder's path.
    pub async fn error(&self, name: &str, input: Value) -> String {
        let error = self.call(name, input).await.unwrap_err().to_string();
        error.replace(&format!("{}/", self.base.display()), "")
    }
}

pub fn text(outcome: &ToolOutcome) -> String {
    match outcome.content.as_slice() {
        [ResultBlock::Text { text }] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().unwrap().permissions().mode() & 0o777
}
