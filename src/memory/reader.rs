//! Reads memory files and their imports: each file once, within bounds, with a notice for each one skipped.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::import::{self, Import};
use super::sections::{Memory, MemorySection};
use crate::disk::{FoundFile, ProjectFiles, ProjectScope, ScopeError, repository_root};
use crate::markdown::file;
use crate::protocol::printable_path;
use crate::tool::path::resolve;

/// Maximum size of one file, in bytes; the rest is cut with a notice.
const FILE_LIMIT: usize = 32 * 1024;

/// Maximum size of all files together: models read them before every prompt.
const TOTAL_LIMIT: usize = 128 * 1024;

/// Maximum number of files.
const MAX_FILES: usize = 100;

/// Maximum depth of nested imports.
const MAX_DEPTH: usize = 5;

/// Maximum number of imports to follow, counting repeated ones.
const MAX_IMPORTS: usize = 1000;

/// Maximum number of notices.
const MAX_NOTICES: usize = 20;

/// The owner of a file, which determines where its imports may lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemoryOwner {
    /// May import anything the user can read, but through no link of the project.
    User,
    /// May import what the scope allows, and so may everything it imports.
    Project,
}

/// Collects the files of a memory.
pub(super) struct MemoryReader<'a> {
    pub memory: Memory,
    scope: &'a ProjectScope,
    files: ProjectFiles<'a>,
    home: Option<&'a Path>,
    hides: &'a dyn Fn(&Path) -> bool,
    /// The files that were read, by their resolved paths.
    read: HashMap<PathBuf, FoundFile>,
    total: usize,
    imports: usize,
    /// Number of notices that were dropped.
    dropped_notices: usize,
}

/// The reason why a file was skipped; `None` if that needs no notice.
type SkipReason = Option<String>;

impl<'a> MemoryReader<'a> {
    pub fn new(
        scope: &'a ProjectScope,
        home: Option<&'a Path>,
        hides: &'a dyn Fn(&Path) -> bool,
    ) -> Self {
        let (memory, read, files) = (Memory::default(), HashMap::new(), scope.files());
        Self { memory, scope, files, home, hides, read, total: 0, imports: 0, dropped_notices: 0 }
    }

    /// Reads one of the user's files, if it exists.
    pub fn add_user_file(&mut self, path: &Path) {
        self.add_top(path, MemoryOwner::User);
    }

    /// Reads a file of the project, if it exists.
    pub fn add_project_file(&mut self, path: &Path) {
        self.add_top(path, MemoryOwner::Project);
    }

    fn add_top(&mut self, path: &Path, owner: MemoryOwner) {
        match self.locate(path, None, owner) {
            Ok(found) if self.read.contains_key(found.path()) => {}
            Ok(found) => {
                let added = self.add(path, found, None, owner, &mut Vec::new());
                self.report_skipped(added, |why| {
                    format!("{} was not read: {why}", printable_path(path))
                });
            }
            Err(missed) => {
                self.report_skipped(Err(missed), |why| {
                    format!("{} was not read: {why}", printable_path(path))
                });
            }
        }
    }

    fn report_skipped(
        &mut self,
        result: Result<(), SkipReason>,
        words: impl FnOnce(&str) -> String,
    ) {
        if let Err(Some(why)) = result {
            self.notice(words(&why));
        }
    }

    fn notice(&mut self, line: String) {
        match self.memory.notices.len() < MAX_NOTICES {
            true => self.memory.notices.push(line),
            false => self.dropped_notices += 1,
        }
    }

    /// Returns the memory.
    pub fn finish(mut self) -> Memory {
        // The result then depends on git's index too.
        if let Some(index) = self.files.index() {
            self.memory.seen.add_file(index);
        }
        if self.dropped_notices > 0 {
            let text = format!("{} more notices about memory files", self.dropped_notices);
            self.memory.notices.push(text);
        }
        self.memory
    }

    /// Finds a file, if a file of `owner` may import it.
    fn locate(
        &mut self,
        path: &Path,
        importer: Option<&FoundFile>,
        owner: MemoryOwner,
    ) -> Result<FoundFile, SkipReason> {
        self.memory.seen.add_file(path.to_owned());
        let missed = |error: ScopeError| match error {
            ScopeError::Io(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                None
            }
            error => Some(error.to_string()),
        };
        let located = match owner {
            MemoryOwner::User => {
                let own = if importer.is_none() { path.parent() } else { None };
                self.files.locate_user_file(path, own)
            }
            MemoryOwner::Project => {
                // A file that was read already may be imported again.
                match path.canonicalize().ok().and_then(|real| self.read.get(&real)) {
                    Some(known) => Ok(known.clone()),
                    None => self.files.locate(path, importer),
                }
            }
        };
        located.map_err(missed)
    }

