//! Walks folders of Markdown files, and those below them, within bounds: links may lead anywhere,
//! and a project may bring any number of files.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How deep folders go.
const MAX_DEPTH: usize = 8;

/// More folders below one are not looked into: links can make very many of a few.
const MAX_FOLDERS: usize = 200;

/// More entries of one folder are not looked at.
const MAX_ENTRIES: usize = 5000;

/// A folder that is not walked, or not to its end, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderError {
    pub path: PathBuf,
    pub message: String,
}

/// A file, or a folder that could not be walked.
pub type Entry = Result<PathBuf, FolderError>;

/// Lists the `.md` files at and below `folder`, by name, `most` of them. A missing folder has none.
/// A folder that `bar` has something against is not walked, and what it says about the folder is
/// the message; each file has to be checked when it is read.
#[must_use]
pub fn files(folder: &Path, bar: &dyn Fn(&Path) -> Option<String>, most: usize) -> Vec<Entry> {
    let mut walk =
        Walk { bar, most, above: Vec::new(), folders: 0, left_out: None, found: Vec::new() };
    walk.folder(folder);
    if let Some(why) = walk.left_out.take() {
        let message = format!("it holds too much: {why}");
        walk.found.insert(0, Err(FolderError { path: folder.to_owned(), message }));
    }
    walk.found
}

/// Lists the folders directly in `folder` that hold a file of this name, as the paths of those
/// files, `most` of them, by name. `things` names them for the user. A missing folder has none.
#[must_use]
pub fn folders_with(folder: &Path, file: &str, most: usize, things: &str) -> Vec<Entry> {
    let (mut found, mut left_out) = (Vec::new(), false);
    let listed = match entries(folder) {
        Ok(listed) => listed,
        Err(error) => return vec![Err(error)],
    };
    left_out |= listed.left_out;
    // A link that leads nowhere is kept, so that reading it says why.
    let files = listed.entries.into_iter().map(|entry| entry.path.join(file));
    for path in files.filter(|path| path.symlink_metadata().is_ok()) {
        if found.len() == most {
            left_out = true;
            break;
        }
        found.push(Ok(path));
    }
    if left_out {
        let message = format!("it holds too much: the first {most} {things} by name count");
        found.insert(0, Err(FolderError { path: folder.to_owned(), message }));
    }
    found
}

/// The state of one walk.
struct Walk<'a> {
    /// Why a folder is not walked.
    bar: &'a dyn Fn(&Path) -> Option<String>,
    /// The limit of files.
    most: usize,
    /// The folders that led here, since links may lead in circles.
    above: Vec<PathBuf>,
    /// How many were looked into.
    folders: usize,
    /// The first bound that left something out.
    left_out: Option<String>,
    found: Vec<Entry>,
}

impl Walk<'_> {
    fn leave_out(&mut self, why: impl FnOnce() -> String) {
        self.left_out.get_or_insert_with(why);
    }

    fn folder(&mut self, folder: &Path) {
        // One that cannot be followed is reported when it is listed.
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
            return self.leave_out(deep);
        }
        let listed = match entries(folder) {
            Ok(listed) => listed,
            Err(error) => return self.found.push(Err(error)),
        };
        if listed.left_out {
            let many = || format!("of {}, {MAX_ENTRIES} entries count", folder.display());
            self.leave_out(many);
        }
        self.above.push(real);
        self.folders += 1;
        for Listed { path, is_folder } in listed.entries {
            let is_file = !is_folder && path.extension().is_some_and(|extension| extension == "md");
            if !is_folder && !is_file {
                continue;
            }
            if self.found.len() >= self.most {
                let most = self.most;
                self.leave_out(|| format!("the first {most} files by name count"));
                break;
            }
            if self.folders >= MAX_FOLDERS {
                self.leave_out(|| format!("the files of the first {MAX_FOLDERS} folders count"));
                break;
            }
            if is_folder {
                self.folder(&path);
            } else {
                self.found.push(Ok(path));
            }
        }
        self.above.pop();
    }
}

/// The entries of one folder that may matter, by name.
#[derive(Default)]
struct Entries {
    entries: BTreeSet<Listed>,
    left_out: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    path: PathBuf,
    is_folder: bool,
}

/// The sub-folders and `.md` files of a folder. Of too many, the first by name stay.
fn entries(folder: &Path) -> Result<Entries, FolderError> {
    let unreadable = |error: std::io::Error| FolderError {
        path: folder.to_owned(),
        message: format!("this folder cannot be read: {error}"),
    };
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Entries::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut all = Entries::default();
    for entry in listed {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let is_folder = is_folder(&entry, &path);
        if is_folder || path.extension().is_some_and(|extension| extension == "md") {
            all.entries.insert(Listed { path, is_folder });
        }
        if all.entries.len() > MAX_ENTRIES {
            all.entries.pop_last();
            all.left_out = true;
        }
    }
    Ok(all)
}

/// Whether an entry is a folder or leads to one. Only links need a second look.
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

    fn shown(found: &[Entry], top: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(top).unwrap().display().to_string();
        let line = |entry: &Entry| match entry {
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
        let found = files(&at("in"), &bar, 10);
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
        let all = files(&at("in"), &free, 10);
        assert!(shown(&all, top.path()).contains(&"in/b/out/y.md".to_owned()));
        assert_eq!(files(&at("missing"), &free, 10), []);
    }

    #[test]
    fn of_too_many_the_first_by_name_count_and_it_says_so() {
        let top = tempfile::tempdir().unwrap();
        for number in (0..30).rev() {
            let folder = top.path().join(format!("s{number:02}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("SKILL.md"), "").unwrap();
        }
        let walked = shown(&files(top.path(), &|_| None, 2), top.path());
        assert_eq!(walked[1..], ["s00/SKILL.md", "s01/SKILL.md"]);
        assert!(
            walked[0].contains("it holds too much: the first 2 files by name count"),
            "{walked:?}"
        );
        let skills = folders_with(top.path(), "SKILL.md", 2, "skills");
        let skills = shown(&skills, top.path());
        assert_eq!(skills[1..], ["s00/SKILL.md", "s01/SKILL.md"]);
        assert!(skills[0].ends_with("too much: the first 2 skills by name count"), "{skills:?}");
        assert_eq!(folders_with(top.path(), "SKILL.md", 30, "skills").len(), 30);
    }
}
