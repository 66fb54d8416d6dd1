//! The panic hook, which gives the terminal back.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::thread::{self, ThreadId};

use crate::protocol::printable;

use super::output::TerminalOutput;

/// Installs a panic hook. A panic on the screen's thread restores the terminal before printing the
/// message. A panic on another thread is a failed task, which its owner reports; printing it would
/// garble the screen.
pub(super) fn install(output: TerminalOutput, log: Option<PathBuf>) {
    let charset = output.sink().modes.charset;
    let previous = std::panic::take_hook();
    let owner = thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        let (message, location) = describe(panic);
        tracing::error!(message, place = location, "panic");
        match on_panic(&output, owner) {
            PanicPlace::NoScreen => previous(panic),
            PanicPlace::OtherThread => {}
            PanicPlace::Screen => {
                let mut text =
                    format!("caliban crashed because of a bug: {message} ({location})\n");
                if let Some(log) = &log {
                    text.push_str(&format!("Please report it with the end of {}\n", log.display()));
                }
                let _ = io::stderr().write_all(charset.encode(&printable(&text)).as_bytes());
            }
        }
    }));
}

/// Where a panic happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PanicPlace {
    Screen,
    OtherThread,
    NoScreen,
}

/// Restores the terminal if the panic is on the screen's own thread.
pub(super) fn on_panic(output: &TerminalOutput, owner: ThreadId) -> PanicPlace {
    // The panicking thread may hold the lock and must not wait for itself.
    let mut sink = match output.0.try_lock() {
        Some(sink) => sink,
        None if thread::current().id() == owner => return PanicPlace::Screen,
        None => return PanicPlace::OtherThread,
    };
    if !sink.modes.entered {
        return PanicPlace::NoScreen;
    }
    if thread::current().id() != owner {
        return PanicPlace::OtherThread;
    }
    let _ = sink.leave();
    PanicPlace::Screen
}

fn describe(panic: &PanicHookInfo<'_>) -> (String, String) {
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    (message, location)
}
