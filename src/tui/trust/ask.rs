//! Asks the trust question on the terminal.

use std::io;

use crossterm::event::Event;
use futures_util::stream::{Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

use super::{TrustAnswer, TrustDialog, TrustQuestion, draw};
use crate::tui::event_loop::{HANGUP, ScreenSignals, TuiError, resolve_theme};
use crate::tui::keyboard::{Input, Keyboard, PendingInput};
use crate::tui::settings::TuiSettings;
use crate::tui::terminal::{GuardOptions, TerminalGuard};
use crate::tui::theme::Theme;

/// Asks on the terminal and restores it. Returns the answer and the input typed after it. Must run on
/// the calling thread, like the screen.
///
/// # Errors
/// When there is no terminal, or the theme does not exist.
pub async fn ask_trust(
    question: &TrustQuestion,
    settings: &TuiSettings,
) -> Result<(TrustAnswer, PendingInput), TuiError> {
    let theme = resolve_theme(settings)?;
    let mut keyboard = Keyboard::open(PendingInput::default())?;
    let mut guard = TerminalGuard::enter(&GuardOptions::default())?;
    let answer = ask_on(question, &theme, &mut guard, &mut keyboard).await?;
    Ok((answer, keyboard.close()))
}

/// Like [`ask_trust`], on a given terminal and input.
async fn ask_on(
    question: &TrustQuestion,
    theme: &Theme,
    terminal: &mut TerminalGuard,
    keyboard: &mut (impl Stream<Item = io::Result<Input>> + Unpin),
) -> Result<TrustAnswer, TuiError> {
    let start = Instant::now();
    let mut asking = TrustDialog::new(question);
    let mut signals = ScreenSignals::new()?;
    let mut first = true;
    loop {
        let now = start.elapsed();
        terminal.draw(|frame| draw::draw(&mut asking, theme, now, frame))?;
        if std::mem::take(&mut first) {
            terminal.after_first_frame()?;
        }
        let opens = (!asking.accepts_answers(now)).then(|| asking.accepts_at());
        let event = tokio::select! {
            biased;
            event = keyboard.next() => Some(event),
            number = signals.next() => return Ok(TrustAnswer::Signal(number)),
            () = sleep_until(start + opens.unwrap_or_default()), if opens.is_some() => None,
        };
        match event {
            Some(Some(Ok(Input::Event(Event::Key(key))))) => {
                if let Some(answer) = asking.press(key, start.elapsed()) {
                    return Ok(answer);
                }
            }
            Some(Some(Ok(Input::Event(Event::Paste(_))))) => asking.typed = start.elapsed(),
            // The terminal is gone: same as SIGHUP.
            Some(None | Some(Err(_))) => return Ok(TrustAnswer::Signal(HANGUP)),
            Some(Some(Ok(_))) | None => {}
        }
    }
}
