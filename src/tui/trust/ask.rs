//! Asks the trust question on the terminal.

use std::io;
use std::time::Duration;

use crossterm::event::Event;
use futures_util::stream::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use tokio::time::{Instant, sleep, sleep_until};

use super::{TrustAnswer, TrustDialog, TrustQuestion, draw};
use crate::tui::event_loop::{BEHIND_PAUSE, HANGUP, ScreenSignals, TuiError, resolve_theme};
use crate::tui::keyboard::{Input, Keyboard, PendingInput};
use crate::tui::linear::{Row, clean_rows};
use crate::tui::settings::TuiSettings;
use crate::tui::terminal::{GuardOptions, PromptRows, TerminalGuard};
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
    let lines = settings.screen_reader;
    let mut guard = TerminalGuard::enter(&GuardOptions { lines, ..GuardOptions::default() })?;
    let answer = ask_on(question, &theme, &mut guard, &mut keyboard, lines).await?;
    Ok((answer, keyboard.close()))
}

/// Like [`ask_trust`], on a given terminal and input.
async fn ask_on(
    question: &TrustQuestion,
    theme: &Theme,
    terminal: &mut TerminalGuard,
    keyboard: &mut (impl Stream<Item = io::Result<Input>> + Unpin),
    lines: bool,
) -> Result<TrustAnswer, TuiError> {
    let mut aside = lines.then(PrintedDialog::default);
    let start = Instant::now();
    let mut asking = TrustDialog { printed: lines, ..TrustDialog::new(question) };
    let mut signals = ScreenSignals::new()?;
    let mut first = true;
    loop {
        let now = start.elapsed();
        match &mut aside {
            Some(aside) => aside.print(&mut asking, theme, now, terminal)?,
            None => terminal.draw(|frame| draw::draw(&mut asking, theme, now, frame))?,
        }
        if std::mem::take(&mut first) {
            terminal.after_first_frame()?;
        }
        let opens = (!asking.accepts_answers(now)).then(|| asking.accepts_at());
        let behind = terminal.is_behind()?;
        let event = tokio::select! {
            biased;
            event = keyboard.next() => Some(event),
            number = signals.next() => return Ok(TrustAnswer::Signal(number)),
            () = sleep_until(start + opens.unwrap_or_default()), if opens.is_some() => None,
            () = sleep(BEHIND_PAUSE), if behind => None,
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

/// The size in which the question is drawn aside, to be printed: all of it should fit.
const PRINTED_SIZE: (u16, u16) = (100, 200);

/// The question as lines for screen readers.
#[derive(Default)]
struct PrintedDialog {
    rows: Vec<Row>,
}

impl PrintedDialog {
    /// Prints what is new.
    fn print(
        &mut self,
        asking: &mut TrustDialog<'_>,
        theme: &Theme,
        now: Duration,
        terminal: &mut TerminalGuard,
    ) -> io::Result<()> {
        let (width, height) = PRINTED_SIZE;
        // Drawing into memory cannot fail.
        let Ok(mut aside) = Terminal::new(TestBackend::new(width, height));
        let Ok(_) = aside.draw(|frame| draw::draw(asking, theme, now, frame));
        let cells = aside.backend().buffer().content.chunks(usize::from(width));
        let rows: Vec<String> = cells.map(|row| row.iter().map(Cell::symbol).collect()).collect();
        let rows = clean_rows(rows.iter().map(String::as_str));
        let lines: Vec<String> =
            rows.iter().filter(|row| row.is_new(&self.rows)).map(Row::line).collect();
        self.rows = rows;
        let prompt = "1 or 2: ".to_owned();
        let column = u16::try_from(prompt.len()).unwrap_or(0);
        terminal.print(&lines, PromptRows { rows: vec![prompt], row: 0, column })
    }
}
