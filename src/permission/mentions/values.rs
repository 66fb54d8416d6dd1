//! The names that globs in the values of variables match.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::lookup::{FileLookup, is_blank, value_of_name};
use crate::permission::spelling::{Piece, escaped, globbed};

/// Maximum names for one variable that are globs themselves; with more it may hold any text.
const MAX_GLOB_NAMES: usize = 16;
/// Characters that begin a glob.
const GLOB_CHARS: [u8; 3] = [b'*', b'?', b'['];

impl FileLookup<'_> {
    /// Adds to the values of each variable the names that its globs match and that are globs
    /// themselves: where the variable is unquoted, bash expands them once more.
    pub(super) fn add_glob_names(&mut self) {
        for name in self.values.keys().cloned().collect::<Vec<_>>() {
            let values = self.values.get(&name).cloned().unwrap_or_default();
            let mut globs: Vec<Vec<Piece>> =
                values.iter().flat_map(|text| globs_in(text)).collect();
            let mut added: Vec<Vec<Piece>> = Vec::new();
            let mut at = 0;
            while let Some(glob) = globs.get(at).cloned() {
                at += 1;
                let is_glob =
                    |name: &OsString| GLOB_CHARS.iter().any(|sign| name.as_bytes().contains(sign));
                for name in self.names(&glob).iter().filter(|name| is_glob(name)) {
                    let value = value_of_name(name);
                    if !added.contains(&value) {
                        globs.extend(globs_in(&value));
                        added.push(value);
                    }
                }
                if added.len() > MAX_GLOB_NAMES {
                    added = vec![vec![Piece::Limit]];
                    break;
                }
            }
            self.values.entry(name).or_default().extend(added);
        }
    }

    /// The names that the glob matches in the bases, as bash writes them.
    fn names(&mut self, glob: &[Piece]) -> Vec<OsString> {
        let is_absolute = glob.first() == Some(&Piece::Char('/'));
        let bases = self.bases.clone();
        let names = |base: &PathBuf| {
            let found = self.matches(base, glob).into_iter();
            let name = |path: PathBuf| match is_absolute {
                true => Some(path.into_os_string()),
                false => {
                    let name =
                        path.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes());
                    let name = name?.strip_prefix(b"/").or(name)?;
                    Some(OsStr::from_bytes(name).to_owned())
                }
            };
            found.filter_map(name).collect::<Vec<_>>()
        };
        bases.iter().flat_map(names).collect()
    }
}

/// The parts of a value between blanks that are globs, and known otherwise.
fn globs_in(value: &[Piece]) -> Vec<Vec<Piece>> {
    let is_open = |piece: &Piece| matches!(piece, Piece::Any | Piece::Limit | Piece::Variable(_));
    let parts = value.split(is_blank);
    let parts = parts.flat_map(|part| std::iter::once(globbed(part)).chain(escaped(part)));
    parts.filter(|part| has_glob(part) && !part.iter().any(is_open)).collect()
}

/// Whether the text is a glob.
pub fn has_glob(text: &[Piece]) -> bool {
    text.iter().any(|piece| matches!(piece, Piece::Star | Piece::One | Piece::Set(_)))
}
