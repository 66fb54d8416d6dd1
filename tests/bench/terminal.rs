//! The program on a pseudo-terminal: keys in, bytes out, each with the time it came.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::model::PATIENCE;
use super::workspace::{Workspace, program};

/// What ends a frame.
pub const FRAME_END: &[u8] = b"\x1b[?2026l";

/// A letter for each key whose echo is measured: none of them is on the screen otherwise.
const LETTERS: std::ops::RangeInclusive<char> = 'Б'..='џ';

/// The program on its screen. Dropping it kills the program.
pub struct Terminal {
    output: Arc<Output>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    _master: Box<dyn MasterPty + Send>,
    /// When the program was started.
    pub start: Instant,
}

#[derive(Default)]
struct Output {
    bytes: Mutex<(Vec<u8>, Option<Instant>)>,
    more: Condvar,
}

impl Terminal {
    /// Starts the program on a terminal of 160 columns and 45 lines.
    pub fn start(workspace: &Workspace, args: &[&str]) -> Self {
        let mut command = CommandBuilder::new(program());
        command.args(args);
        command.cwd(workspace.project());
        command.env_clear();
        for (name, value) in workspace.env() {
            command.env(name, value);
        }
        Self::run(command)
    }

    /// Starts any command on such a terminal.
    pub fn run(command: CommandBuilder) -> Self {
        let size = PtySize { rows: 45, cols: 160, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let writer = pair.master.take_writer().expect("its input");
        let output = Arc::<Output>::default();
        let sink = output.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let mut bytes = sink.bytes.lock();
                bytes.0.extend_from_slice(&buffer[..count]);
                bytes.1 = Some(Instant::now());
                sink.more.notify_all();
            }
        });
        let start = Instant::now();
        let child = pair.slave.spawn_command(command).expect("the program starts");
        Self { output, child, writer, _master: pair.master, start }
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// How many bytes the program has written.
    pub fn written(&self) -> usize {
        self.output.bytes.lock().0.len()
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).and_then(|()| self.writer.flush()).expect("a key");
    }

    /// Waits until the text is written, and returns when it came. Looks at what is written from
    /// byte `from` on.
    pub fn wait_for(&self, needle: &[u8], from: usize) -> Instant {
        let end = Instant::now() + PATIENCE;
        let mut bytes = self.output.bytes.lock();
        let mut looked = from;
        loop {
            let found = bytes.0[looked..].windows(needle.len()).any(|window| window == needle);
            if let Some(at) = bytes.1.filter(|_| found) {
                return at;
            }
            looked = bytes.0.len().saturating_sub(needle.len() - 1).max(from);
            let late = self.output.more.wait_until(&mut bytes, end).timed_out();
            let needle = String::from_utf8_lossy(needle);
            assert!(!late, "waited in vain for {needle:?}:\n{}", tail(&bytes.0));
        }
    }

    /// Waits until nothing is written for this long.
    pub fn wait_for_silence(&self, silence: Duration) {
        let end = Instant::now() + PATIENCE;
        let mut bytes = self.output.bytes.lock();
        while !self.output.more.wait_for(&mut bytes, silence).timed_out() {
            assert!(Instant::now() < end, "the screen does not come to rest");
        }
    }

    /// Types letters at uneven distances, and returns how long each took to appear, in milliseconds.
    pub fn echoes(&mut self, count: usize) -> Vec<f64> {
        let letters: Vec<char> = LETTERS.collect();
        (0..count)
            .map(|index| {
                std::thread::sleep(Duration::from_millis(fastrand::u64(23..71)));
                let letter = letters[index % letters.len()].to_string();
                let from = self.written();
                let start = Instant::now();
                self.keys(&letter);
                let shown = self.wait_for(letter.as_bytes(), from);
                shown.saturating_duration_since(start).as_secs_f64() * 1e3
            })
            .collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(bytes: &[u8]) -> String {
    let start = bytes.len().saturating_sub(2000);
    String::from_utf8_lossy(&bytes[start..]).replace('\x1b', "␛")
}
