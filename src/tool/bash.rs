//! `Bash`: runs a shell command.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{InvalidInput, SoftKind, ToolContext, ToolError, ToolOutcome, ToolSpec, TypedTool};
use crate::exec::{Confinement, Exit, Shell, ShellCall, ShellOutcome};
use crate::protocol::{Access, ResultBlock, ToolDetails};

const DEFAULT_MS: u64 = 120_000;
const MAX_MS: u64 = 600_000;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::of::<Input>(
        "Bash",
        "Runs a bash command. The working directory is kept between calls, variables are not. No stdin. Background processes end with the command.",
    )
});

/// The tool, with the shell of one agent.
#[derive(Debug)]
pub struct Bash {
    shell: Shell,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    command: String,
    /// ms; default 120000, at most 600000
    timeout: Option<u64>,
    // Models like to say what a command is for; the screen shows the command itself.
    #[serde(rename = "description")]
    #[schemars(skip)]
    _description: Option<String>,
}

impl Bash {
    /// A shell that begins in `base`; `secrets` are variables that commands must not see.
    #[must_use]
    pub fn new(base: Arc<Path>, secrets: Arc<[String]>) -> Self {
        Self { shell: Shell::new(base, secrets) }
    }

    /// The tool, its commands able to write only there.
    #[must_use]
    pub fn confined(self, confine: Confinement) -> Self {
        Self { shell: self.shell.confined(confine) }
    }
}

#[async_trait]
impl TypedTool for Bash {
    type Input = Input;

    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn summary(&self, input: &Input) -> String {
        let mut lines = input.command.trim().lines();
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
    }

    fn access(&self, input: &Input, _cwd: &Path) -> Access {
        Access::Command { line: input.command.clone(), cwd: self.shell.cwd() }
    }

    fn check(&self, input: &Input) -> Result<(), InvalidInput> {
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
        Ok(())
    }

    /// The command has a limit of its own.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    async fn run(&self, input: Input, cx: ToolContext) -> Result<ToolOutcome, ToolError> {
        let call = ShellCall {
            line: &input.command,
            env: &cx.env,
            depth: cx.depth,
            limit: Some(Duration::from_millis(input.timeout.unwrap_or(DEFAULT_MS))),
            cancel: &cx.cancel,
        };
        let outcome = Box::pin(self.shell.run(call, |text| cx.progress(text)))
            .await
            .map_err(|error| ToolError::failed(error.to_string()))?;
        match outcome.exit {
            Exit::Cancelled => Err(ToolError::soft(SoftKind::Cancelled, outcome.report())),
            Exit::TimedOut(_) => Err(ToolError::soft(SoftKind::Timeout, outcome.report())),
            Exit::Code(_) | Exit::Signal(_) => Ok(finished(&outcome)),
        }
    }
}

fn finished(outcome: &ShellOutcome) -> ToolOutcome {
    let exit_code = match outcome.exit {
        Exit::Code(code) => Some(code),
        _ => None,
    };
    let summary = outcome.exit.words().unwrap_or_else(|| match outcome.output.lines {
        0 => "no output".to_owned(),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    });
    ToolOutcome {
        content: vec![ResultBlock::text(outcome.report())],
        is_error: exit_code != Some(0),
        summary,
        details: Some(ToolDetails::Command { exit_code, cwd: outcome.cwd.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Bench, text};
    use super::*;
    use crate::protocol::EventKind;

    #[tokio::test]
    async fn a_command_reports_its_output_and_its_end() {
        let bench = Bench::new();
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
        let bench = Bench::new();
        bench.text("Bash", json!({"command": "printf '\\033[31mred\\033[0m\\r\\n'"})).await;
        let mut events = Vec::new();
        bench.queue.drain_ready(&mut events, 10);
        let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
        let id = bench.context().tool_use_id;
        assert_eq!(kinds, [EventKind::ToolProgress { id, text: "red\n".to_owned() }]);
    }

    #[tokio::test]
    async fn the_directory_is_the_agents_own() {
        let mut bench = Bench::new();
        bench.text("Bash", json!({"command": "mkdir sub && cd sub"})).await;
        let input = json!({"command": "pwd"});
        let access = bench.tool("Bash").access(&input, &bench.base);
        assert_eq!(access, Access::Command { line: "pwd".to_owned(), cwd: bench.path("sub") });
        assert_eq!(bench.text("Bash", input.clone()).await, bench.path("sub").to_str().unwrap());
        bench.next_agent();
        assert_eq!(bench.text("Bash", input).await, bench.base.to_str().unwrap());
    }

    #[tokio::test]
    async fn a_timeout_and_a_cancel_keep_what_was_printed() {
        let bench = Bench::new();
        let late = json!({"command": "echo part; sleep 1000", "timeout": 1500});
        let message = "part\n[timed out after 1.5s, all its processes ended]";
        let error = bench.call("Bash", late).await.unwrap_err();
        assert_eq!(error, ToolError::soft(SoftKind::Timeout, message));
        bench.cancel.cancel();
        let error = bench.call("Bash", json!({"command": "sleep 1000"})).await.unwrap_err();
        let ToolError::Soft { kind, message } = error else { panic!("{error:?}") };
        assert_eq!(kind, SoftKind::Cancelled);
        assert!(message.starts_with("[cancelled after"), "{message}");
    }

    #[tokio::test]
    async fn bad_input_is_told() {
        let bench = Bench::new();
        let blank = bench.error("Bash", json!({"command": " \n"})).await;
        assert_eq!(blank, "command is blank: give a command to run.");
        let long = bench.error("Bash", json!({"command": "true", "timeout": 600_001})).await;
        assert_eq!(long, "timeout must be between 1 and 600000 milliseconds.");
    }
}
