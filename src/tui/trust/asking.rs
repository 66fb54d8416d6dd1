//! Asks on the terminal: frames out, keys in, until there is an answer.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::stream::{Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

use super::{Asking, TrustAnswer, TrustQuestion, draw};
use crate::tui::TuiError;
use crate::tui::escape::EscapeFilter;
use crate::tui::event_loop::{HANGUP, Signals, theme};
use crate::tui::settings::TuiSettings;
use crate::tui::surface::Surface;
use crate::tui::terminal::{GuardOptions, TerminalGuard};
use crate::tui::theme::Theme;

/// Asks on the terminal and gives it back. Has to run on the thread that calls it, as the screen has.
///
/// # Errors
/// When there is no terminal, or no such theme.
pub async fn ask_trust(
    question: &TrustQuestion,
    settings: &TuiSettings,
) -> Result<TrustAnswer, TuiError> {
    let theme = theme(settings)?;
    let mut guard = TerminalGuard::enter(&GuardOptions::default())?;
    ask_on(question, &theme, &mut guard, &mut EventStream::new()).await
}

/// The same on any surface and any input.
async fn ask_on<I: Stream<Item = io::Result<Event>> + Unpin>(
    question: &TrustQuestion,
    theme: &Theme,
    surface: &mut impl Surface,
    input: &mut I,
) -> Result<TrustAnswer, TuiError> {
    let start = Instant::now();
    let mut asking = Asking::new(question);
    let mut escape = EscapeFilter::default();
    let mut signals = Signals::new()?;
    let mut first = true;
    loop {
        let now = start.elapsed();
        surface.draw(&mut |frame| draw::draw(&mut asking, theme, now, frame))?;
        if std::mem::take(&mut first) {
            surface.after_first_frame()?;
        }
        let opens = (!asking.answers(now)).then(|| asking.opens());
        let wake = opens.into_iter().chain(escape.deadline()).min();
        let keys = tokio::select! {
            biased;
            event = input.next() => match event {
                Some(Ok(Event::Key(key))) => escape.push(key, start.elapsed()),
                Some(Ok(Event::Paste(_))) => {
                    asking.typed = start.elapsed();
                    Vec::new()
                }
                Some(Ok(_)) => Vec::new(),
                // The terminal is gone: as if it had hung up.
                Some(Err(_)) | None => return Ok(TrustAnswer::Signal(HANGUP)),
            },
            number = signals.next() => return Ok(TrustAnswer::Signal(number)),
            () = sleep_until(start + wake.unwrap_or_default()), if wake.is_some() => {
                escape.expired(start.elapsed()).into_iter().collect()
            }
        };
        for key in keys {
            if let Some(answer) = asking.press(key, start.elapsed()) {
                return Ok(answer);
            }
        }
    }
}
