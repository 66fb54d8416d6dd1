//! Walks folders of Markdown files recursively, within bounds: links may lead anywhere, and a
//! project may bring any number of files.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Maximum depth of folders.
const MAX_DEPTH: usize = 8;

/// Maximum number of folders below one: links can multiply a few.
const MAX_FOLDERS: usize = 200;

/// Maximum number of entries of one folder.
const MAX_ENTRIES: usize = 5000;

/// A folder that was not walked completely, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderError {
    pub path: PathBuf,
    pub message: String,
}

/// A file, or a folder that could not be walked.
pub type FolderEntry = Result<PathBuf, FolderError>;

/// Lists up to `most` `.md` files at and below `folder`, by name. A missing folder has none. If
/// `bar` returns a reason against a folder, it is not walked and the reason is the message; each
/// file must be checked when it is read.
pub fn list_files(
    folder: &Path,
    bar: &dyn Fn(&Path) -> Option<String>,
    most: usize,
) -> Vec<FolderEntry> {
    let mut walk =
        FolderWalk { bar, most, above: Vec::new(), folders: 0, left_out: None, found: Vec::new() };
    walk.walk_folder(folder);
    if let Some(why) = walk.left_out.take() {
        let message = format!("not fully read: {why}");
        walk.found.insert(0, Err(FolderError { path: folder.to_owned(), message }));
    }
    walk.found
}

/// Lists up to `most` folders directly in `folder` that contain a file of this name, as the paths
/// of those files, by name. `things` names them for the user. A missing folder has none.
pub fn list_folders_with(folder: &Path, file: &str, most: usize, things: &str) -> Vec<FolderEntry> {
    let (mut found, mut left_out) = (Vec::new(), false);
    let listed = match read_entries(folder) {
        Ok(listed) => listed,
        Err(error) => return vec![Err(error)],
    };
    left_out |= listed.left_out;
    // A broken link is kept, so that reading it reports the error.
    let files = listed.entries.into_iter().map(|entry| entry.path.join(file));
    for path in files.filter(|path| path.symlink_metadata().is_ok()) {
        if found.len() == most {
            left_out = true;
            break;
        }
        found.push(Ok(path));
    }
    if left_out {
        let message = format!("not fully read: the first {most} {things} by name are used");
        found.insert(0, Err(FolderError { path: folder.to_owned(), message }));
    }
    found
}

/// The state of one walk.
struct FolderWalk<'a> {
    /// Returns the reason not to walk a folder.
    bar: &'a dyn Fn(&Path) -> Option<String>,
    /// The limit of files.
    most: usize,
    /// The folders that led here, to detect link cycles.
    above: Vec<PathBuf>,
    /// Number of folders walked.
    folders: usize,
    /// The first limit that was exceeded.
    left_out: Option<String>,
    found: Vec<FolderEntry>,
}

impl FolderWalk<'_> {
    fn note_left_out(&mut self, why: impl FnOnce() -> String) {
        self.left_out.get_or_insert_with(why);
    }

    fn walk_folder(&mut self, folder: &Path) {
        // One that cannot be resolved is reported when it is listed.
        let real = folder.canonicalize().ok();
        if real.is_some()
            && let Some(why) = (self.bar)(folder)
        {
            let message = format!("this folder {why}");
            self.found.push(Err(FolderError { path: folder.to_owned(), message }));
            return;
        }
        let real = real.unwrap_or_else(|| folder.to_owned());
        if self.above.contains(&real) {
            return;
        }
        if self.above.len() == MAX_DEPTH {
            let deep = || format!("{} lies more than {MAX_DEPTH} folders deep", folder.display());
            return self.note_left_out(deep);
        }
        let listed = match read_entries(folder) {
            Ok(listed) => listed,
            Err(error) => return self.found.push(Err(error)),
        };
        if listed.left_out {
            let many = || format!("{} has more than {MAX_ENTRIES} entries", folder.display());
            self.note_left_out(many);
        }
        self.above.push(real);
        self.folders += 1;
        for ListedPath { path, is_folder } in listed.entries {
            let is_file = !is_folder && path.extension().is_some_and(|extension| extension == "md");
            if !is_folder && !is_file {
                continue;
            }
            if self.found.len() >= self.most {
                let most = self.most;
                self.note_left_out(|| format!("the first {most} files by name are used"));
                break;
            }
            if self.folders >= MAX_FOLDERS {
                self.note_left_out(|| {
                    format!("the files of the first {MAX_FOLDERS} folders are used")
                });
                break;
            }
            if is_folder {
                self.walk_folder(&path);
            } else {
                self.found.push(Ok(path));
            }
        }
        self.above.pop();
    }
}

