//! Asks on the terminal: frames out, keys in, until there is an answer.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::{Asking, TrustAnswer, TrustQuestion, draw};
use crate::tui::TuiError;
use crate::tui::escape::EscapeFilter;
use crate::tui::event_loop::{HANGUP, Signals, theme};
use crate::tui::settings::TuiSettings;
use crate::tui::surface::Surface;
use crate::tui::terminal::{GuardOptions, TerminalGuard};
use crate::tui::theme::Theme;

/// The longest that a look for input may take: a signal that ends the question waits for it.
const LOOK: Duration = Duration::from_millis(250);

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
    ask_on(question, &theme, &mut guard).await
}

/// The next event, if there is one in time. Not by a stream of events: one that is dropped leaves a wake-up behind, and
/// with that the next stream can miss the first key of the screen.
async fn next_event(wait: Duration) -> io::Result<Option<Event>> {
    let look = move || if event::poll(wait)? { event::read().map(Some) } else { Ok(None) };
    spawn_blocking(look).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The same on any surface.
async fn ask_on(
    question: &TrustQuestion,
    theme: &Theme,
    surface: &mut impl Surface,
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
        let wait = wake.map_or(LOOK, |at| at.saturating_sub(now).min(LOOK));
        let event = tokio::select! {
            biased;
            event = next_event(wait) => event,
            number = signals.next() => return Ok(TrustAnswer::Signal(number)),
        };
        let now = start.elapsed();
        let mut keys = match event {
            Ok(Some(Event::Key(key))) => escape.push(key, now),
            Ok(Some(Event::Paste(_))) => {
                asking.typed = now;
                Vec::new()
            }
            Ok(_) => Vec::new(),
            // The terminal is gone: as if it had hung up.
            Err(_) => return Ok(TrustAnswer::Signal(HANGUP)),
        };
        keys.extend(escape.expired(now));
        for key in keys {
            if let Some(answer) = asking.press(key, start.elapsed()) {
                return Ok(answer);
            }
        }
    }
}
