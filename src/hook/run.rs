//! Running the hooks of one moment, side by side.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::{self, Answer, first_line};
use super::said::{Opinion, Said};
use super::set::{Command, Hook, Runner};
use crate::exec::{Exit, Filter, Filtered, ServiceCommand, StartDirs, bash, child_env};
use crate::protocol::event::{HookOutcome, HookRun};
use crate::protocol::{
    EnvOverlay, EventKind, EventSink, HookEvent, NoticeLevel, PeerRequest, Redactor, SharedPeer,
    ToolUseId,
};

/// How much of each output is read. Bytes.
const KEEP: usize = 256 * 1024;

/// What commands start with.
#[derive(Default)]
pub(super) struct Place {
    /// Commands get these variables without the keys of providers, and those that name the project.
    pub env: EnvOverlay,
    /// Names of further variables that commands must not see.
    pub secrets: Vec<String>,
    pub starts: StartDirs,
    /// Keeps keys out of what is told of a hook.
    pub redactor: Redactor,
}

/// The hooks of one moment, with what they are told.
#[derive(Clone)]
pub(super) struct Round {
    pub event: HookEvent,
    pub hooks: Vec<Arc<Hook>>,
    pub input: Value,
    pub tool_use_id: Option<ToolUseId>,
    pub place: Arc<Place>,
    pub events: EventSink,
}

/// What a command printed, and how it ended.
#[derive(Default)]
struct Output {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
}

impl Output {
    fn of(done: &Filtered) -> Self {
        let exit_code = match done.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::Cancelled | Exit::TimedOut(_) => None,
        };
        let (stdout, stderr) = (done.stdout.text().into_owned(), done.stderr.text().into_owned());
        Self { stdout, stderr, exit_code }
    }
}

/// Why a hook had nothing to say.
enum Silence {
    /// Whoever ran it does not want to know any more.
    Cancelled,
    /// For the person.
    Failed(String),
}

impl Round {
    /// Runs all and waits for all. What goes wrong is told, one line each; `ended` is the line for
    /// a hook that `cancel` ends, if anybody wants to know.
    pub async fn run(&self, cancel: &CancellationToken, ended: Option<&str>) -> Said {
        let mut input = self.input.to_string().into_bytes();
        input.push(b'\n');
        let answers = self.hooks.iter().map(|hook| self.ask(hook, &input, cancel, ended));
        let answers = join_all(answers).await;
        answers.into_iter().flatten().fold(Said::default(), Said::and)
    }

    async fn ask(
        &self,
        hook: &Hook,
        input: &[u8],
        cancel: &CancellationToken,
        ended: Option<&str>,
    ) -> Option<Said> {
        let began = Instant::now();
        let name = hook.describe();
        let run = self.tell_start(&name);
        let mut output = Output::default();
        let answer = match &hook.runner {
            Runner::Command(command) => {
                self.command(hook, command, input, cancel, &mut output).await
            }
            Runner::Callback { id, peer } => self.callback(hook, id, peer, cancel).await,
        };
        if let Some(run) = run {
            self.tell_end(run, &answer, output);
        }
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(hook = name, ms, ok = answer.is_ok(), "a hook has run");
        let tell = |line: &str| {
            let line = self.place.redactor.without_keys(format!("{name}: {line}"));
            self.events.notice(NoticeLevel::Warning, line);
        };
        match answer {
            Ok(Answer { said, lines }) => {
                lines.iter().for_each(|line| tell(line));
                Some(said)
            }
            Err(Silence::Failed(why)) => {
                tell(&why);
                None
            }
            Err(Silence::Cancelled) => {
                ended.into_iter().for_each(tell);
                None
            }
        }
    }

    /// Tells a reader who wants to know that a hook runs now.
    fn tell_start(&self, name: &str) -> Option<HookRun> {
        if !self.events.wants_hooks() {
            return None;
        }
        let (id, name) = (uuid::Uuid::now_v7().to_string(), name.to_owned());
        let run = HookRun { id, name, event: self.event };
        self.events.emit(EventKind::HookStarted(run.clone()));
        Some(run)
    }

    /// The same when it has run.
    fn tell_end(&self, hook: HookRun, answer: &Result<Answer, Silence>, output: Output) {
        let Output { stdout, stderr, exit_code } = output;
        self.events.emit(EventKind::HookFinished {
            hook,
            outcome: match answer {
                Ok(_) => HookOutcome::Success,
                Err(Silence::Failed(_)) => HookOutcome::Error,
                Err(Silence::Cancelled) => HookOutcome::Cancelled,
            },
            stdout: self.place.redactor.without_keys(stdout),
            stderr: self.place.redactor.without_keys(stderr),
            exit_code,
        });
    }

    async fn command(
        &self,
        hook: &Hook,
        command: &Command,
        input: &[u8],
        cancel: &CancellationToken,
        output: &mut Output,
    ) -> Result<Answer, Silence> {
        let Place { env, secrets, starts, .. } = &*self.place;
        let env = child_env(env, self.events.path().depth(), secrets);
        let start = match starts.start(&command.start, &env).await {
            Ok(start) => start,
            Err(error) => {
                let why = format!("there is no empty folder to start it in: {error}");
                return self.not_started(hook, why);
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
        let filter = Filter { command: bash, input, keep: KEEP, limit, cancel };
        let done = filter.run().await;
        start.end().await;
        let done = match done {
            Ok(done) => done,
            Err(error) => return self.not_started(hook, error.to_string()),
        };
        if self.events.wants_hooks() {
            *output = Output::of(&done);
        }
        if done.exit == Exit::Cancelled {
            return Err(Silence::Cancelled);
        }
        let failed = |why: String| match done.exit {
            Exit::Code(code) if code != 0 => {
                Silence::Failed(format!("{why}{}", command.hint().unwrap_or_default()))
            }
            _ => Silence::Failed(why),
        };
        answer::of_command(self.event, &done).map_err(failed)
    }

    /// The answer in place of a hook that could not be run. Before a call it may be a guard, and a
    /// guard that cannot start lets nothing pass.
    fn not_started(&self, hook: &Hook, why: String) -> Result<Answer, Silence> {
        if self.event != HookEvent::PreToolUse {
            return Err(Silence::Failed(why));
        }
        let denied =
            Opinion::Deny { why: format!("{} could not be started: {why}", hook.describe()) };
        let said = Said { opinion: Some(denied), ..Said::default() };
        Ok(Answer { said, lines: vec![why] })
    }

    async fn callback(
        &self,
        hook: &Hook,
        id: &str,
        peer: &SharedPeer,
        cancel: &CancellationToken,
    ) -> Result<Answer, Silence> {
        let request = PeerRequest::HookCallback {
            callback_id: id.to_owned(),
            input: self.input.clone(),
            tool_use_id: self.tool_use_id.clone(),
        };
        let limit = hook.timeout;
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Silence::Cancelled),
            answer = tokio::time::timeout(limit, peer.ask(request)) => answer,
        };
        let late = |_| Silence::Failed(format!("no answer within {limit:?}"));
        let failed =
            |error: crate::protocol::PeerError| Silence::Failed(first_line(&error.to_string()));
        match answer.map_err(late)?.map_err(failed)? {
            Value::Null => Ok(Answer::default()),
            json => answer::of_json(self.event, json).map_err(Silence::Failed),
        }
    }
}
