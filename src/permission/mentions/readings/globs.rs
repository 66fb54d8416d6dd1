//! The names that a glob matches.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Reader, has_glob, is_argument};
use crate::permission::spelling::{Piece, fits};

/// A name that a glob matches.
pub(super) struct GlobName {
    pub(super) text: String,
    pub(super) path: PathBuf,
    pub(super) passes_link: bool,
}

impl Reader<'_> {
    /// The names that the pattern matches from the folder, as bash writes them; `None` if there are
    /// more than can be looked at.
    pub(super) fn glob(&mut self, base: &Path, pattern: &[Piece]) -> Option<Vec<GlobName>> {
        let is_absolute = pattern.first() == Some(&Piece::Char('/'));
        let start = if is_absolute { Path::new("/") } else { base };
        let mut found =
            vec![GlobName { text: String::new(), path: start.to_owned(), passes_link: false }];
        for (at, part) in pattern.split(|piece| *piece == Piece::Char('/')).enumerate() {
            if at > 0 {
                found.retain(|name| at == 1 || name.path.is_dir());
                found.iter_mut().for_each(|name| name.text.push('/'));
            }
            if part.is_empty() {
                continue;
            }
            let mut next = Vec::new();
            for folder in found {
                self.lookup.spend(1).then_some(())?;
                if !has_glob(part) {
                    let name = pattern_text(part);
                    let path = folder.path.join(&name);
                    if let Ok(kind) = path.symlink_metadata() {
                        next.push(folder.with(&name, path, kind.is_symlink()));
                    }
                    continue;
                }
                // A locale may count other letters in a range.
                let any = |piece: &Piece| match piece {
                    Piece::Set(_) => Piece::One,
                    piece => piece.clone(),
                };
                let part: Vec<Piece> = part.iter().map(any).collect();
                let shows_hidden = part.first() == Some(&Piece::Char('.'));
                for (name, is_link) in self.list(&folder.path)? {
                    let is_meant = shows_hidden || !name.starts_with('.');
                    if is_meant && fits(&part, &name.chars().collect::<Vec<_>>()) {
                        next.push(folder.with(name, folder.path.join(name), *is_link));
                    }
                }
            }
            found = next;
        }
        found.sort_by(|one, other| one.text.cmp(&other.text));
        Some(found)
    }

    /// The names in a folder; each folder is read once.
    fn list(&mut self, folder: &Path) -> Option<&Vec<(String, bool)>> {
        if !self.folders.contains_key(folder) {
            let mut names = Vec::new();
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                self.lookup.spend(1).then_some(())?;
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                names.push((entry.file_name().to_string_lossy().into_owned(), is_link));
            }
            self.folders.insert(folder.to_owned(), names);
        }
        self.folders.get(folder)
    }
}

impl GlobName {
    fn with(&self, name: &str, path: PathBuf, is_link: bool) -> Self {
        let text = format!("{}{name}", self.text);
        Self { text, path, passes_link: self.passes_link || is_link }
    }

    pub(super) fn is_harmless(&self) -> bool {
        is_argument(&self.text) && !self.passes_link
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
