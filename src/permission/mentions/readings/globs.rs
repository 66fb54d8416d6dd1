//! The names that a glob matches.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use super::names::{GlobName, pattern_text};
use super::reader::ScriptReader;
use crate::permission::mentions::lookup::folders_by_dot;
use crate::permission::mentions::values::has_glob;
use crate::permission::spelling::{Piece, fits};

impl ScriptReader<'_> {
    /// The names that the pattern matches from the folder, as bash writes them; `None` if there are
    /// more than can be looked at.
    pub(super) fn glob(&mut self, base: &Path, pattern: &[Piece]) -> Option<Vec<GlobName>> {
        let is_absolute = pattern.first() == Some(&Piece::Char('/'));
        let start = if is_absolute { Path::new("/") } else { base };
        let mut found = vec![GlobName {
            text: OsString::new(),
            path: start.to_owned(),
            passes_link: false,
            is_certain: true,
        }];
        for (at, part) in pattern.split(|piece| *piece == Piece::Char('/')).enumerate() {
            if at > 0 {
                found.retain(|name| at == 1 || name.path.is_dir());
                found.iter_mut().for_each(|name| name.text.push("/"));
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
                        next.push(folder.with(OsStr::new(&name), path, kind.is_symlink(), true));
                    }
                    continue;
                }
                // A locale may count other letters in a range.
                let any = |piece: &Piece| match piece {
                    Piece::Set(_) => Piece::One,
                    piece => piece.clone(),
                };
                let is_plain = !part.iter().any(|piece| matches!(piece, Piece::Set(_)));
                let part: Vec<Piece> = part.iter().map(any).collect();
                let shows_hidden = part.first() == Some(&Piece::Char('.'));
                let by_dot: Vec<_> = folders_by_dot(&part).map(|name| (name, false)).collect();
                for (name, is_link) in self.list(&folder.path)?.iter().chain(&by_dot) {
                    let text = name.to_string_lossy();
                    let is_meant = shows_hidden || !text.starts_with('.');
                    if is_meant && fits(&part, &text.chars().collect::<Vec<_>>()) {
                        let is_certain = is_plain && text.is_ascii() && text != "." && text != "..";
                        next.push(folder.with(name, folder.path.join(name), *is_link, is_certain));
                    }
                }
            }
            found = next;
        }
        found.sort_by(|one, other| one.text.cmp(&other.text));
        Some(found)
    }

    /// The names in a folder; each folder is read once.
    fn list(&mut self, folder: &Path) -> Option<&Vec<(OsString, bool)>> {
        if !self.folders.contains_key(folder) {
            let mut names = Vec::new();
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                self.lookup.spend(1).then_some(())?;
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                names.push((entry.file_name(), is_link));
            }
            self.folders.insert(folder.to_owned(), names);
        }
        self.folders.get(folder)
    }
}
