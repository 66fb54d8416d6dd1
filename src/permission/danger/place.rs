//! Where a path among the words leads. Its text alone does not tell: a link in the project can lead anywhere.

use std::path::{Component, Path, PathBuf};

use super::Spelling;
use crate::permission::path::resolve;
use crate::permission::spelling::Piece;

/// Whether `path`, which is `word` or a part of it, may lead outside the folder that the command
/// runs in, one of `bases`.
pub fn leads_out(path: &str, word: &Spelling<'_>, bases: &[PathBuf]) -> bool {
    is_outside(path, word, bases, |_| false)
}

/// Whether it may lead outside the folder, or to something hidden in it.
pub fn leads_out_or_is_hidden(path: &str, word: &Spelling<'_>, bases: &[PathBuf]) -> bool {
    is_outside(path, word, bases, |below| {
        let is_hidden = |part: Component<'_>| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b"."));
        below.components().any(is_hidden)
    })
}

/// The same, where `forbids` decides which places below the folder count as outside.
fn is_outside(
    path: &str,
    word: &Spelling<'_>,
    bases: &[PathBuf],
    forbids: impl Fn(&Path) -> bool,
) -> bool {
    let is_parent = |part: Component<'_>| part == Component::ParentDir;
    // A word that looks like an option may be one: the option before it may be another's value.
    let is_option = path.len() > 1 && path.starts_with('-');
    if is_option || path.starts_with(['/', '~']) || Path::new(path).components().any(is_parent) {
        return true;
    }
    if forbids(Path::new(path)) {
        return true;
    }
    match word {
        // A question mark stands for text known only at run time.
        Spelling::Plain(_) if path.contains('?') => true,
        Spelling::Plain(_) => {
            bases.is_empty() || bases.iter().any(|base| is_outside_of(base, path, &forbids))
        }
        // The value of a variable is substituted and judged by itself. HOME and PWD may appear as a
        // tilde, which is no variable.
        Spelling::Open(pieces) => {
            let is_working_dir =
                |piece: &Piece| matches!(piece, Piece::Variable(name) if name == "PWD");
            let is_certain = |piece: &Piece| matches!(piece, Piece::Char(_) | Piece::Variable(_));
            if pieces.iter().any(Piece::is_home) || !pieces.iter().all(is_certain) {
                return true;
            }
            match path.strip_prefix('?') {
                Some(below) if pieces.iter().any(is_working_dir) => {
                    below.contains('?')
                        || bases.is_empty()
                        || bases
                            .iter()
                            .any(|base| is_outside_of(base, &format!(".{below}"), &forbids))
                }
                _ => false,
            }
        }
    }
}

/// Whether the path, with every link followed, does not lead below `base`, or `forbids` matches it.
fn is_outside_of(base: &Path, path: &str, forbids: impl Fn(&Path) -> bool) -> bool {
    let Some(folder) = resolve(base) else { return true };
    let Some(real) = resolve(&folder.join(path)) else { return true };
    real.strip_prefix(&folder).map_or(true, forbids)
}
