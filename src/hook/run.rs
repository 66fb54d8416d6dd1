//! Runs the hooks of one event concurrently.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::{self, HookAnswer, first_line};
use super::entry::{Hook, HookCommand, HookRunner};
use super::output::{HookOutput, PermissionDecision};
use crate::exec::{
    CommandExit, FilterCommand, FilterOutput, ServiceCommand, StartDirs, bash, child_env,
};
use crate::protocol::{
    EnvOverlay, EventKind, EventSink, HookEvent, HookOutcome, HookRunInfo, NoticeLevel, PeerError,
    PeerRequest, Redactor, SharedPeer, ToolUseId, clip_chars, seconds,
};

/// The maximum number of bytes read from each output.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// The maximum number of characters of a hook's name before what it says.
const MAX_NAME_CHARS: usize = 60;

/// The exit codes with which a shell says that it could not start a program.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The environment that commands start with.
#[derive(Default)]
pub(super) struct HookEnv {
    /// Commands get these variables without the keys of providers, and those that name the project.
    pub env: EnvOverlay,
    /// Names of further variables that commands must not see.
    pub secrets: Vec<String>,
    pub starts: StartDirs,
    /// Masks keys in messages about hooks.
    pub redactor: Redactor,
}

/// The hooks of one event, with their input.
#[derive(Clone)]
pub(super) struct HookRun {
    pub event: HookEvent,
    pub hooks: Vec<Arc<Hook>>,
    pub input: Value,
    pub tool_use_id: Option<ToolUseId>,
    pub env: Arc<HookEnv>,
    pub events: EventSink,
}

/// A command's output and exit code.
#[derive(Default)]
struct CommandOutput {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
}

impl CommandOutput {
    fn new(done: &FilterOutput) -> Self {
        let exit_code = match done.exit {
            CommandExit::Code(code) => Some(code),
            CommandExit::Signal(_) | CommandExit::Cancelled | CommandExit::TimedOut(_) => None,
        };
        let (stdout, stderr) = (done.stdout.text().into_owned(), done.stderr.text().into_owned());
        Self { stdout, stderr, exit_code }
    }
}

/// The reason why a hook gave no answer.
enum HookFailure {
    /// The caller no longer needs the answer.
    Cancelled,
    /// For the user.
    Failed(String),
}

impl HookRun {
    /// Runs all hooks and waits for them. Reports each failure in one line; `ended` is the line for
    /// a hook that `cancel` kills, if that is to be reported.
    pub async fn run(&self, cancel: &CancellationToken, ended: Option<&str>) -> HookOutput {
        let mut input = self.input.to_string().into_bytes();
        input.push(b'\n');
        let answers = self.hooks.iter().map(|hook| self.run_hook(hook, &input, cancel, ended));
        let answers = join_all(answers).await;
        answers.into_iter().flatten().fold(HookOutput::default(), HookOutput::merge)
    }

    async fn run_hook(
        &self,
        hook: &Hook,
        input: &[u8],
        cancel: &CancellationToken,
        ended: Option<&str>,
    ) -> Option<HookOutput> {
        let began = Instant::now();
        let name = hook.describe();
        let run = self.emit_started(&name);
        let mut output = CommandOutput::default();
        let answer = match &hook.runner {
            HookRunner::Command(command) => {
                self.run_command(hook, command, input, cancel, &mut output).await
            }
            HookRunner::Callback { id, peer } => self.run_callback(hook, id, peer, cancel).await,
        };
        if let Some(run) = run {
            self.emit_finished(run, &answer, output);
        }
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(hook = name, ms, ok = answer.is_ok(), "a hook has run");
        let tell_as = |name: &str, line: &str| {
            let line = self.env.redactor.without_keys(format!("{name}: {line}"));
            self.events.notice(NoticeLevel::Warning, line);
        };
        let tell = |line: &str| tell_as(&name, line);
        match answer {
            Ok(HookAnswer { output: said, lines }) => {
                // What it says counts, not how it is started.
                let short = clip_chars(&name, MAX_NAME_CHARS);
                lines.iter().for_each(|line| tell_as(&short, line));
                Some(said)
            }
            Err(HookFailure::Failed(why)) => {
                tell(&why);
                None
            }
            Err(HookFailure::Cancelled) => {
                ended.into_iter().for_each(tell);
                None
            }
        }
    }

    /// Emits the start of a hook, if the reader wants these events.
    fn emit_started(&self, name: &str) -> Option<HookRunInfo> {
        if !self.events.wants_hooks() {
            return None;
        }
        let (id, name) = (uuid::Uuid::now_v7().to_string(), name.to_owned());
        let run = HookRunInfo { id, name, event: self.event };
        self.events.emit(EventKind::HookStarted(run.clone()));
        Some(run)
    }

