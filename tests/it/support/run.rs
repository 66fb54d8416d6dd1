//! Runs the real binary without a terminal, and looks at what it prints while it runs.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::process;
use super::watched::Watched;
use super::world::World;

/// A run that is being prepared.
#[derive(Debug)]
pub struct Run<'a> {
    world: &'a World,
    args: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Input,
    /// Its working directory, when that is not the project.
    folder: Option<PathBuf>,
    /// The largest file that it may write, in kilobytes.
    file_limit: Option<u32>,
    /// The program as another user finds it, and the words that start it as that user.
    user: Option<(PathBuf, Vec<String>)>,
}

#[derive(Debug)]
enum Input {
    Empty,
    Bytes(Vec<u8>),
    /// The test writes to it while the program runs.
    Open,
}

/// A run that goes on. Dropping it kills the process.
#[derive(Debug)]
pub struct Running {
    pid: u32,
    stdin: Option<ChildStdin>,
    output: Watched<Output>,
    started: Instant,
}

#[derive(Debug, Default)]
struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// How many of the two streams have ended.
    ended: u8,
    exit: Option<ExitStatus>,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Absent when a signal killed it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// Arguments of a run that reads prompts from stdin, each a turn, and allows every call.
pub const PROMPTS: [&str; 6] = [
    "-p",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--dangerously-skip-permissions",
];

impl<'a> Run<'a> {
    pub fn new<'b>(world: &'a World, args: impl IntoIterator<Item = &'b str>) -> Self {
        let args = args.into_iter().map(str::to_owned).collect();
        let (env, stdin) = (Vec::new(), Input::Empty);
        Self { world, args, env, stdin, folder: None, file_limit: None, user: None }
    }

    /// More arguments.
    pub fn args<'b>(mut self, args: impl IntoIterator<Item = &'b str>) -> Self {
        self.args.extend(args.into_iter().map(str::to_owned));
        self
    }

    /// A variable for this run alone.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts in this folder.
    pub fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// All of stdin.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Input::Bytes(text.into());
        self
    }

    /// Stdin stays open for [`Running::send`].
    pub fn open_stdin(mut self) -> Self {
        self.stdin = Input::Open;
        self
    }

    /// No file can grow beyond so many kilobytes: what a full disk looks like to a program.
    pub fn file_limit(mut self, kilobytes: u32) -> Self {
        self.file_limit = Some(kilobytes);
        self
    }

    /// A run by an ordinary user, whom the world then belongs to: root may look where others may
    /// not. Under an ordinary user it is a run as any. `None` where no other user can be had.
    pub fn by_ordinary_user(mut self) -> Option<Self> {
        if !std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            return Some(self);
        }
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let words: Vec<_> = words.map(str::to_owned).into();
        let works = Command::new(&words[0]).args(&words[1..]).arg("true").status();
        if !works.is_ok_and(|status| status.success()) {
            return None;
        }
        // The folder of the build may be closed to others.
        let program = self.world.root().join("caliban");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_caliban"), &program).unwrap();
        }
        let all = Command::new("chown").args(["-R", "65534:65534"]).arg(self.world.root()).status();
        assert!(all.unwrap().success());
        self.user = Some((program, words));
        Some(self)
    }

    /// Runs to the end.
    pub async fn finish(self) -> Finished {
        self.start().wait().await
    }

    pub fn start(self) -> Running {
        let mut command = match self.file_limit {
            None if let Some((program, words)) = &self.user => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).arg(program);
                command
            }
            None => Command::new(env!("CARGO_BIN_EXE_caliban")),
            Some(kilobytes) => {
                // An ignored signal stays ignored, so that the write fails rather than the program dies.
                let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
                let mut shell = Command::new("bash");
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_caliban")]);
                shell
            }
        };
        let folder = self.folder.unwrap_or_else(|| self.world.project_dir());
        command.args(&self.args).current_dir(folder).env_clear();
        command.envs(self.world.variables().iter().cloned()).envs(self.env);
        let piped = !matches!(self.stdin, Input::Empty);
        command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take();
        if let Input::Bytes(bytes) = self.stdin {
            let mut pipe = stdin.take().unwrap();
            // The program may end without reading all of it.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        Running::watch(child, stdin)
    }
}

