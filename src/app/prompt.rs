//! The prompt of a headless run: the argument, then stdin.

use std::io::{IsTerminal as _, Read as _, Stdin};
use std::os::fd::AsFd as _;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::AppError;
use crate::headless;

/// The longest stdin that is taken for a prompt, in bytes.
const LIMIT: u64 = 8 << 20;

/// How long the first byte of stdin is waited for where the argument is a prompt by itself, in
/// milliseconds. Programs that start others often leave them a pipe that they never write to and
/// never close.
const WAIT: u16 = 3000;

/// Reads the prompt.
///
/// # Errors
/// When stdin cannot be read, is too long or no text, and when the prompt is blank.
pub(super) fn read(argument: Option<&str>) -> Result<String, AppError> {
    let mut prompt = argument.unwrap_or_default().to_owned();
    let stdin = std::io::stdin();
    if !stdin.is_terminal() && (prompt.trim().is_empty() || has_input(&stdin)?) {
        let text = text(&stdin)?;
        if !prompt.is_empty() && !text.trim().is_empty() {
            prompt.push_str("\n\n");
        }
        prompt.push_str(&text);
    }
    if prompt.trim().is_empty() {
        return Err(AppError::Usage("the prompt is blank: caliban -p \"what to do\"".to_owned()));
    }
    Ok(prompt)
}

/// Whether stdin has something to read, or has ended, within the wait. A line on stderr says when it has not.
fn has_input(stdin: &Stdin) -> Result<bool, AppError> {
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let ready = loop {
        match poll(&mut fds, PollTimeout::from(WAIT)) {
            Err(Errno::EINTR) => {}
            ready => break ready.map_err(std::io::Error::from)?,
        }
    };
    if ready == 0 {
        // When stderr is gone, nobody reads the line.
        let _ = headless::say(
            "caliban: nothing came on stdin within 3 s, so the prompt is the argument alone; \
             add < /dev/null to skip the wait",
        );
    }
    Ok(ready > 0)
}

fn text(stdin: &Stdin) -> Result<String, AppError> {
    let mut bytes = Vec::new();
    stdin.lock().take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        let mib = LIMIT >> 20;
        return Err(AppError::Usage(format!(
            "stdin is longer than {mib} MB: name a file in the prompt instead"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        AppError::Usage(format!("stdin is not valid UTF-8 text (byte {at})"))
    })
}
