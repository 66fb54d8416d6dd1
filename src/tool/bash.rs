//! `Bash`: runs a shell command.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::api::{PreparedCall, SoftKind, Tool, ToolContext, ToolError, ToolOutcome};
use super::shells::ShellRegister;
use super::spec::{InvalidInput, ToolSpec};
use crate::exec::{
    CommandExit, RecentOutput, Shell, ShellCall, ShellOutcome, ShellStart, ShellState,
};
use crate::protocol::{
    Access, AgentPath, EventKind, Failure, Redactor, ResultBlock, ShellId, ToolDetails,
};

const DEFAULT_MS: u64 = 120_000;
const MAX_MS: u64 = 600_000;

/// Error texts of programs that the system refused something.
const SANDBOX_ERRORS: [&str; 3] =
    ["ermission denied", "peration not permitted", "unction not implemented"];

const CONFINED_HINT: &str = "\n[This command ran in a read-only sandbox without network access. An allow rule for it in the project's own settings lifts that.]";

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new::<BashInput>(
        "Bash",
        "Runs a bash command. The directory persists, variables do not; cd takes effect from the next message. No stdin. Processes left running are killed: use run_in_background.",
    )
});

/// The tool, with the shell of one agent and the register of its background commands.
#[derive(Debug)]
pub struct Bash {
    shell: Shell,
    shells: Arc<dyn ShellRegister>,
    redactor: Redactor,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    command: String,
    /// ms; default 120000, at most 600000
    timeout: Option<u64>,
    /// Returns at once; no default timeout
    run_in_background: Option<bool>,
    // Models like to say what a command is for; the screen shows the command itself.
    #[serde(rename = "description")]
    #[schemars(skip)]
    _description: Option<String>,
}

impl Bash {
    /// Runs commands in `shell`, and registers background ones with `shells`. The user sees the end of what
    /// those print without the keys that `redactor` knows.
    pub fn new(shell: Shell, shells: Arc<dyn ShellRegister>, redactor: Redactor) -> Self {
        Self { shell, shells, redactor }
    }

    /// Starts a command in the background.
    fn start(&self, input: &BashInput, cx: &ToolContext) -> Result<ToolOutcome, ToolError> {
        let owner = cx.events.path();
        // Stopping a turn of the main agent leaves its background commands alone; a stopped
        // sub-agent has ended for good.
        let cancel =
            if owner.is_root() { CancellationToken::new() } else { cx.cancel.child_token() };
        let limit = input.timeout.map(Duration::from_millis);
        let (line, directory) = judged_access(cx)?;
        let call = ShellCall {
            line,
            env: &cx.env,
            depth: cx.depth,
            limit,
            cancel: &cancel,
            read_only: cx.read_only.as_ref(),
        };
        // The register holds the command, which must not hold the register.
        let shells = Arc::downgrade(&self.shells);
        let start = |id: &ShellId| {
            let tell = state_reporter(id, line, cx, shells, self.redactor.clone());
            self.shell.start(directory, call, tell)
        };
        let (id, shell) = self
            .shells
            .start(owner, Box::new(start))
            .map_err(|error| ToolError::failed(error.to_string()))?;
        let mut text = format!(
            "Runs in the background as {id}: read its output with BashOutput, stop it with KillShell."
        );
        let mut summary = format!("runs in the background as {id}");
        if let Some(limit) = limit {
            text.push_str(&format!(" It is killed after {limit:?}."));
            summary.push_str(&format!(" for at most {limit:?}"));
        }
        if let Some(lost) = shell.lost() {
            let lost = lost.display();
            text.push_str(&format!("\n[{lost} is gone; this runs in the base directory]"));
            summary.push_str(&format!(" in the base directory: {lost} is gone"));
        }
        let details = ToolDetails::Background { id, cwd: shell.cwd().to_owned() };
        Ok(ToolOutcome::text(text, summary).with_details(details))
    }
}

/// Returns the line and directory that the call was allowed with.
fn judged_access(cx: &ToolContext) -> Result<(&str, &Path), ToolError> {
    match &cx.access {
        Access::Command { line, cwd } => Ok((line, cwd)),
        _ => Err(ToolError::fatal(Failure::Internal, "A Bash call names no command.")),
    }
}

