//! The colours of the code in a diff, as the old and the new file have it.

use std::path::Path;

use ratatui::style::Style;

use crate::tui::text::highlight::{CodeState, Highlighter};
use crate::tui::theme::Theme;

/// The file of a diff, for the colours of its code.
#[derive(Clone, Copy)]
pub struct DiffFile<'a> {
    pub path: &'a Path,
    pub highlighter: &'a Highlighter,
}

/// The parsers of the old and the new code, if its language is known.
pub(super) struct DiffCode<'a> {
    file: Option<DiffFile<'a>>,
    old: Option<CodeState>,
    new: Option<CodeState>,
}

impl<'a> DiffCode<'a> {
    pub(super) fn new(file: Option<DiffFile<'a>>) -> Self {
        let mut code = Self { file, old: None, new: None };
        code.restart();
        code
    }

    /// Forgets the code so far: another hunk begins elsewhere.
    pub(super) fn restart(&mut self) {
        let Some(DiffFile { path, highlighter }) = self.file else { return };
        let names = [path.extension(), path.file_name()];
        let mut names = names.into_iter().flatten().filter_map(|name| name.to_str());
        highlighter.request();
        self.new = names.find_map(|name| highlighter.start(name));
        self.old.clone_from(&self.new);
    }

    /// The styles of a line of code, by end byte.
    pub(super) fn styles(&mut self, sign: char, text: &str, theme: &Theme) -> Vec<(usize, Style)> {
        let Some(DiffFile { highlighter, .. }) = self.file else { return Vec::new() };
        let read = |state: &mut Option<CodeState>| {
            state.as_mut().map(|state| state.line(text, highlighter)).unwrap_or_default()
        };
        let runs = match sign {
            '-' => read(&mut self.old),
            '+' => read(&mut self.new),
            _ => {
                read(&mut self.old);
                read(&mut self.new)
            }
        };
        runs.into_iter().map(|(end, face)| (end, face.style(theme))).collect()
    }
}
