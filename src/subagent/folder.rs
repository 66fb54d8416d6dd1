//! Folders of definitions on disk: which files count, their text, and whether any has changed.

use std::path::Path;

use super::definition::{DefinitionError, Source};
use crate::disk::{ProjectFiles, ScopeError};
use crate::markdown::folder::{self, Entry};
use crate::markdown::{Fingerprint, file, front_matter};

/// A longer file is no prompt. Bytes.
const MAX_FILE: u64 = 256 << 10;

/// More files of one folder are not looked at.
const MAX_FILES: usize = 1000;

/// What folders of definitions look like without reading any file: to be compared with a later
/// look. Each folder comes with what its links may lead to, where it is the project's.
pub(super) fn fingerprint<'a>(
    folders: impl Iterator<Item = (&'a Path, Option<&'a ProjectFiles<'a>>)>,
) -> Fingerprint {
    // A folder that cannot be listed is a problem of its own, which may come and go.
    let seen = |entry: Entry| entry.unwrap_or_else(|error| error.path);
    Fingerprint::of(folders.flat_map(|(folder, scope)| files(folder, scope)).map(seen))
}

/// The `.md` files of a folder and those below it, by name. A missing folder has none. `scope` is
/// what links may lead to in a folder of the project.
pub(super) fn files(folder: &Path, scope: Option<&ProjectFiles<'_>>) -> Vec<Entry> {
    let bar = |folder: &Path| match scope?.enter(folder) {
        Err(ScopeError::Outside(why)) => Some(why),
        // One that cannot be looked at says so when it is listed.
        Ok(()) | Err(ScopeError::Io(_)) => None,
    };
    folder::files(folder, &bar, MAX_FILES)
}

/// Whether a file is about the folder that it lies in: collections of definitions explain themselves so.
pub(super) fn is_readme(path: &Path, text: &str) -> bool {
    let stem = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
    stem && !front_matter::begins(text)
}

/// The text of a definition's file. `own` is the folder that it lies in where that is the user's,
/// and `scope` is what links of the project may lead to.
pub(super) fn read(
    source: &Source,
    own: Option<&Path>,
    scope: &ProjectFiles<'_>,
) -> Result<String, DefinitionError> {
    let path = source.path().unwrap_or(Path::new(""));
    let located = match own {
        Some(_) => scope.locate_own(path, own),
        None => scope.locate(path, None),
    };
    let located = located.map_err(|why| why.to_string());
    let text = located.and_then(|path| file::text(&path, MAX_FILE).map_err(|why| why.to_string()));
    text.map_err(|why| DefinitionError {
        place: source.clone(),
        line: None,
        message: format!("cannot be read: {why}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_fingerprint_changes_with_every_change_of_a_definition_and_with_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("agents");
        let look = || fingerprint([(folder.as_path(), None)].into_iter());
        let absent = look();
        fs::create_dir(&folder).unwrap();
        assert_eq!(look(), absent, "an empty folder is none");
        let file = folder.join("a.md");
        fs::write(&file, "one").unwrap();
        let one = look();
        assert_ne!(one, absent);
        fs::write(folder.join("notes.txt"), "x").unwrap();
        assert_eq!(look(), one);
        fs::write(&file, "longer").unwrap();
        let longer = look();
        assert_ne!(longer, one);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert_ne!(look(), longer, "the same length");
        fs::rename(&file, folder.join("b.md")).unwrap();
        assert_ne!(look(), longer);
        fs::remove_file(folder.join("b.md")).unwrap();
        assert_eq!(look(), absent);
    }
}
