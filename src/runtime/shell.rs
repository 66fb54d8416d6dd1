//! The user's own shell commands (`!` in the prompt): they run alongside the agents, and the model
//! sees them with the next prompt.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::exec::{Shell, ShellCall};
use crate::protocol::{
    ContentBlock, EnvOverlay, EventKind, EventSink, NoticeLevel, Redactor, ShellRun,
};

/// The user's shell, which runs one command at a time.
#[derive(Debug)]
pub(super) struct UserShell {
    shell: Arc<Shell>,
    env: EnvOverlay,
    redactor: Redactor,
    running: Option<RunningCommand>,
    /// Finished commands for the next prompt.
    ended: Vec<ContentBlock>,
}

#[derive(Debug)]
struct RunningCommand {
    task: JoinHandle<ContentBlock>,
    cancel: CancellationToken,
    /// Whether it was started in the present session, whose model sees it.
    is_of_session: bool,
}

impl UserShell {
    /// Creates a shell that starts in `base`. `secrets` names variables that commands must not see;
    /// `redactor` masks keys in their output.
    pub fn new(
        base: Arc<Path>,
        env: EnvOverlay,
        secrets: Arc<[String]>,
        redactor: Redactor,
    ) -> Self {
        let shell = Arc::new(Shell::new(base, secrets));
        Self { shell, env, redactor, running: None, ended: Vec::new() }
    }

    /// Starts a command, unless one is running.
    pub fn start(&mut self, line: String, events: &EventSink) {
        if self.running.is_some() {
            events.notice(NoticeLevel::Warning, "a command is running: Ctrl+C stops it");
            return;
        }
        let cancel = CancellationToken::new();
        let (shell, env) = (self.shell.clone(), self.env.clone());
        let (token, events) = (cancel.clone(), events.clone());
        let (redactor, masked) = (self.redactor.clone(), self.redactor.stream());
        let began = Some(Timestamp::now());
        let task = tokio::spawn(async move {
            let call = ShellCall {
                line: &line,
                env: &env,
                depth: 0,
                limit: None,
                cancel: &token,
                read_only: None,
            };
            let show = |text| events.emit(EventKind::ShellOutput { text: masked.push(text) });
            let (text, status) = match shell.run(call, show).await {
                Ok(outcome) => (outcome.report(), outcome.exit.describe().unwrap_or_default()),
                Err(error) => (error.to_string(), "not run".to_owned()),
            };
            let text = redactor.without_keys(text);
            let shown = redactor.without_keys(line.clone());
            let run = ShellRun { line: shown, status: status.clone(), began };
            let block = ContentBlock::shell_run(run, &text);
            events.emit(EventKind::ShellFinished { line, text, status });
            block
        });
        self.running = Some(RunningCommand { task, cancel, is_of_session: true });
    }

    /// Whether a command runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Waits for the end of the running command; forever if there is none.
    pub async fn wait(&mut self) {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let ended = (&mut running.task).await;
        if let Ok(block) = ended
            && running.is_of_session
        {
            self.ended.push(block);
        }
        self.running = None;
    }

    /// Kills the running command.
    pub fn cancel(&self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    /// Kills the running command and waits until it is gone.
    pub async fn stop(&mut self) {
        self.cancel();
        if self.running.is_some() {
            self.wait().await;
        }
    }

    /// Takes the commands since the last prompt, for the model.
    pub fn take_finished(&mut self) -> Vec<ContentBlock> {
        std::mem::take(&mut self.ended)
    }

    /// Leaves the session: the model of another sees none of its commands, also not a running one.
    pub fn leave_session(&mut self) {
        self.ended.clear();
        if let Some(running) = &mut self.running {
            running.is_of_session = false;
        }
    }

    /// Returns commands that were taken for a prompt that was rejected.
    pub fn put_back(&mut self, finished: Vec<ContentBlock>) {
        self.ended.splice(0..0, finished);
    }
}
