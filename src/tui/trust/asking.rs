//! Asks on the terminal: frames out, keys in, until there is an answer.

use std::io;

use crossterm::event::Event;
use futures_util::stream::{Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

use super::{Asking, TrustAnswer, TrustQuestion, draw};
use crate::tui::TuiError;
use crate::tui::escape::EscapeFilter;
use crate::tui::event_loop::{HANGUP, Signals, theme};
use crate::tui::keyboard::{Keyboard, Typed};
use crate::tui::settings::TuiSettings;
use crate::tui::surface::Surface;
use crate::tui::terminal::{GuardOptions, TerminalGuard};
use crate::tui::theme::Theme;

/// Asks on the terminal and gives it back, with what was typed behind the answer. Has to run on the
/// thread that calls it, as the screen has.
///
/// # Errors
/// When there is no terminal, or no such theme.
pub async fn ask_trust(
    question: &TrustQuestion,
    settings: &TuiSettings,
) -> Result<(TrustAnswer, Typed), TuiError> {
    let theme = theme(settings)?;
    let mut keyboard = Keyboard::open(Typed::default())?;
    let mut guard = TerminalGuard::enter(&GuardOptions::default())?;
    let answer = ask_on(question, &theme, &mut guard, &mut keyboard).await?;
    Ok((answer, keyboard.close()))
}

/// The same on any surface and any input.
async fn ask_on(
    question: &TrustQuestion,
    theme: &Theme,
    surface: &mut impl Surface,
    keyboard: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
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
        let event = tokio::select! {
            biased;
            event = keyboard.next() => Some(event),
            number = signals.next() => return Ok(TrustAnswer::Signal(number)),
            () = sleep_until(start + wake.unwrap_or_default()), if wake.is_some() => None,
        };
        let now = start.elapsed();
        let mut keys = match event {
            Some(Some(Ok(Event::Key(key)))) => escape.push(key, now),
            Some(Some(Ok(Event::Paste(_)))) => {
                asking.typed = now;
                Vec::new()
            }
            // The terminal is gone: as if it had hung up.
            Some(None | Some(Err(_))) => return Ok(TrustAnswer::Signal(HANGUP)),
            Some(Some(Ok(_))) | None => Vec::new(),
        };
        keys.extend(escape.expired(now));
        for key in keys {
            if let Some(answer) = asking.press(key, start.elapsed()) {
                return Ok(answer);
            }
        }
    }
}