    /// Reads one file, imported by one of `owner`, then its imports. `chain` are the files that led here.
    fn add(
        &mut self,
        path: &Path,
        found: FoundFile,
        by: Option<&Path>,
        owner: MemoryOwner,
        chain: &mut Vec<FoundFile>,
    ) -> Result<(), SkipReason> {
        let real = found.path();
        if (self.hides)(path) || (self.hides)(real) {
            return Err(Some("a permission rule denies it or asks about it".to_owned()));
        }
        if self.read.len() == MAX_FILES {
            return Err(Some(format!("only {MAX_FILES} files are read")));
        }
        let text = self.load(path, &found)?;
        self.read.insert(real.to_owned(), found.clone());
        // Many projects keep the same text under both names.
        let known = self.memory.sections.iter().any(|section| section.text == text);
        if !known && !text.is_empty() && !import::is_only_imports(&text) {
            self.total += text.len();
            let by = by.map(Path::to_owned);
            let section = MemorySection { path: path.to_owned(), by, text: text.clone() };
            self.memory.sections.push(section);
        }
        let owner = if self.scope.contains(real) { MemoryOwner::Project } else { owner };
        chain.push(found);
        for import in import::find(&text) {
            if self.imports == MAX_IMPORTS {
                self.notice(format!(
                    "{}:{}: @{} was not read, nor what comes after it: only {MAX_IMPORTS} imports are followed",
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

    /// Reads one import of a file.
    fn follow(
        &mut self,
        importer: &Path,
        import: &Import,
        owner: MemoryOwner,
        chain: &mut Vec<FoundFile>,
    ) {
        let folder = importer.parent().unwrap_or(importer);
        let path = resolve(&import.path, folder, self.home);
        let located = self.locate(&path, chain.last(), owner);
        let located = located.and_then(|found| match self.leaves_checkout(&found, chain) {
            true if owner == MemoryOwner::User => {
                Err(Some("it is outside the checkout that brings it in".to_owned()))
            }
            _ => Ok(found),
        });
        let result = match located {
            Ok(found) if chain.iter().any(|above| above.path() == found.path()) => {
                Err(Some("the files import each other; each is read once".to_owned()))
            }
            Ok(found) if self.read.contains_key(found.path()) => Ok(()),
            Ok(_) if chain.len() > MAX_DEPTH => {
                Err(Some(format!("imports may nest only {MAX_DEPTH} deep")))
            }
            Ok(found) => self.add(&path, found, Some(importer), owner, chain),
            Err(None) if import.is_file_path() => Err(Some("there is no such file".to_owned())),
            Err(missed) => Err(missed),
        };
        self.report_skipped(result, |why| {
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
    fn leaves_checkout(&self, found: &FoundFile, chain: &[FoundFile]) -> bool {
        let around = |file: &Path| {
            let root = repository_root(file.parent()?, self.home)?;
            root.canonicalize().ok()
        };
        let own = chain.first().and_then(|top| around(top.path()));
        let importer = chain.last().map(FoundFile::path);
        let mut checkouts = importer.into_iter().chain(found.links()).filter_map(around);
        checkouts.any(|root| Some(&root) != own.as_ref() && !found.path().starts_with(root))
    }

    /// Reads a file's text, trimmed, as far as the limits allow.
    fn load(&mut self, path: &Path, found: &FoundFile) -> Result<String, SkipReason> {
        let opened = found.open().map_err(|error| Some(error.to_string()))?;
        let bytes = file::read_head(opened, FILE_LIMIT as u64 + 1)
            .map_err(|error| Some(error.to_string()))?;
        if bytes.contains(&0) {
            return Err(Some("it is not text".to_owned()));
        }
        let limit = FILE_LIMIT.min(TOTAL_LIMIT - self.total.min(TOTAL_LIMIT));
        if limit == 0 {
            let kib = TOTAL_LIMIT / 1024;
            return Err(Some(format!("the files before it already take {kib} KB")));
        }
        let cut = bytes.len() > limit;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let (bytes, place) = (error.as_bytes(), error.utf8_error().valid_up_to());
                // A character cut by the limit is not a mistake in the file.
                if !cut || place + 4 < bytes.len() {
                    let line = file::line_at(bytes, place);
                    let notice = format!(
                        "{}:{line}: not valid UTF-8: unreadable bytes show as �",
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
