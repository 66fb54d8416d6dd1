//! Asks the trust question on the terminal.

use std::io;
use std::time::Duration;

use crossterm::event::Event;
use futures_util::stream::{Stream, StreamExt};
use ratatui::text::Line;
use tokio::time::{Instant, sleep, sleep_until};

use super::{TrustAnswer, TrustDialog, TrustQuestion, draw};
use crate::protocol::Charset;
use crate::tui::event_loop::{BEHIND_PAUSE, HANGUP, ScreenSignals, TuiError, resolve_theme};
use crate::tui::keyboard::{Input, Keyboard, PendingInput};
use crate::tui::linear::{Row, RowPart, lines as spoken_lines};
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
    let mut guard = TerminalGuard::enter(&GuardOptions {
        lines,
        charset: Charset::from_env(&settings.env),
        ..GuardOptions::default()
    })?;
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

/// Maximum cells of a printed row, without its indent.
const PRINTED_WIDTH: u16 = 96;

/// Cells that a printed row leaves free: its indent, and the edge, where the terminal would wrap it.
const PRINTED_MARGIN: u16 = 3;

/// Rows of the list that are printed at once: all of it should fit.
const PRINTED_ROWS: usize = 190;

/// The question as lines for screen readers.
#[derive(Default)]
pub(super) struct PrintedDialog {
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
        let room = terminal.size()?.width.saturating_sub(PRINTED_MARGIN).clamp(1, PRINTED_WIDTH);
        let lines = self.lines(asking, room, theme, now);
        let prompt = "1 or 2: ".to_owned();
        let column = u16::try_from(prompt.len()).unwrap_or(0);
        terminal.print(&lines, PromptRows { rows: vec![prompt], row: 0, column })
    }

    /// The lines that are new, with rows of `room` cells. Those of the list are indented, so that no value in it looks like an
    /// answer.
    pub(super) fn lines(
        &mut self,
        asking: &mut TrustDialog<'_>,
        room: u16,
        theme: &Theme,
        now: Duration,
    ) -> Vec<String> {
        let head = draw::head(asking, room, theme);
        let list = draw::list(asking.question, room, theme);
        asking.frame_drawn(list.len(), list.len().min(PRINTED_ROWS), room);
        let shown = list.iter().enumerate().skip(asking.scroll).take(asking.height);
        let row = |text: &str| Row { text: text.trim_end().to_owned(), ..Row::default() };
        let content = |(number, line): (usize, &Line<'_>)| Row {
            part: RowPart::Content,
            number: Some(number),
            ..row(&line.to_string())
        };
        let answers = draw::answers(asking, room, theme, now);
        let answer =
            |line: &Line<'_>| Row { part: RowPart::Answers, ..row(line.to_string().trim_start()) };
        let rows = [row(draw::TITLE)].into_iter();
        let rows = rows.chain(head.iter().map(|line| row(&line.to_string())));
        let rows = rows.chain(shown.map(content)).chain(answers.iter().map(answer));
        let rows: Vec<Row> = rows.filter(|row| !row.text.is_empty()).collect();
        let new = spoken_lines(rows.iter().filter(|row| row.is_new(&self.rows)), false);
        self.rows = rows;
        new
    }
}
