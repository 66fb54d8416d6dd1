//! Folders of definitions on disk: which files count, their text, and whether any has changed.

use std::path::Path;

use crate::disk::{FoundFile, ProjectFiles, ScopeError};
use crate::markdown::folder::{self, FolderEntry};
use crate::markdown::{Fingerprint, file, front_matter};

/// The size limit of a definition file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// The most files read from one folder.
const MAX_FILES: usize = 1000;

/// Fingerprints folders of definitions without reading any file, to detect changes. Each folder
/// comes with the allowed targets of its links if it is the project's.
pub(super) fn fingerprint<'a>(
    folders: impl Iterator<Item = (&'a Path, Option<&'a ProjectFiles<'a>>)>,
) -> Fingerprint {
    // A folder that cannot be listed is a problem of its own, which may come and go.
    let seen = |entry: FolderEntry| entry.unwrap_or_else(|error| error.path);
    Fingerprint::new(folders.flat_map(|(folder, scope)| files(folder, scope)).map(seen))
}

/// The `.md` files in a folder and below it, by name. A missing folder has none. `scope` is what
/// links in a folder of the project may lead to.
pub(super) fn files(folder: &Path, scope: Option<&ProjectFiles<'_>>) -> Vec<FolderEntry> {
    let bar = |folder: &Path| match scope?.enter(folder) {
        Err(ScopeError::Outside(why)) => Some(why),
        // One that cannot be inspected reports an error when listed.
        Ok(()) | Err(ScopeError::Io(_)) => None,
    };
    folder::list_files(folder, &bar, MAX_FILES)
}

/// Whether a file only describes its folder, as in collections of definitions.
pub(super) fn is_readme(path: &Path, text: &str) -> bool {
    let stem = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
    stem && !front_matter::has_front_matter(text)
}

/// Finds a definition file. `own` is its folder if that is the user's; `scope` is what links of the
/// project may lead to.
pub(super) fn locate(
    path: &Path,
    own: Option<&Path>,
    scope: &ProjectFiles<'_>,
) -> Result<FoundFile, String> {
    let located = match own {
        Some(_) => scope.locate_user_file(path, own),
        None => scope.locate(path, None),
    };
    located.map_err(|why| format!("cannot be read: {why}"))
}

/// Reads the text of a definition file.
pub(super) fn read(found: &FoundFile) -> Result<String, String> {
    let opened = found.open().map_err(|why| format!("cannot be read: {why}"))?;
    file::read_text(opened, MAX_FILE_BYTES).map_err(|why| format!("cannot be read: {why}"))
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
        assert_eq!(look(), absent, "an empty folder counts as none");
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
