//! Reads the prompt of a headless run: the argument, then stdin.

use std::io::{IsTerminal as _, Read as _, Stdin};
use std::os::fd::AsFd as _;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::setup::AppError;
use crate::cli::Cli;
use crate::headless::{self, PromptInput};
use crate::protocol::{Charset, quoted_name};

/// The maximum size of a prompt on stdin, in bytes.
const MAX_STDIN_BYTES: u64 = 8 << 20;

/// How long to wait for the first byte of stdin if the argument already is a prompt, in
/// milliseconds. Parent processes often leave a pipe that they never write to and never close.
const STDIN_WAIT_MS: u16 = 3000;

/// Reads the prompt of these arguments. Only the argument mentions images and agents: what is piped in may be anybody's text.
///
/// # Errors
/// If stdin cannot be read, is too long or not text, or if the prompt is blank.
pub(super) fn read(cli: &Cli) -> Result<PromptInput, AppError> {
    let argument = cli.prompt.as_deref();
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
        // `-p -r hi` reads like a prompt behind two flags.
        let resumed = cli.session.resume.as_deref().filter(|id| !id.is_empty());
        return Err(AppError::Usage(match resumed {
            Some(id) => format!(
                "the prompt is blank: {} is the session to resume; write the prompt first: caliban -p \"what to do\" -r {}",
                quoted_name(id),
                quoted_name(id)
            ),
            None => "the prompt is blank: caliban -p \"what to do\"".to_owned(),
        }));
    }
    Ok(PromptInput::text(prompt).with_mentions_of(argument.unwrap_or_default()))
}

/// Whether stdin becomes readable or ends within the wait. Otherwise prints a line to stderr.
fn has_input(stdin: &Stdin) -> Result<bool, AppError> {
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let ready = loop {
        match poll(&mut fds, PollTimeout::from(STDIN_WAIT_MS)) {
            Err(Errno::EINTR) => {}
            ready => break ready.map_err(std::io::Error::from)?,
        }
    };
    if ready == 0 {
        // If stderr is gone, nobody reads the line.
        let _ = headless::say(
            "caliban: no input on stdin within 3 s, so the prompt is only the argument; \
             add < /dev/null to skip the wait",
            Charset::Ascii,
        );
    }
    Ok(ready > 0)
}

fn text(stdin: &Stdin) -> Result<String, AppError> {
    let mut bytes = Vec::new();
    stdin.lock().take(MAX_STDIN_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STDIN_BYTES {
        let mib = MAX_STDIN_BYTES >> 20;
        return Err(AppError::Usage(format!(
            "stdin is longer than {mib} MB: name a file in the prompt instead"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        AppError::Usage(format!("stdin is not valid UTF-8 text (byte {at})"))
    })
}
