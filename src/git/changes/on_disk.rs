//! Files of which git stores another text than they hold, as they are on disk.
//!
//! Attributes and settings make git convert a file on its way to the repository and back: its
//! encoding, its line ends, `$Id$`. A diff of git's compares what it stores, and may find nothing
//! where a program that runs the file finds another one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::read::{
    MAX_BINARY, MAX_DIFF_BYTES, MAX_UNTRACKED_BYTES, MAX_UNTRACKED_TOTAL, beginning, first_bytes,
};
use crate::exec::CappedOutput;
use crate::git::run::{GitError, WorktreeGit};
use crate::protocol::{ChangeKind, DiffText, FileChange, LineDiff, WorkingTreeChanges};

/// The most files whose bytes are looked at.
const MAX_FILES: usize = 10_000;
/// The most bytes of the list of all tracked files.
const MAX_LIST_BYTES: usize = 64 << 20;

/// Shows the changed files that git converts as they are on disk, and adds those whose changes git does
/// not see. Says of the others that git's diff is about another text.
pub fn show_files_on_disk(
    git: &WorktreeGit,
    base: &OsStr,
    found: &mut WorkingTreeChanges,
) -> Result<(), GitError> {
    let options = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
    let options = options.into_iter().chain(["--ignore-submodules=all", "--diff-filter=d"]);
    let words = options.map(OsStr::new).chain([base, OsStr::new("--")]);
    let changed = git.beginning(MAX_DIFF_BYTES, words)?;
    let mut names: BTreeSet<Vec<u8>> = whole_names(&changed.bytes, changed.is_cut).collect();
    names.extend(unseen(git)?);
    names.retain(|name| on_disk(git, name).symlink_metadata().is_ok_and(|found| found.is_file()));
    if names.len() > MAX_FILES {
        found.is_cut = true;
    }
    let names: Vec<_> = names.into_iter().take(MAX_FILES).collect();
    for (count, name) in converted(git, &names)?.into_iter().enumerate() {
        if count == MAX_BINARY {
            found.is_cut = true;
        }
        let (content, is_cut) = match count < MAX_BINARY {
            true => compare(git, base, name),
            false => (Content::Other, false),
        };
        found.is_cut |= is_cut;
        let path = String::from_utf8_lossy(&quoted_inside(name)).into_owned();
        let shown = found.files.iter_mut().find(|shown| shown.path == path);
        match (shown, content) {
            (Some(file), Content::Text(diff)) => (file.diff, file.text) = (diff, DiffText::OnDisk),
            (Some(file), _) => file.text = DiffText::Stored,
            (None, Content::Same) => {}
            (None, Content::Other) if count >= MAX_BINARY || is_cut => {}
            (None, content) => {
                let (kind, mode) = (ChangeKind::Modified, None);
                let (diff, text) = match content {
                    Content::Text(diff) => (diff, DiffText::OnDisk),
                    _ => (String::new(), DiffText::Stored),
                };
                found.files.push(FileChange { path, kind, diff, text, mode });
            }
        }
    }
    Ok(())
}

fn on_disk(git: &WorktreeGit, name: &[u8]) -> PathBuf {
    git.path().join(Path::new(OsStr::from_bytes(name)))
}

/// The names in a list that ends each with a zero byte.
fn whole_names(list: &[u8], is_cut: bool) -> impl Iterator<Item = Vec<u8>> {
    let end =
        if is_cut { list.iter().rposition(|byte| *byte == 0).unwrap_or(0) } else { list.len() };
    list[..end].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec)
}

/// The tracked files in which git overlooks more than line ends: those with an encoding, and those where
/// something else than a hash stands in `$Id: …$`.
fn unseen(git: &WorktreeGit) -> Result<Vec<Vec<u8>>, GitError> {
    let tracked = git.beginning(MAX_LIST_BYTES, ["ls-files", "-z"])?;
    let words = ["check-attr", "-z", "--stdin", "ident", "working-tree-encoding"];
    let list = git.read(&tracked.bytes, words)?;
    let fields: Vec<&[u8]> = list.split(|byte| *byte == 0).collect();
    let is_meant = |fields: &&[&[u8]]| match fields {
        [_, _, b"unspecified" | b"unset"] => false,
        [name, b"ident", _] => {
            let text = beginning(&on_disk(git, name), MAX_UNTRACKED_BYTES);
            text.is_none_or(|text| text.is_cut || has_odd_id(&text.bytes))
        }
        [..] => true,
    };
    let files = fields.chunks_exact(3).filter(is_meant);
    Ok(files.map(|fields| fields[0].to_vec()).collect())
}

