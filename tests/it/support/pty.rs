//! The real binary on a real pseudo-terminal, with a terminal emulator behind it.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::Signal;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::watched::{TooLate, Watched};
use super::world::World;
use super::{DEADLINE, process, restoration};

pub const ENTER: &str = "\r";
pub const ESC: &str = "\x1b";
/// Escape as terminals with the kitty protocol send it: whatever follows does not become a key with Alt.
pub const ESC_ALONE: &str = "\x1b[27u";
pub const BACKSPACE: &str = "\x7f";
pub const TAB: &str = "\t";
pub const SHIFT_TAB: &str = "\x1b[Z";
pub const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";

pub const CTRL_Z: &str = "\x1a";
pub const UP: &str = "\x1b[A";

/// What a terminal answers to the questions that the program may ask.
const ANSWERS: &[(&[u8], &[u8])] =
    &[(b"\x1b[?u", b"\x1b[?0u"), (b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[6n", b"\x1b[1;1R")];

/// What stands around a frame that terminals show at once.
const FRAME_BEGIN: &[u8] = b"\x1b[?2026h";
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// The program on its screen. Dropping it kills the program.
pub struct Screen {
    state: Watched<Terminal>,
    master: Box<dyn MasterPty + Send>,
    writer: SharedWriter,
    pid: u32,
}

type SharedWriter = Arc<Mutex<Box<dyn Write + Send>>>;

struct Terminal {
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// How much of `raw` is on the screen: a frame is shown when it is whole, as terminals do.
    shown: usize,
    ended: bool,
    /// The exit code, or the signal's name.
    exit: Option<Result<u32, String>>,
    /// Nothing is read from the program for the time being, as over a slow line.
    slow: bool,
}

/// What remains of a program that has ended.
#[derive(Debug)]
pub struct Left {
    pub exit: Result<u32, String>,
    /// What it printed after leaving its own screen.
    pub farewell: String,
    pub raw: Vec<u8>,
}

impl Left {
    /// Fails unless the terminal is as it was before.
    #[track_caller]
    pub fn assert_restored(&self) {
        let problems = restoration::problems(&self.raw);
        let output = String::from_utf8_lossy(&self.raw).replace('\x1b', "␛");
        assert!(problems.is_empty(), "{problems:?}\n{output}");
    }
}

/// The beginning of the hint while a question is too new for keys.
const UNREAD: &str = "answers work";

impl Screen {
    /// Starts the program on a terminal of this size.
    pub fn start<'a>(
        world: &World,
        args: impl IntoIterator<Item = &'a str>,
        cols: u16,
        rows: u16,
    ) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_caliban"));
        command.args(args);
        command.cwd(world.project_dir());
        command.env_clear();
        for (name, value) in world.variables() {
            command.env(name, value);
        }
        Self::run(command, cols, rows)
    }

    /// Starts an interactive shell with job control in the project; `$CALIBAN` names the program.
    pub fn shell(world: &World, cols: u16, rows: u16) -> Self {
        let mut command = CommandBuilder::new("bash");
        command.args(["--norc", "--noprofile", "-i"]);
        command.cwd(world.project_dir());
        command.env_clear();
        for (name, value) in world.variables() {
            command.env(name, value);
        }
        command.env("CALIBAN", env!("CARGO_BIN_EXE_caliban"));
        command.env("PS1", "shell> ");
        Self::run(command, cols, rows)
    }

    fn run(command: CommandBuilder, cols: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(cols, rows)).unwrap();
        let mut child = pair.slave.spawn_command(command).unwrap();
        let pid = child.process_id().unwrap();
        let parser = vt100::Parser::new(cells(rows), cells(cols), 0);
        let terminal =
            Terminal { parser, raw: Vec::new(), shown: 0, ended: false, exit: None, slow: false };
        let state = Watched::new(terminal);
        let reader = pair.master.try_clone_reader().unwrap();
        let writer: SharedWriter = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let (shown, answers) = (state.clone(), Arc::clone(&writer));
        std::thread::spawn(move || pump(reader, &shown, &answers));
        let exited = state.clone();
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            let exit = status.signal().map_or(Ok(status.exit_code()), |name| Err(name.to_owned()));
            exited.update(|terminal| terminal.exit = Some(exit));
        });
        Self { state, master: pair.master, writer, pid }
    }

    /// Types, once a question that has just opened takes keys.
    pub fn keys(&self, keys: &str) {
        let is_read = |terminal: &Terminal| {
            let contents = contents(terminal);
            let mut rows = contents.lines().rev().filter(|row| !row.trim().is_empty());
            (terminal.ended || !rows.by_ref().take(4).any(|row| row.contains(UNREAD))).then_some(())
        };
        let waited = self.state.wait_blocking(is_read);
        assert!(waited.is_ok(), "the question takes no keys:\n{}", self.contents());
        self.keys_at_once(keys);
    }

    /// Types, whatever is on the screen.
    pub fn keys_at_once(&self, keys: &str) {
        write(&self.writer, keys.as_bytes());
    }

    /// Pastes, as a terminal with bracketed paste does.
    pub fn paste(&self, text: &str) {
        self.keys(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Stops reading what the program writes, or goes on.
    pub fn slow(&self, slow: bool) {
        self.state.update(|terminal| terminal.slow = slow);
    }

    pub fn resize(&self, cols: u16, rows: u16) {
        self.state.update(|terminal| terminal.parser.set_size(cells(rows), cells(cols)));
        self.master.resize(size(cols, rows)).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        if self.state.read(|terminal| terminal.exit.is_none()) {
            process::signal(self.pid, signal);
        }
    }

    /// The text on the screen.
    pub fn contents(&self) -> String {
        self.state.read(contents)
    }

    /// One line of the screen, from 0, without the space at its end.
    pub fn row(&self, row: usize) -> String {
        self.contents().lines().nth(row).unwrap_or_default().trim_end().to_owned()
    }

    /// Waits until the terminal's own cursor is there and visible.
    #[track_caller]
    pub fn wait_for_cursor(&self, row: u16, column: u16) {
        let waited = self.state.wait_blocking(|terminal| {
            let screen = terminal.parser.screen();
            let there = !screen.hide_cursor() && screen.cursor_position() == (row, column);
            there.then_some(())
        });
        assert!(waited.is_ok(), "the cursor is not in {row}, {column}:\n{}", self.contents());
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// All bytes that the program has written so far.
    pub fn raw(&self) -> Vec<u8> {
        self.state.read(|terminal| terminal.raw.clone())
    }

    /// What the program writes in this time from now on.
    pub fn written_within(&self, time: Duration) -> Vec<u8> {
        let before = self.state.read(|terminal| terminal.raw.len());
        let more = |terminal: &Terminal| (terminal.raw.len() > before).then_some(());
        let _ = self.state.wait_blocking_for(time, more);
        self.state.read(|terminal| terminal.raw[before..].to_vec())
    }

    /// Waits until the program has written this, be it text or a sequence.
    #[track_caller]
    pub fn wait_written(&self, bytes: &str) {
        let bytes = bytes.as_bytes();
        let has = |terminal: &Terminal| {
            terminal.raw.windows(bytes.len()).any(|window| window == bytes).then_some(())
        };
        if self.state.wait_blocking(has).is_err() {
            panic!("{bytes:?} was never written; the screen:\n{}", self.contents());
        }
    }

    /// Waits until the text is on the screen; answers with the whole screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} to appear"), |contents| contents.contains(text))
    }

    /// Waits until the text is no longer on the screen.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} to vanish"), |contents| !contents.contains(text))
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn wait_until(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let waited = self.state.wait_blocking(|terminal| {
            let contents = contents(terminal);
            let fitting = fits(&contents);
            assert!(fitting || !terminal.ended, "it ended before {what}:\n{contents}");
            fitting.then_some(contents)
        });
        waited.unwrap_or_else(|TooLate| {
            panic!("waited in vain for {what}; the screen:\n{}", self.contents())
        })
    }

    /// Presses Ctrl+D once it quits at once: while a turn goes on, even for the moment between its
    /// last word and its end, one press only asks.
    #[track_caller]
    pub fn quit_when_idle(&self) {
        self.wait_for("Ctrl+D quits");
        self.keys(CTRL_D);
    }

    /// Waits for the program's end, also while nothing is read from it.
    #[track_caller]
    pub fn wait_ended(&self) {
        let ended = self.state.wait_blocking(|terminal| terminal.exit.is_some().then_some(()));
        assert!(ended.is_ok(), "the program did not end");
    }

    /// Waits for the program's end.
    #[track_caller]
    pub fn exit(self) -> Left {
        let waited = self.state.wait_blocking(|terminal| {
            let exit = terminal.exit.clone().filter(|_| terminal.ended)?;
            let farewell = restoration::after_alternate_screen(&terminal.raw);
            Some(Left { exit, farewell, raw: terminal.raw.clone() })
        });
        waited.unwrap_or_else(|TooLate| {
            panic!("the program did not end; the screen:\n{}", self.contents())
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

fn contents(terminal: &Terminal) -> String {
    let screen = terminal.parser.screen();
    let (_, cols) = screen.size();
    let rows: Vec<String> = screen.rows(0, cols.get()).collect();
    rows.join("\n")
}

fn pump(mut reader: Box<dyn Read + Send>, state: &Watched<Terminal>, writer: &SharedWriter) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        // Nobody waits for ever: a test that fails in between takes the terminal down.
        let _ = state.wait_blocking_for(DEADLINE, |terminal| (!terminal.slow).then_some(()));
        let answers = state.update(|terminal| {
            terminal.raw.extend_from_slice(&buffer[..count]);
            terminal.show(false);
            answers(&terminal.raw, count)
        });
        if !answers.is_empty() {
            write(writer, &answers);
        }
    }
    state.update(|terminal| {
        terminal.show(true);
        terminal.ended = true;
    });
}

impl Terminal {
    /// Puts what came in onto the screen, up to a frame that has begun and not ended.
    fn show(&mut self, all: bool) {
        let new = &self.raw[self.shown..];
        let ready = if all { new.len() } else { outside_frames(new) };
        self.parser.process(&new[..ready]);
        self.shown += ready;
    }
}

/// How many of the bytes stand before a frame that is still open, or before what may become the start of one.
fn outside_frames(bytes: &[u8]) -> usize {
    let last = |marker: &[u8]| bytes.windows(marker.len()).rposition(|window| window == marker);
    let open = last(FRAME_BEGIN).filter(|begin| last(FRAME_END).is_none_or(|end| end < *begin));
    let half = (1..FRAME_BEGIN.len()).rev().find(|half| bytes.ends_with(&FRAME_BEGIN[..*half]));
    open.unwrap_or(bytes.len() - half.unwrap_or(0))
}

/// The answers to the questions that end within the last `new` bytes.
fn answers(raw: &[u8], new: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (question, answer) in ANSWERS {
        let start = raw.len().saturating_sub(new + question.len() - 1);
        let asked = raw[start..].windows(question.len()).filter(|window| window == question);
        out.extend(asked.flat_map(|_| answer.iter().copied()));
    }
    out
}

/// The program may have gone already: then nobody reads it.
fn write(writer: &SharedWriter, bytes: &[u8]) {
    let mut writer = writer.lock().unwrap();
    let _ = writer.write_all(bytes).and_then(|()| writer.flush());
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Screen {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", script]);
        Screen::run(command, 40, 5)
    }

    #[test]
    fn keys_go_in_and_the_screen_comes_out() {
        let screen = shell("printf 'name? '; read name; printf '\\033[2;3Hhello %s' $name; exit 7");
        screen.wait_for("name?");
        screen.keys("bob\n");
        screen.wait_until("the greeting", |shown| shown.contains("hello bob"));
        let left = screen.exit();
        assert_eq!(left.exit, Ok(7));
        left.assert_restored();
    }

    #[test]
    fn a_frame_is_shown_when_it_is_whole() {
        let screen =
            shell("printf 'one\\033[?2026h two'; read x; printf ' three\\033[?2026l'; read x");
        screen.wait_for("one");
        assert!(!screen.contents().contains("two"), "{}", screen.contents());
        screen.keys("\n");
        screen.wait_for("two");
        assert!(screen.contents().contains("three"), "{}", screen.contents());
        assert_eq!(outside_frames(b"ab\x1b[?20"), 2);
        assert_eq!(outside_frames(b"ab\x1b[?2026hc"), 2);
        assert_eq!(outside_frames(b"a\x1b[?2026hc\x1b[?2026ld"), 19);
    }

    #[test]
    fn a_new_size_arrives_and_rows_are_the_terminals() {
        let screen = shell("trap 'stty size' WINCH; echo ready; while :; do read x; done");
        screen.wait_for("ready");
        screen.resize(60, 9);
        screen.wait_for("9 60");
        assert_eq!(screen.row(0), "ready");
        screen.signal(Signal::SIGTERM);
        assert!(screen.exit().exit.is_err(), "a signal is no exit code");
    }

    #[test]
    fn questions_to_the_terminal_are_answered() {
        let script =
            "stty raw -echo; printf '\\033[c'; dd bs=1 count=9 2>/dev/null | od -c | head -n 1";
        shell(script).wait_for("6   2");
    }

    #[test]
    #[should_panic(expected = "mode 1049 left on")]
    fn a_terminal_that_is_not_restored_is_noticed() {
        shell("printf '\\033[?1049hx'").exit().assert_restored();
    }

    #[test]
    #[should_panic(expected = "it ended before")]
    fn an_early_end_is_not_waited_out() {
        shell("echo over").wait_for("never");
    }
}