/// Reports a background command: events under its agent's path, and its end to the register.
fn state_reporter(
    id: &ShellId,
    command: &str,
    cx: &ToolContext,
    shells: Weak<dyn ShellRegister>,
    redactor: Redactor,
) -> impl FnMut(ShellState, RecentOutput) + use<> {
    let (id, command, events) = (id.clone(), command.to_owned(), cx.events.clone());
    move |state, recent| match state.end() {
        None => {
            let (id, command) = (id.clone(), command.clone());
            events.emit(EventKind::BackgroundShellStarted { id, command });
        }
        Some(end) => {
            let total = recent.total;
            let text = recent.masked(|text| redactor.without_keys(text));
            events.emit(EventKind::BackgroundShellOutput { id: id.clone(), text, total });
            events.emit(EventKind::BackgroundShellEnded { id: id.clone(), end });
            if let Some(shells) = shells.upgrade() {
                shells.notify_end(events.path(), &id, &command, state);
            }
        }
    }
}

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn directory(&self) -> Option<PathBuf> {
        Some(self.shell.start_directory())
    }

    fn prepare(self: Arc<Self>, input: &Value) -> Result<Box<dyn PreparedCall>, InvalidInput> {
        let input: BashInput = SPEC.parse(input)?;
        if input.command.trim().is_empty() {
            return Err(InvalidInput("command is blank: give a command to run.".to_owned()));
        }
        if input.command.contains('\0') {
            return Err(InvalidInput("command holds a NUL character: leave it out.".to_owned()));
        }
        if input.timeout.is_some_and(|ms| ms == 0 || ms > MAX_MS) {
            let text = format!("timeout must be between 1 and {MAX_MS} milliseconds.");
            return Err(InvalidInput(text));
        }
        Ok(Box::new(BashCall { tool: self, input }))
    }

    async fn end(&self, owner: &AgentPath) {
        self.shells.end_all(owner).await;
    }
}

/// A call with a valid input.
struct BashCall {
    tool: Arc<Bash>,
    input: BashInput,
}

#[async_trait]
impl PreparedCall for BashCall {
    fn summary(&self) -> String {
        let mut lines = self.input.command.trim().lines();
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
    }

    fn access(&self, cwd: &Path) -> Access {
        Access::Command { line: self.input.command.clone(), cwd: cwd.to_owned() }
    }

    /// The command has its own limit.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    async fn run(self: Box<Self>, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let Self { tool, input } = *self;
        if input.run_in_background == Some(true) {
            return tool.start(&input, &cx);
        }
        let (line, directory) = judged_access(&cx)?;
        let call = ShellCall {
            line,
            env: &cx.env,
            depth: cx.depth,
            limit: Some(Duration::from_millis(input.timeout.unwrap_or(DEFAULT_MS))),
            cancel: &cx.cancel,
            read_only: cx.read_only.as_ref(),
        };
        let start = ShellStart { directory, order: cx.order };
        let outcome = Box::pin(tool.shell.run_at(start, call, |text| cx.progress(text)))
            .await
            .map_err(|error| ToolError::failed(error.to_string()))?;
        match outcome.exit {
            CommandExit::Cancelled => Err(ToolError::soft(SoftKind::Cancelled, outcome.report())),
            CommandExit::TimedOut(_) => Err(ToolError::soft(SoftKind::Timeout, outcome.report())),
            CommandExit::Code(_) | CommandExit::Signal(_) => {
                Ok(finished(&outcome, cx.read_only.is_some()))
            }
        }
    }
}

