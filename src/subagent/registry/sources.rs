//! The folders in which definitions are looked for, and what their files say.

use std::path::{Path, PathBuf};

use super::{Definitions, Problem};
use crate::config::Inert;
use crate::disk::{ProjectFiles, ProjectScope};
use crate::markdown::Fingerprint;
use crate::markdown::folder::FolderError;
use crate::markdown::front_matter;
use crate::subagent::definition::{
    Accepted, Definition, DefinitionError, Dialect, Parsed, Source, flag,
};
use crate::subagent::folder;

/// Where definitions are looked for. Making it reads nothing.
#[derive(Clone, Debug)]
pub struct DefinitionSources {
    /// From the command line; they go before all files.
    pub(super) flag: Definitions,
    /// Highest first.
    folders: Vec<Folder>,
    /// What links of the project may lead to.
    scope: ProjectScope,
    /// What the person has accepted of the project; nothing where it is absent.
    pub(super) accepted: Option<Accepted>,
}

/// One such folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    dialect: Dialect,
    /// Whether it comes with the project, whose links may not lead everywhere.
    pub(super) project: bool,
}

/// A folder of definitions with what its files say, each read once.
pub(super) struct ReadFolder<'a> {
    pub folder: &'a Folder,
    pub files: Vec<ReadFile>,
}

/// One file of definitions: its text and what that means.
pub(super) struct ReadFile {
    pub source: Source,
    pub parsed: Result<(String, Parsed), Problem>,
}

impl Folder {
    fn read(&self, accepted: Option<&Accepted>, scope: &ProjectFiles<'_>) -> ReadFolder<'_> {
        let Self { path, dialect, project } = self;
        let own = (!project).then_some(path.as_path());
        let files = folder::files(path, project.then_some(scope)).into_iter().filter_map(|entry| {
            let file = |path: PathBuf| {
                let project = own.is_some_and(|own| scope.owns(&path, own)) || *project;
                Source::File { path, project }
            };
            let source = match entry {
                Ok(path) => file(path),
                Err(FolderError { path, message }) => {
                    let source = file(path);
                    let error = DefinitionError { place: source.clone(), line: None, message };
                    return Some(ReadFile { source, parsed: Err(Problem::Refused(error)) });
                }
            };
            let text = match folder::read(&source, own, scope) {
                Ok(text) => text,
                Err(error) => {
                    return Some(ReadFile { source, parsed: Err(Problem::Refused(error)) });
                }
            };
            if source.path().is_some_and(|path| folder::is_readme(path, &text)) {
                return None;
            }
            let problem = match dialect {
                Dialect::Foreign if !front_matter::begins(&text) => Problem::Warning,
                _ => Problem::Refused,
            };
            let parsed = Definition::parse(&text, &source, *dialect, accepted);
            let parsed = parsed.map(|parsed| (text, parsed)).map_err(problem);
            Some(ReadFile { source, parsed })
        });
        ReadFolder { folder: self, files: files.collect() }
    }
}

impl DefinitionSources {
    /// `project` are the folders from the working directory up to the repository's root, `own` is
    /// the person's folder of definitions. `.caliban/agents` goes before `.claude/agents`, and in
    /// each the nearest folder first.
    #[must_use]
    pub fn new(project: &[PathBuf], own: PathBuf) -> Self {
        let below = |name: &'static str, dialect| {
            let folder =
                move |above: &PathBuf| Folder { path: above.join(name), dialect, project: true };
            project.iter().map(folder)
        };
        let own = Folder { path: own, dialect: Dialect::Own, project: false };
        let folders = below(".caliban/agents", Dialect::Own)
            .chain(below(".claude/agents", Dialect::Foreign))
            .chain([own])
            .collect();
        let scope = ProjectScope::new(project, &[]);
        Self { flag: Definitions::default(), folders, scope, accepted: None }
    }

    /// The same where links of the project may lead to what this scope has.
    #[must_use]
    pub fn in_scope(self, scope: ProjectScope) -> Self {
        Self { scope, ..self }
    }

    /// The same without the project's `.claude/agents`.
    #[must_use]
    pub fn without_claude(mut self) -> Self {
        self.folders.retain(|folder| !folder.project || folder.dialect != Dialect::Foreign);
        self
    }

    /// The same, with the `agents` of the user's `.claude` folder after all others.
    #[must_use]
    pub fn with_claude_home(mut self, claude: Option<&Path>) -> Self {
        self.folders.extend(claude.map(|claude| Folder {
            path: claude.join("agents"),
            dialect: Dialect::Foreign,
            project: false,
        }));
        self
    }

    /// The same, with what the person has accepted of the project.
    #[must_use]
    pub fn with_accepted(self, accepted: Accepted) -> Self {
        Self { accepted: Some(accepted), ..self }
    }

    /// Reads every folder, each file once. A folder of the user's that lies in the project, as it
    /// does in the home folder, is the user's alone.
    pub(super) fn read(&self) -> Vec<ReadFolder<'_>> {
        let real = |folder: &Folder| folder.path.canonicalize().ok();
        let own: Vec<_> = self.folders.iter().filter(|it| !it.project).filter_map(real).collect();
        let is_own = |folder: &Folder| real(folder).is_some_and(|real| own.contains(&real));
        let folders = self.folders.iter().filter(|folder| !folder.project || !is_own(folder));
        let scope = self.scope.files();
        folders.map(|folder| folder.read(self.accepted.as_ref(), &scope)).collect()
    }

    /// One line for the person about such parts; `None` when there are none.
    #[must_use]
    pub fn notice(&self, inert: &[Inert]) -> Option<String> {
        self.accepted.as_ref()?.trust.notice(inert)
    }

    /// The same, with the definitions of `--agents` before all others, behind those that were given
    /// before. Their hooks and servers start in `cwd`.
    ///
    /// # Errors
    /// With the agent and the key of the first mistake.
    pub fn with_flag(self, json: &str, cwd: &Path) -> Result<Self, DefinitionError> {
        let mut all = self.flag;
        for parsed in flag::parse(json, cwd)? {
            let Definition { name, .. } = &parsed.definition;
            if let Some(why) = all.taken(&parsed.definition) {
                let message = format!("{name}: {why}");
                return Err(DefinitionError { place: Source::Flag, line: None, message });
            }
            all.add(Ok(parsed));
        }
        Ok(Self { flag: all, ..self })
    }

    /// What the files look like from outside. While it stays the same, loading again finds the same.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let folders = self.folders.iter();
        folder::fingerprint(folders.map(|it| (it.path.as_path(), it.project.then_some(&scope))))
    }
}