/// The relevant entries of one folder, by name.
#[derive(Default)]
struct FolderEntries {
    entries: BTreeSet<ListedPath>,
    left_out: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ListedPath {
    path: PathBuf,
    is_folder: bool,
}

/// Reads the sub-folders and `.md` files of a folder. If there are too many, keeps the first by name.
fn read_entries(folder: &Path) -> Result<FolderEntries, FolderError> {
    let unreadable = |error: std::io::Error| FolderError {
        path: folder.to_owned(),
        message: format!("this folder cannot be read: {error}"),
    };
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FolderEntries::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut all = FolderEntries::default();
    for entry in listed {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let is_folder = is_folder(&entry, &path);
        if is_folder || path.extension().is_some_and(|extension| extension == "md") {
            all.entries.insert(ListedPath { path, is_folder });
        }
        if all.entries.len() > MAX_ENTRIES {
            all.entries.pop_last();
            all.left_out = true;
        }
    }
    Ok(all)
}

/// Whether an entry is a folder or a link to one. Only links need another lookup.
fn is_folder(entry: &DirEntry, path: &Path) -> bool {
    match entry.file_type() {
        Ok(kind) if !kind.is_symlink() => kind.is_dir(),
        _ => path.is_dir(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn shown(found: &[FolderEntry], top: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(top).unwrap().display().to_string();
        let line = |entry: &FolderEntry| match entry {
            Ok(path) => name(path),
            Err(error) => format!("{}: {}", name(&error.path), error.message),
        };
        found.iter().map(line).collect()
    }

    #[test]
    fn files_below_come_by_name_and_links_lead_neither_out_nor_in_circles() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for folder in ["in/b/c", "out", "in/d.md"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["in/z.md", "in/a.md", "in/b/c/x.md", "in/b/x.txt", "out/y.md", "in/d.md/e.md"]
        {
            fs::write(at(file), "").unwrap();
        }
        symlink(at("out"), at("in/b/out")).unwrap();
        symlink(at("in"), at("in/b/loop")).unwrap();
        let out = at("out").canonicalize().unwrap();
        let bar = |folder: &Path| {
            let leads_out = folder.canonicalize().unwrap() == out;
            leads_out.then(|| "is a link that leads out of the project".to_owned())
        };
        let free = |_: &Path| None;
        let found = list_files(&at("in"), &bar, 10);
        assert_eq!(
            shown(&found, top.path()),
            [
                "in/a.md",
                "in/b/c/x.md",
                "in/b/out: this folder is a link that leads out of the project",
                "in/d.md/e.md",
                "in/z.md",
            ]
        );
        let all = list_files(&at("in"), &free, 10);
        assert!(shown(&all, top.path()).contains(&"in/b/out/y.md".to_owned()));
        assert_eq!(list_files(&at("missing"), &free, 10), []);
    }

    #[test]
    fn of_too_many_the_first_by_name_count_and_it_says_so() {
        let top = tempfile::tempdir().unwrap();
        for number in (0..30).rev() {
            let folder = top.path().join(format!("s{number:02}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("SKILL.md"), "").unwrap();
        }
        let walked = shown(&list_files(top.path(), &|_| None, 2), top.path());
        assert_eq!(walked[1..], ["s00/SKILL.md", "s01/SKILL.md"]);
        assert!(
            walked[0].contains("not fully read: the first 2 files by name are used"),
            "{walked:?}"
        );
        let skills = list_folders_with(top.path(), "SKILL.md", 2, "skills");
        let skills = shown(&skills, top.path());
        assert_eq!(skills[1..], ["s00/SKILL.md", "s01/SKILL.md"]);
        assert!(
            skills[0].ends_with("not fully read: the first 2 skills by name are used"),
            "{skills:?}"
        );
        assert_eq!(list_folders_with(top.path(), "SKILL.md", 30, "skills").len(), 30);
    }
}