    /// Emits the end of a hook.
    fn emit_finished(
        &self,
        hook: HookRunInfo,
        answer: &Result<HookAnswer, HookFailure>,
        output: CommandOutput,
    ) {
        let CommandOutput { stdout, stderr, exit_code } = output;
        self.events.emit(EventKind::HookFinished {
            hook,
            outcome: match answer {
                Ok(_) if output.exit_code.is_some_and(|code| start_advice(code).is_some()) => {
                    HookOutcome::Error
                }
                Ok(_) => HookOutcome::Success,
                Err(HookFailure::Failed(_)) => HookOutcome::Error,
                Err(HookFailure::Cancelled) => HookOutcome::Cancelled,
            },
            stdout: self.env.redactor.without_keys(stdout),
            stderr: self.env.redactor.without_keys(stderr),
            exit_code,
        });
    }

    async fn run_command(
        &self,
        hook: &Hook,
        command: &HookCommand,
        input: &[u8],
        cancel: &CancellationToken,
        output: &mut CommandOutput,
    ) -> Result<HookAnswer, HookFailure> {
        let HookEnv { env, secrets, starts, .. } = &*self.env;
        let env = child_env(env, self.events.path().depth(), secrets);
        let start = match starts.start(&command.start, &env).await {
            Ok(start) => start,
            Err(error) => {
                let why = format!("cannot create an empty folder to start it in: {error}");
                return self.start_failed(hook, why);
            }
        };
        let args = ["-c", &command.line].map(OsString::from);
        let program = bash(&start.env);
        let bash = ServiceCommand {
            program: program.as_deref().and_then(Path::to_str).unwrap_or("/bin/bash"),
            args: &args,
            cwd: &start.cwd,
            env: &start.env,
            confinement: None,
            supervisor: starts.supervisor(),
        };
        let limit = Some(hook.timeout);
        let filter = FilterCommand { command: bash, input, keep: MAX_OUTPUT_BYTES, limit, cancel };
        let done = filter.run().await;
        start.end().await;
        let done = match done {
            Ok(done) => done,
            Err(error) => return self.start_failed(hook, error.to_string()),
        };
        if self.events.wants_hooks() {
            *output = CommandOutput::new(&done);
        }
        if done.exit == CommandExit::Cancelled {
            return Err(HookFailure::Cancelled);
        }
        let has_started = !matches!(done.exit, CommandExit::Code(NOT_EXECUTABLE | NOT_FOUND));
        let failed = |why: String| {
            let CommandExit::Code(code @ 1..) = done.exit else { return why };
            let hint = command.hint().filter(|_| !has_started || misses_file(&why));
            let advice = start_advice(code);
            format!("{why}{}{}", advice.unwrap_or_default(), hint.unwrap_or_default())
        };
        match answer::from_exit(self.event, &done, &self.input) {
            Err(why) if !has_started => self.start_failed(hook, failed(why)),
            answer => answer.map_err(|why| HookFailure::Failed(failed(why))),
        }
    }

    /// The answer for a hook that could not be started. Before a call it denies: the hook may be a guard.
    fn start_failed(&self, hook: &Hook, why: String) -> Result<HookAnswer, HookFailure> {
        if self.event != HookEvent::PreToolUse {
            return Err(HookFailure::Failed(why));
        }
        let denied = PermissionDecision::Deny {
            why: format!("{} could not be started: {why}", hook.describe()),
        };
        let said = HookOutput { decision: Some(denied), ..HookOutput::default() };
        Ok(HookAnswer { output: said, lines: vec![why] })
    }

    async fn run_callback(
        &self,
        hook: &Hook,
        id: &str,
        peer: &SharedPeer,
        cancel: &CancellationToken,
    ) -> Result<HookAnswer, HookFailure> {
        let request = PeerRequest::HookCallback {
            callback_id: id.to_owned(),
            input: self.input.clone(),
            tool_use_id: self.tool_use_id.clone(),
        };
        let limit = hook.timeout;
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(HookFailure::Cancelled),
            answer = tokio::time::timeout(limit, peer.ask(request)) => answer,
        };
        let late = |_| HookFailure::Failed(format!("no answer within {}", seconds(limit)));
        let read = match answer.map_err(late)? {
            Ok(Value::Null) => Ok(HookAnswer::default()),
            Ok(json) => answer::from_json(self.event, json),
            Err(PeerError::Unread(why)) => answer::unread(self.event, first_line(&why)),
            Err(error) => Err(first_line(&error.to_string())),
        };
        read.map_err(HookFailure::Failed)
    }
}

/// Whether a failed hook says that it has not found something, as in the wrong folder.
fn misses_file(why: &str) -> bool {
    let signs = ["No such file", "not found", "cannot find", "Cannot find", "not a git repository"];
    signs.iter().any(|sign| why.contains(sign))
}

/// Advice for an exit code of the shell that means that the program could not be started.
fn start_advice(code: i32) -> Option<&'static str> {
    match code {
        NOT_EXECUTABLE => Some("; make the program executable, with an interpreter that is there"),
        NOT_FOUND => Some("; install the program, or name it by its full path"),
        _ => None,
    }
}
