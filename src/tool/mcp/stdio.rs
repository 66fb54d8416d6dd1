//! Servers that run as our own child processes.

use std::ffi::OsString;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{ChildStdin, ChildStdout};

use super::deps::ServerDeps;
use super::reader::{BadLines, FirstOutput, LineReader, MAX_LINE};
use crate::exec::{PrivateDir, Service, ServiceCommand, child_env};
use crate::protocol::{DEPTH_VARIABLE, EnvOverlay, McpTransport, StartDir};

/// How long to wait for the end of a program that has closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// The transport over its standard streams.
pub type ServerPipes = AsyncRwTransport<RoleClient, LineReader<ChildStdout>, ChildStdin>;

/// The process, with everything known about it when it fails.
pub struct ServerProcess {
    service: Service,
    first: FirstOutput,
    unreadable: BadLines,
    command: String,
    /// Its working directory, unless that is a folder of the project; removed after its end.
    _private: Option<PrivateDir>,
}

impl ServerProcess {
    /// Starts it in `start`, with the environment of the agent that is `depth` below the main
    /// agent, without provider keys, and with the server's own variables. Its first output is kept
    /// in `first` too. `None` if the transport is not a program.
    pub fn start(
        transport: &McpTransport,
        start: &StartDir,
        env: &EnvOverlay,
        depth: u32,
        deps: &ServerDeps,
        first: &FirstOutput,
    ) -> Result<Option<(Self, ServerPipes)>, String> {
        let McpTransport::Stdio { command, args, env: own } = transport else { return Ok(None) };
        let env = child_env(env, depth, &deps.secrets);
        let place = deps
            .starts
            .prepare(start, &env)
            .map_err(|error| format!("there is no empty folder to start {command} in: {error}"))?;
        // A server's own variables do not lower its depth.
        let depth = env.get_os(DEPTH_VARIABLE).map(|depth| (DEPTH_VARIABLE, depth.to_owned()));
        let env = place.env.with(own.iter()).with(depth);
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let start = ServiceCommand {
            program: command,
            args: &args,
            cwd: &place.cwd,
            env: &env,
            confinement: None,
            supervisor: deps.starts.supervisor(),
        };
        let (service, stdin, stdout) = Service::start(start)
            .map_err(|error| format!("{command} could not be started: {error}"))?;
        let first = first.clone();
        let (reader, unreadable) = LineReader::new(stdout, first.clone());
        let pipes = AsyncRwTransport::new_client(reader, stdin).with_max_line_length(MAX_LINE);
        let command = command.clone();
        Ok(Some((Self { service, first, unreadable, command, _private: place.private }, pipes)))
    }

    /// Returns a reporter of output that cannot be read as messages.
    pub fn unreadable(&self) -> BadLines {
        self.unreadable.clone()
    }

    /// Waits until it has ended by itself. Safe to drop at any point.
    pub async fn ended(&mut self) {
        // If it cannot be waited for, it is gone.
        let _ = self.service.ended().await;
    }

    /// Returns why it failed: how it ended, and the end of its stderr.
    pub async fn exit_reason(&mut self) -> String {
        let exit = tokio::time::timeout(EXIT_WAIT, self.service.ended()).await;
        let exit = match exit {
            Ok(Ok(status)) => match status.code() {
                // The shell's exit codes for a program that it could not start.
                Some(126 | 127) => return format!("program not found: {}", self.command),
                Some(code) => format!("it ended with exit code {code}"),
                None => "it was killed".to_owned(),
            },
            Ok(Err(_)) | Err(_) => "it closed its output".to_owned(),
        };
        self.service.drain_stderr().await;
        self.with_stderr(exit)
    }

    /// Appends its last output to `why`.
    pub fn with_stderr(&self, mut why: String) -> String {
        if let Some(complaint) = self.first.complaint() {
            why.push_str(&format!("; {complaint}"));
        }
        let words = self.service.stderr_tail();
        if !words.is_empty() {
            why.push_str(&format!("; it said: {words}"));
        }
        why
    }

    /// To be called before its input is closed, which may make it leave its children behind.
    pub fn scan_descendants(&mut self) {
        self.service.scan_descendants();
    }

    /// Ends it with everything it started. Its input must be closed by now, or it gets the signal only later.
    pub async fn end(self) {
        self.service.end().await;
    }
}