/// Reports how a command ended. A read-only one that the sandbox may have stopped gets a hint.
fn finished(outcome: &ShellOutcome, is_read_only: bool) -> ToolOutcome {
    let exit_code = match outcome.exit {
        CommandExit::Code(code) => Some(code),
        _ => None,
    };
    let summary = outcome.exit.describe().unwrap_or_else(|| match outcome.output.lines {
        0 => "no output".to_owned(),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    });
    let mut report = outcome.report();
    let was_stopped = SANDBOX_ERRORS.iter().any(|words| outcome.output.text.contains(words));
    if is_read_only && exit_code != Some(0) && was_stopped {
        report.push_str(CONFINED_HINT);
    }
    ToolOutcome {
        content: vec![ResultBlock::text(report)],
        is_error: exit_code != Some(0),
        summary,
        details: Some(ToolDetails::Command { exit_code, cwd: outcome.cwd.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{ToolFixture, text};
    use super::*;
    use crate::protocol::ShellEnd;

    #[tokio::test]
    async fn a_command_reports_its_output_and_its_end() {
        let bench = ToolFixture::new();
        let outcome = bench.call("Bash", json!({"command": "printf 'a\\nb'"})).await.unwrap();
        assert_eq!((text(&outcome).as_str(), outcome.summary.as_str()), ("a\nb", "2 lines"));
        assert!(!outcome.is_error);
        let command = json!({"command": "echo no >&2; exit 2", "description": "fails"});
        let outcome = bench.call("Bash", command).await.unwrap();
        assert_eq!(text(&outcome), "no\nexit code 2");
        assert_eq!(outcome.summary, "exit 2");
        assert!(outcome.is_error);
        let details = ToolDetails::Command { exit_code: Some(2), cwd: bench.base.clone() };
        assert_eq!(outcome.details, Some(details));
    }

    #[tokio::test]
    async fn output_is_shown_while_it_comes_and_clean() {
        let bench = ToolFixture::new();
        bench.text("Bash", json!({"command": "printf '\\033[31mred\\033[0m\\r\\n'"})).await;
        let mut events = Vec::new();
        bench.queue.drain_ready(&mut events, 10);
        let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
        let id = bench.context(Access::Nothing).tool_use_id;
        assert_eq!(kinds, [EventKind::ToolProgress { id, text: "red\n".to_owned() }]);
    }

    #[tokio::test]
    async fn the_directory_is_the_agents_own() {
        let mut bench = ToolFixture::new();
        bench.text("Bash", json!({"command": "mkdir sub && cd sub"})).await;
        let input = json!({"command": "pwd"});
        let access = bench.access("Bash", &input);
        assert_eq!(access, Access::Command { line: "pwd".to_owned(), cwd: bench.path("sub") });
        assert_eq!(bench.text("Bash", input.clone()).await, bench.path("sub").to_str().unwrap());
        bench.next_agent();
        assert_eq!(bench.text("Bash", input).await, bench.base.to_str().unwrap());
    }

    #[tokio::test]
    async fn a_timeout_and_a_cancel_keep_what_was_printed() {
        let bench = ToolFixture::new();
        let late = json!({"command": "echo part; sleep 1000", "timeout": 1500});
        let message = "part\n[timed out after 1.5 s, all its processes ended]";
        let error = bench.call("Bash", late).await.unwrap_err();
        assert_eq!(error, ToolError::soft(SoftKind::Timeout, message));
        bench.cancel.cancel();
        let error = bench.call("Bash", json!({"command": "sleep 1000"})).await.unwrap_err();
        let ToolError::Soft { kind, message, .. } = error else { panic!("{error:?}") };
        assert_eq!(kind, SoftKind::Cancelled);
        assert!(message.starts_with("[cancelled after"), "{message}");
    }

    #[tokio::test]
    async fn a_command_in_the_background_is_told_of_and_leaves_the_directory_alone() {
        let bench = ToolFixture::new();
        bench.text("Bash", json!({"command": "mkdir sub && cd sub"})).await;
        let line = "pwd; cd /; exit 3";
        let input = json!({"command": line, "run_in_background": true});
        assert_eq!(
            bench.text("Bash", input).await,
            "Runs in the background as bash-1: read its output with BashOutput, stop it with KillShell."
        );
        let (owner, id) = (AgentPath::root(), ShellId::from_number(1));
        let shell = bench.settings.shells.get(&owner, &id).unwrap();
        let end = shell.wait_end().await;
        assert_eq!(end, ShellState::Exited(CommandExit::Code(3)));
        let mut events = Vec::new();
        bench.queue.drain_ready(&mut events, 10);
        let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
        let started =
            EventKind::BackgroundShellStarted { id: id.clone(), command: line.to_owned() };
        let sub = bench.path("sub");
        let text = format!("{}\n", sub.display());
        let total = text.chars().count() as u64;
        let output = EventKind::BackgroundShellOutput { id: id.clone(), text, total };
        let ended = EventKind::BackgroundShellEnded { id, end: ShellEnd::Code { code: 3 } };
        assert_eq!(kinds, [started, output, ended]);
        let read = bench.text("BashOutput", json!({"bash_id": "bash-1"})).await;
        assert_eq!(read, format!("{}\n[bash-1 ended: exit code 3]", sub.display()));
        let pwd = bench.text("Bash", json!({"command": "pwd"})).await;
        assert_eq!(pwd, sub.to_str().unwrap());
    }

    #[tokio::test]
    async fn the_end_of_what_a_background_command_printed_has_no_keys() {
        let bench = ToolFixture::new();
        bench.settings.redactor.add("sk-0123456789abcdef");
        let line = "echo sk-0123456789abcdef";
        bench.text("Bash", json!({"command": line, "run_in_background": true})).await;
        let id = ShellId::from_number(1);
        bench.settings.shells.get(&AgentPath::root(), &id).unwrap().wait_end().await;
        let mut events = Vec::new();
        bench.queue.drain_ready(&mut events, 10);
        let printed = events.into_iter().find_map(|event| match event.kind {
            EventKind::BackgroundShellOutput { text, .. } => Some(text),
            _ => None,
        });
        let printed = printed.unwrap();
        assert!(!printed.contains("0123456789abcdef") && !printed.is_empty(), "{printed}");
    }

    #[tokio::test]
    async fn a_stopped_turn_leaves_the_main_agents_background_alone() {
        let bench = ToolFixture::new();
        bench.text("Bash", json!({"command": "sleep 1000", "run_in_background": true})).await;
        bench.cancel.cancel();
        let read = bench.text("BashOutput", json!({"bash_id": "bash-1"})).await;
        assert_eq!(read, "(no new output)\n[bash-1 is running]");
        bench.settings.shells.end_all(&AgentPath::root()).await;
        let error = bench.error("BashOutput", json!({"bash_id": "bash-1"})).await;
        assert!(error.starts_with("There is no background command bash-1."), "{error}");
    }

    #[tokio::test]
    async fn bad_input_is_told() {
        let bench = ToolFixture::new();
        let blank = bench.error("Bash", json!({"command": " \n"})).await;
        assert_eq!(blank, "command is blank: give a command to run.");
        let long = bench.error("Bash", json!({"command": "true", "timeout": 600_001})).await;
        assert_eq!(long, "timeout must be between 1 and 600000 milliseconds.");
    }
}