/// Whether git would take anything but a hash out of an `$Id: …$`.
fn has_odd_id(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let starts = line.windows(4).enumerate().filter(|(_, part)| part == b"$Id:");
        starts.map(|(at, _)| &line[at + 4..]).any(|rest| {
            let end = rest.iter().position(|byte| *byte == b'$');
            end.is_some_and(|end| {
                let is_hash = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b' ';
                !rest[..end].iter().all(is_hash)
            })
        })
    })
}

/// Those of the files that hold another text than git would store.
pub(super) fn converted<'a>(
    git: &WorktreeGit,
    names: &'a [Vec<u8>],
) -> Result<Vec<&'a [u8]>, GitError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<u8> = names.iter().flat_map(|name| [&*quoted(name), b"\n"].concat()).collect();
    let stored = git.read(&list, ["hash-object", "--stdin-paths"])?;
    let own = git.read(&list, ["hash-object", "--no-filters", "--stdin-paths"])?;
    let [stored, own] = [&stored, &own].map(|hashes| hashes.split(|byte| *byte == b'\n'));
    let hashes = names.iter().zip(stored.zip(own));
    Ok(hashes.filter(|(_, (stored, own))| stored != own).map(|(name, _)| name.as_slice()).collect())
}

/// A file on disk, beside what git would write for the file of the commit.
enum Content {
    Same,
    /// Another text, as a diff.
    Text(String),
    /// Others, of which one is no text or too long.
    Other,
}

/// Compares what is on disk with what git would write for the file of `base`. The flag says that only the
/// beginnings were compared.
fn compare(git: &WorktreeGit, base: &OsStr, name: &[u8]) -> (Content, bool) {
    let Some(new) = first_bytes(&on_disk(git, name), MAX_UNTRACKED_TOTAL) else {
        return (Content::Other, false);
    };
    let object = OsString::from_vec([base.as_bytes(), b":", name].concat());
    let words = [OsStr::new("cat-file"), OsStr::new("--filters"), &object];
    let limit = usize::try_from(MAX_UNTRACKED_TOTAL).unwrap_or(usize::MAX);
    // A file that `base` does not have is new in all lines.
    let old = git.beginning(limit, words).unwrap_or_default();
    let is_cut = old.is_cut || new.is_cut;
    if old == new {
        return (if is_cut { Content::Other } else { Content::Same }, is_cut);
    }
    let is_short = |text: &CappedOutput| text.bytes.len() as u64 <= MAX_UNTRACKED_BYTES;
    if !is_short(&old) || !is_short(&new) || new.bytes.contains(&0) {
        return (Content::Other, false);
    }
    let (old, new) = (old.text(), new.text());
    let diff = LineDiff::new(&old, &new).hunks().map(|hunk| hunk.to_string()).collect();
    (Content::Text(diff), false)
}

/// The name as git reads it in a list of lines.
fn quoted(name: &[u8]) -> Vec<u8> {
    let inside = quoted_inside(name);
    match inside == name {
        true => inside,
        false => [b"\"", &*inside, b"\""].concat(),
    }
}

/// The name with git's escapes, as its diff has it between quotes.
fn quoted_inside(name: &[u8]) -> Vec<u8> {
    let letters = BTreeMap::from([
        (7, b'a'),
        (8, b'b'),
        (b'\t', b't'),
        (b'\n', b'n'),
        (11, b'v'),
        (12, b'f'),
        (b'\r', b'r'),
        (b'"', b'"'),
        (b'\\', b'\\'),
    ]);
    let escaped = |byte: &u8| match letters.get(byte) {
        Some(letter) => vec![b'\\', *letter],
        None if byte.is_ascii_control() => format!("\\{byte:03o}").into_bytes(),
        None => vec![*byte],
    };
    name.iter().flat_map(escaped).collect()
}
