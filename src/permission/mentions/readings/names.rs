//! Names that a glob matches.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::permission::program::base_name;
use crate::permission::spelling::Piece;
use crate::permission::wrapper::{is_runner, is_shell};

/// A name that a glob matches.
pub(super) struct GlobName {
    pub(super) text: OsString,
    pub(super) path: PathBuf,
    pub(super) passes_link: bool,
    /// Whether the glob matches it with every version of bash and in every locale.
    pub(super) is_certain: bool,
}

impl GlobName {
    pub(super) fn with(
        &self,
        name: &OsStr,
        path: PathBuf,
        is_link: bool,
        is_certain: bool,
    ) -> Self {
        let mut text = self.text.clone();
        text.push(name);
        let passes_link = self.passes_link || is_link;
        Self { text, path, passes_link, is_certain: self.is_certain && is_certain }
    }

    pub(super) fn is_harmless(&self) -> bool {
        self.text.to_str().is_some_and(is_argument) && !self.passes_link
    }
}

/// The text of a word that bash leaves as it is.
pub(super) fn pattern_text(text: &[Piece]) -> String {
    let part = |piece: &Piece| match piece {
        Piece::Char(c) => c.to_string(),
        Piece::Set(set) => set.text.clone(),
        Piece::Star => "*".to_owned(),
        _ => "?".to_owned(),
    };
    text.iter().map(part).collect()
}

/// Whether the text is no option, and the name of no program that starts others.
pub(super) fn is_argument(text: &str) -> bool {
    let name = base_name(text);
    is_plain(text) && !is_shell(name) && !is_runner(name)
}

/// The same as [`is_harmless`], where it is no option either.
fn is_plain(text: &str) -> bool {
    !text.starts_with('-') && is_harmless(text)
}

/// Whether a word that begins like this is no option, no setting, no address and no file of options.
pub(super) fn is_harmless(beginning: &str) -> bool {
    let (option, value) = match beginning.split_once('=') {
        Some((option, value)) if option.len() > 2 && option.starts_with("--") => (option, value),
        _ => ("", beginning),
    };
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+ ".contains(c);
    let is_path = |c: char| c.is_alphanumeric() || "_./".contains(c);
    let is_known_option = !option.is_empty() && value.is_empty();
    (is_known_option || value.starts_with(is_path)) && value.chars().all(is_plain)
}
