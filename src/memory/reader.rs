//! Reads memory files and what they import: each file once, within bounds, and with a line for what
//! does not count.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::import::{self, Import};
use super::{Memory, Section};
use crate::disk::{ProjectFiles, ProjectScope, ScopeError, repository_root};
use crate::markdown::file;
use crate::protocol::printable_path;
use crate::tool::path::resolve;

/// More than this of one file is left out, with a word about it. Bytes.
const FILE_LIMIT: usize = 32 * 1024;

/// The same of all files together: what models read before every prompt has to stay small.
const TOTAL_LIMIT: usize = 128 * 1024;

/// How many files count.
const MAX_FILES: usize = 100;

/// How far imports of imports go.
const MAX_DEPTH: usize = 5;

/// How many imports are followed, those of the same file counted each time.
const MAX_IMPORTS: usize = 1000;

/// How many lines are told.
const MAX_NOTICES: usize = 20;

/// Whose file it is: that says where its imports may lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// May import what the user may read, but through no link of the project.
    Person,
    /// May import what the scope allows, and so may all that it imports.
    Project,
}

/// Collects the files of a memory.
pub(super) struct Reader<'a> {
    pub memory: Memory,
    scope: &'a ProjectScope,
    files: ProjectFiles<'a>,
    home: Option<&'a Path>,
    hides: &'a dyn Fn(&Path) -> bool,
    /// Files that were read, without links.
    read: HashSet<PathBuf>,
    total: usize,
    imports: usize,
    /// How many lines were not told.
    untold: usize,
}

/// A file that was not read: `None` when it is no loss.
type Missed = Option<String>;

impl<'a> Reader<'a> {
    pub fn new(
        scope: &'a ProjectScope,
        home: Option<&'a Path>,
        hides: &'a dyn Fn(&Path) -> bool,
    ) -> Self {
        let (memory, read, files) = (Memory::default(), HashSet::new(), scope.files());
        Self { memory, scope, files, home, hides, read, total: 0, imports: 0, untold: 0 }
    }

    /// Reads a file of the person's own, if it is there.
    pub fn add_own(&mut self, path: &Path) {
        self.add_top(path, Owner::Person);
    }

    /// Reads a file of the project, if it is there.
    pub fn add_of_project(&mut self, path: &Path) {
        self.add_top(path, Owner::Project);
    }

    fn add_top(&mut self, path: &Path, owner: Owner) {
        match self.locate(path, None, owner) {
            Ok(real) if self.read.contains(&real) => {}
            Ok(real) => {
                let added = self.add(path, &real, None, owner, &mut Vec::new());
                self.tell(added, |why| format!("{} was not read: {why}", printable_path(path)));
            }
            Err(missed) => {
                self.tell(Err(missed), |why| {
                    format!("{} was not read: {why}", printable_path(path))
                });
            }
        }
    }

    fn tell(&mut self, result: Result<(), Missed>, words: impl FnOnce(&str) -> String) {
        if let Err(Some(why)) = result {
            self.notice(words(&why));
        }
    }

    fn notice(&mut self, line: String) {
        match self.memory.notices.len() < MAX_NOTICES {
            true => self.memory.notices.push(line),
            false => self.untold += 1,
        }
    }

    /// What was read.
    pub fn finish(mut self) -> Memory {
        // What git tracks decides then too.
        if let Some(index) = self.files.index() {
            self.memory.seen.look(index);
        }
        if self.untold > 0 {
            let text = format!("{} more lines like these about memory files", self.untold);
            self.memory.notices.push(text);
        }
        self.memory
    }

    /// Where a file really lies, if one of `owner` may bring it in.
    fn locate(
        &mut self,
        path: &Path,
        importer: Option<&Path>,
        owner: Owner,
    ) -> Result<PathBuf, Missed> {
        self.memory.seen.look(path.to_owned());
        let missed = |error: ScopeError| match error {
            ScopeError::Io(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                None
            }
            error => Some(error.to_string()),
        };
        let located = match owner {
            Owner::Person => {
                let own = if importer.is_none() { path.parent() } else { None };
                self.files.locate_own(path, own)
            }
            Owner::Project => match path.canonicalize() {
                // What was read already is brought in by nothing else.
                Ok(real) if self.read.contains(&real) => Ok(real),
                _ => self.files.locate(path, importer),
            },
        };
        located.map_err(missed)
    }

