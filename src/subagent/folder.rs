//! Folders of definitions on disk: which files count, their text, and whether any has changed.

use std::io::ErrorKind;
use std::path::Path;

use super::definition::{DefinitionError, Source};
use crate::markdown::folder::{self, Entry};
use crate::markdown::{Fingerprint, file, front_matter};

/// A longer file is no prompt. Bytes.
const MAX_FILE: u64 = 256 << 10;

/// More files of one folder are not looked at.
const MAX_FILES: usize = 1000;

/// What folders of definitions look like without reading any file: to be compared with a later look. Each folder comes
/// with the one that its links may not lead out of.
pub(super) fn fingerprint<'a>(
    folders: impl Iterator<Item = (&'a Path, Option<&'a Path>)>,
) -> Fingerprint {
    // A folder that cannot be listed is a problem of its own, which may come and go.
    let seen = |entry: Entry| entry.unwrap_or_else(|error| error.path);
    Fingerprint::of(folders.flat_map(|(folder, within)| files(folder, within)).map(seen))
}

/// The `.md` files of a folder and those below it, by name. A missing folder has none.
pub(super) fn files(folder: &Path, within: Option<&Path>) -> Vec<Entry> {
    folder::files(folder, within, MAX_FILES)
}

/// Whether a file is about the folder that it lies in: collections of definitions explain themselves so.
pub(super) fn is_readme(path: &Path, text: &str) -> bool {
    let stem = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
    stem && !front_matter::begins(text)
}

/// The text of a definition's file, which has to lie in the project `within` where there is one.
pub(super) fn read(source: &Source, within: Option<&Path>) -> Result<String, DefinitionError> {
    let path = source.path().unwrap_or(Path::new(""));
    let text = match within.is_none_or(|project| is_within(path, project)) {
        true => file::text(path, MAX_FILE).map_err(|why| why.to_string()),
        false => Err("it is a link that leads out of the project".to_owned()),
    };
    text.map_err(|why| DefinitionError {
        place: source.clone(),
        line: None,
        message: format!("cannot be read: {why}"),
    })
}

/// Whether the file really lies in the project. One that is not there leads nowhere.
fn is_within(path: &Path, project: &Path) -> bool {
    match (path.canonicalize(), project.canonicalize()) {
        (Ok(path), Ok(project)) => path.starts_with(project),
        (Err(error), _) => error.kind() == ErrorKind::NotFound,
        (_, Err(_)) => false,
    }
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