impl Running {
    fn watch(mut child: Child, stdin: Option<ChildStdin>) -> Self {
        let output = Watched::new(Output::default());
        let pid = child.id();
        pump(child.stdout.take().unwrap(), output.clone(), |output| &mut output.stdout);
        pump(child.stderr.take().unwrap(), output.clone(), |output| &mut output.stderr);
        let exited = output.clone();
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            exited.update(|output| output.exit = Some(status));
        });
        Self { pid, stdin, output, started: Instant::now() }
    }

    /// Writes a line to the open stdin.
    pub fn send(&mut self, line: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a prompt, and waits for the end of its turn, which is the one of this number.
    pub async fn turn(&mut self, prompt: &str, number: usize) {
        let message = json!({"role": "user", "content": prompt});
        self.send(&json!({"type": "user", "message": message}));
        self.printed("\"type\":\"result\"", number).await;
    }

    /// Waits until so many lines of stdout have this text.
    pub async fn printed(&self, text: &str, count: usize) {
        let enough = |output: &Output| {
            let stdout = String::from_utf8_lossy(&output.stdout);
            (stdout.lines().filter(|line| line.contains(text)).count() >= count).then_some(())
        };
        if self.output.wait(enough).await.is_err() {
            panic!("waited in vain for {count} lines with {text}\n{}", self.story());
        }
    }

    /// Waits for a whole line of stdout, counted from 0.
    pub async fn line(&self, at: usize) -> String {
        let line = |output: &Output| {
            let mut lines = output.stdout.split_inclusive(|&byte| byte == b'\n');
            let line = lines.nth(at)?.strip_suffix(b"\n")?;
            Some(String::from_utf8_lossy(line).into_owned())
        };
        match self.output.wait(line).await {
            Ok(line) => line,
            Err(_) => panic!("waited in vain for line {at}\n{}", self.story()),
        }
    }

    /// Ends the open stdin, then waits for the end of the program.
    pub async fn close(mut self) -> Finished {
        self.stdin = None;
        self.wait().await
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn signal(&self, signal: Signal) {
        if self.output.read(|output| output.exit.is_none()) {
            process::signal(self.pid, signal);
        }
    }

    /// Waits for the end; kills the process when it takes too long.
    pub async fn wait(self) -> Finished {
        let end = |output: &Output| output.exit.filter(|_| output.ended == 2);
        let Ok(status) = self.output.wait(end).await else {
            self.signal(Signal::SIGKILL);
            panic!("the program did not end\n{}", self.story());
        };
        self.output.read(|output| Finished {
            code: status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            took: self.started.elapsed(),
        })
    }

    fn story(&self) -> String {
        self.output.read(|output| {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("exit: {:?}\nstdout:\n{stdout}\nstderr:\n{stderr}", output.exit)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

impl Finished {
    /// Fails with all output unless the exit code is this one.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The lines of stdout, each a JSON object.
    #[track_caller]
    pub fn frames(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("not a frame ({error}): {line:?}\n{self}"))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The last frame, which is the result.
    #[track_caller]
    pub fn result(&self) -> Value {
        let last = self.frames().pop().unwrap_or_else(|| panic!("no frames\n{self}"));
        assert_eq!(last["type"], "result", "the last frame is the result\n{self}");
        last
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit: {:?}\nstdout:\n{}\nstderr:\n{}", self.code, self.stdout, self.stderr)
    }
}

fn pump(
    mut pipe: impl Read + Send + 'static,
    output: Watched<Output>,
    stream: impl Fn(&mut Output) -> &mut Vec<u8> + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            output.update(|output| stream(output).extend_from_slice(&buffer[..count]));
        }
        output.update(|output| output.ended += 1);
    });
}
