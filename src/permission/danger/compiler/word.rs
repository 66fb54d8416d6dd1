//! One word of a compiler's command line.

use std::path::PathBuf;

use crate::permission::spelling::Spelling;

/// A word of a compiler command, with those before it.
pub struct CompilerWord<'a> {
    pub word: &'a Spelling<'a>,
    /// Including the program.
    pub before: &'a [Spelling<'a>],
    pub bases: &'a [PathBuf],
}

impl CompilerWord<'_> {
    /// The word before it.
    pub fn previous(&self) -> &str {
        self.before.last().and_then(Spelling::exact).unwrap_or_default()
    }
}