    /// Reads one file, which one of `owner` brought, then what it imports. `chain` are the files
    /// that led here.
    fn add(
        &mut self,
        path: &Path,
        real: &Path,
        by: Option<&Path>,
        owner: Owner,
        chain: &mut Vec<PathBuf>,
    ) -> Result<(), Missed> {
        if (self.hides)(path) || (self.hides)(real) {
            return Err(Some("a permission rule denies it or asks about it".to_owned()));
        }
        if self.read.len() == MAX_FILES {
            return Err(Some(format!("{MAX_FILES} files count at most")));
        }
        let text = self.load(path, real)?;
        self.read.insert(real.to_owned());
        // Many projects keep the same text under both names.
        let known = self.memory.sections.iter().any(|section| section.text == text);
        if !known && !text.is_empty() && !import::is_all(&text) {
            self.total += text.len();
            let by = by.map(Path::to_owned);
            let section = Section { path: path.to_owned(), by, text: text.clone() };
            self.memory.sections.push(section);
        }
        chain.push(real.to_owned());
        let owner = if self.scope.contains(real) { Owner::Project } else { owner };
        for import in import::find(&text) {
            if self.imports == MAX_IMPORTS {
                self.notice(format!(
                    "{}:{}: @{} was not read, nor what comes after it: {MAX_IMPORTS} imports count at most",
                    printable_path(path), import.line, import.path
                ));
                break;
            }
            self.imports += 1;
            self.follow(path, &import, owner, chain);
        }
        chain.pop();
        Ok(())
    }

    /// Reads what a file imports.
    fn follow(&mut self, importer: &Path, import: &Import, owner: Owner, chain: &mut Vec<PathBuf>) {
        let folder = importer.parent().unwrap_or(importer);
        let path = resolve(&import.path, folder, self.home);
        let located = self.locate(&path, Some(importer), owner);
        let located = located.and_then(|real| match self.leaves_checkout(&path, &real, chain) {
            true if owner == Owner::Person => {
                Err(Some("it is outside the checkout that brings it in".to_owned()))
            }
            _ => Ok(real),
        });
        let result = match located {
            Ok(real) if chain.contains(&real) => {
                Err(Some("the files import each other in a circle: each is read once".to_owned()))
            }
            Ok(real) if self.read.contains(&real) => Ok(()),
            Ok(_) if chain.len() > MAX_DEPTH => {
                Err(Some(format!("imports of imports go {MAX_DEPTH} deep at most")))
            }
            Ok(real) => self.add(&path, &real, Some(importer), owner, chain),
            Err(None) if import.means_a_file() => Err(Some("there is no such file".to_owned())),
            Err(missed) => Err(missed),
        };
        self.tell(result, |why| {
            format!(
                "{}:{}: @{} was not read: {why}",
                printable_path(importer),
                import.line,
                import.path
            )
        });
    }

    /// Whether a file of a checkout, or a link in one, brings in a file from outside it. What the
    /// user imports from a checkout was written by others; only the checkout in which the user's own
    /// file lies is the user's.
    fn leaves_checkout(&self, path: &Path, real: &Path, chain: &[PathBuf]) -> bool {
        let around = |file: &Path| {
            let root = repository_root(file.parent()?, self.home)?;
            root.canonicalize().ok()
        };
        let own = chain.first().and_then(|top| around(top));
        let importer = chain.last().and_then(|importer| around(importer));
        let checkouts = [importer, around(path)].into_iter().flatten();
        checkouts.into_iter().any(|root| Some(&root) != own.as_ref() && !real.starts_with(root))
    }

    /// A file's text without blank lines around it, as much as there is room for.
    fn load(&mut self, path: &Path, real: &Path) -> Result<String, Missed> {
        let bytes =
            file::head(real, FILE_LIMIT as u64 + 1).map_err(|error| Some(error.to_string()))?;
        if bytes.contains(&0) {
            return Err(Some("it is not text".to_owned()));
        }
        let limit = FILE_LIMIT.min(TOTAL_LIMIT - self.total.min(TOTAL_LIMIT));
        if limit == 0 {
            let kib = TOTAL_LIMIT / 1024;
            return Err(Some(format!("the files before it already hold {kib} KB")));
        }
        let cut = bytes.len() > limit;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let (bytes, place) = (error.as_bytes(), error.utf8_error().valid_up_to());
                // A character that the limit has cut is not a mistake in the file.
                if !cut || place + 4 < bytes.len() {
                    let line = file::line_at(bytes, place);
                    let notice = format!(
                        "{}:{line}: this is not valid UTF-8: what cannot be read shows as �",
                        printable_path(path)
                    );
                    self.notice(notice);
                }
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        if !cut {
            return Ok(text.trim().to_owned());
        }
        let kib = limit.div_ceil(1024);
        let notice = format!("{} is long: only its first {kib} KB are used", printable_path(path));
        self.notice(notice);
        Ok(text[..text.floor_char_boundary(limit)].trim().to_owned())
    }
}
