//! Servers that are programs of ours.

use std::ffi::OsString;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{ChildStdin, ChildStdout};

use super::reader::{MAX_LINE, Printed, Reader, Unreadable};
use super::session::Means;
use crate::exec::{PrivateDir, Service, ServiceCommand, child_env};
use crate::protocol::{DEPTH_VARIABLE, EnvOverlay, McpTransport, StartDir};

/// How long the end of a program is waited for that has closed its output.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// How it speaks with us.
pub type Pipes = AsyncRwTransport<RoleClient, Reader<ChildStdout>, ChildStdin>;

/// The program, and what is known of it when it fails.
pub struct Program {
    service: Service,
    first: Printed,
    unreadable: Unreadable,
    command: String,
    /// Where it works, unless that is a folder of the project; removed after its end.
    _private: Option<PrivateDir>,
}

impl Program {
    /// Starts it in `start`, with the environment of the agent that is `depth` below the main
    /// agent, without the keys of providers, and with the server's own variables. What it prints
    /// first is kept in `first` too. `None` when it is no program at all.
    pub fn start(
        transport: &McpTransport,
        start: &StartDir,
        env: &EnvOverlay,
        depth: u32,
        means: &Means,
        first: &Printed,
    ) -> Result<Option<(Self, Pipes)>, String> {
        let McpTransport::Stdio { command, args, env: own } = transport else { return Ok(None) };
        let env = child_env(env, depth, &means.secrets);
        let place = means
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
            supervisor: means.starts.supervisor(),
        };
        let (service, stdin, stdout) = Service::start(start)
            .map_err(|error| format!("{command} could not be started: {error}"))?;
        let first = first.clone();
        let (reader, unreadable) = Reader::new(stdout, first.clone());
        let pipes = AsyncRwTransport::new_client(reader, stdin).with_max_line_length(MAX_LINE);
        let command = command.clone();
        Ok(Some((Self { service, first, unreadable, command, _private: place.private }, pipes)))
    }

    /// Tells of output that cannot be read as messages.
    pub fn unreadable(&self) -> Unreadable {
        self.unreadable.clone()
    }

    /// Waits until it has ended by itself. Safe to drop at any point.
    pub async fn ended(&mut self) {
        // One that cannot be waited for is gone.
        let _ = self.service.ended().await;
    }

    /// Why it is of no use: how it ended, and what it said last.
    pub async fn obituary(&mut self) -> String {
        let exit = tokio::time::timeout(EXIT_WAIT, self.service.ended()).await;
        let exit = match exit {
            Ok(Ok(status)) => match status.code() {
                // What the shell says that could not start it.
                Some(126 | 127) => return format!("there is no program {}", self.command),
                Some(code) => format!("it ended with exit code {code}"),
                None => "it was killed".to_owned(),
            },
            Ok(Err(_)) | Err(_) => "it closed its output".to_owned(),
        };
        self.service.heard().await;
        self.with_words(exit)
    }

    /// The same with what it has said.
    pub fn with_words(&self, mut why: String) -> String {
        if let Some(complaint) = self.first.complaint() {
            why.push_str(&format!("; {complaint}"));
        }
        let words = self.service.last_words();
        if !words.is_empty() {
            why.push_str(&format!("; it said: {words}"));
        }
        why
    }

    /// To be called before its input is closed, which may make it leave what it has started.
    pub fn look_below(&mut self) {
        self.service.look_below();
    }

    /// Ends it with all that it started. Its input must be closed by now, or it is only told later.
    pub async fn end(self) {
        self.service.end().await;
    }
}
