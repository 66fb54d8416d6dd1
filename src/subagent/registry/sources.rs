//! The folders that are searched for definitions, and the contents of their files.

use std::path::{Path, PathBuf};

use super::definitions::{DefinitionProblem, Definitions};
use crate::config::UntrustedItem;
use crate::disk::{ProjectFiles, ProjectScope};
use crate::markdown::Fingerprint;
use crate::markdown::folder::FolderError;
use crate::markdown::front_matter;
use crate::subagent::definition::{
    Definition, DefinitionError, DefinitionErrors, DefinitionFormat, DefinitionSource,
    DefinitionTrust, ParsedDefinition, flag,
};
use crate::subagent::definition_folder;

/// The folders searched for definitions. Creating it reads nothing.
#[derive(Clone, Debug)]
pub struct DefinitionSources {
    /// From the command line; they precede all files.
    pub(super) flag: Definitions,
    /// Highest first.
    folders: Vec<DefinitionFolder>,
    /// The targets that links of the project may have.
    scope: ProjectScope,
    /// The parts of the project that the user has accepted; `None` is nothing.
    pub(super) accepted: Option<DefinitionTrust>,
}

/// One such folder.
#[derive(Clone, Debug)]
pub(super) struct DefinitionFolder {
    path: PathBuf,
    dialect: DefinitionFormat,
    /// Whether it comes with the project, whose links may not lead everywhere.
    pub(super) project: bool,
}

/// A folder of definitions with its parsed files, each read once.
pub(super) struct FolderContents<'a> {
    pub folder: &'a DefinitionFolder,
    pub files: Vec<DefinitionFile>,
}

/// One definition file: its text and the result of parsing it.
pub(super) struct DefinitionFile {
    pub source: DefinitionSource,
    pub parsed: Result<(String, ParsedDefinition), DefinitionProblem>,
}

impl DefinitionFolder {
    fn read(
        &self,
        accepted: Option<&DefinitionTrust>,
        scope: &ProjectFiles<'_>,
    ) -> FolderContents<'_> {
        let Self { path, dialect, project } = self;
        let own = (!project).then_some(path.as_path());
        let files = definition_folder::files(path, project.then_some(scope))
            .into_iter()
            .filter_map(|entry| {
                let (path, found) = match entry {
                    Ok(path) => {
                        let found = definition_folder::locate(&path, own, scope);
                        (path, found)
                    }
                    Err(FolderError { path, message }) => (path, Err(message)),
                };
                let is_led_in = match &found {
                    Ok(found) => scope.is_from_project(found),
                    Err(_) => scope.leads_into_project(&path),
                };
                let source = DefinitionSource::File { path, project: *project || is_led_in };
                let text = match found.and_then(|found| definition_folder::read(&found)) {
                    Ok(text) => text,
                    Err(message) => {
                        let error = source.error(None, message);
                        let parsed = Err(DefinitionProblem::Refused(error.into()));
                        return Some(DefinitionFile { source, parsed });
                    }
                };
                if source.path().is_some_and(|path| definition_folder::is_readme(path, &text)) {
                    return None;
                }
                let problem = match dialect {
                    DefinitionFormat::Foreign if !front_matter::has_front_matter(&text) => {
                        |errors: DefinitionErrors| DefinitionProblem::Warning(errors.first)
                    }
                    _ => DefinitionProblem::Refused,
                };
                let parsed = Definition::parse(&text, &source, *dialect, accepted);
                let parsed = parsed.map(|parsed| (text, parsed)).map_err(problem);
                Some(DefinitionFile { source, parsed })
            });
        FolderContents { folder: self, files: files.collect() }
    }
}

impl DefinitionSources {
    /// `project` are the folders from the working directory up to the repository's root, `own` is
    /// the user's folder of definitions. `.caliban/agents` precedes `.claude/agents`, and in each
    /// the nearest folder comes first.
    pub fn new(project: &[PathBuf], own: PathBuf) -> Self {
        let below = |name: &'static str, dialect| {
            let folder = move |above: &PathBuf| DefinitionFolder {
                path: above.join(name),
                dialect,
                project: true,
            };
            project.iter().map(folder)
        };
        let own = DefinitionFolder { path: own, dialect: DefinitionFormat::Own, project: false };
        let folders = below(".caliban/agents", DefinitionFormat::Own)
            .chain(below(".claude/agents", DefinitionFormat::Foreign))
            .chain([own])
            .collect();
        let scope = ProjectScope::new(project, &[]);
        Self { flag: Definitions::default(), folders, scope, accepted: None }
    }

    /// Lets links of the project lead to what this scope has.
    pub fn in_scope(self, scope: ProjectScope) -> Self {
        Self { scope, ..self }
    }

    /// Leaves out the project's `.claude/agents`.
    pub fn without_claude(mut self) -> Self {
        self.folders
            .retain(|folder| !folder.project || folder.dialect != DefinitionFormat::Foreign);
        self
    }

    /// Adds the `agents` of the user's `.claude` folder after all others.
    pub fn with_claude_home(mut self, claude: Option<&Path>) -> Self {
        self.folders.extend(claude.map(|claude| DefinitionFolder {
            path: claude.join("agents"),
            dialect: DefinitionFormat::Foreign,
            project: false,
        }));
        self
    }

    /// Sets what the user has accepted of the project.
    pub fn with_accepted(self, accepted: DefinitionTrust) -> Self {
        Self { accepted: Some(accepted), ..self }
    }

    /// Reads every folder, each file once. A folder of the user's that is in the project, as in the
    /// home folder, is only the user's.
    pub(super) fn read(&self) -> Vec<FolderContents<'_>> {
        let real = |folder: &DefinitionFolder| folder.path.canonicalize().ok();
        let own: Vec<_> = self.folders.iter().filter(|it| !it.project).filter_map(real).collect();
        let is_own =
            |folder: &DefinitionFolder| real(folder).is_some_and(|real| own.contains(&real));
        let folders = self.folders.iter().filter(|folder| !folder.project || !is_own(folder));
        let scope = self.scope.files();
        folders.map(|folder| folder.read(self.accepted.as_ref(), &scope)).collect()
    }

    /// One line for the user about ignored parts; `None` if there are none.
    pub fn notice(&self, untrusted: &[UntrustedItem]) -> Option<String> {
        self.accepted.as_ref()?.trust.notice(untrusted)
    }

    /// Adds the definitions of `--agents` before all files, after those given earlier. Their hooks
    /// and servers start in `cwd`.
    ///
    /// # Errors
    /// Names the agent and the key of the first mistake.
    pub fn with_flag(self, json: &str, cwd: &Path) -> Result<Self, DefinitionError> {
        let mut all = self.flag;
        for parsed in flag::parse(json, cwd)? {
            let Definition { name, .. } = &parsed.definition;
            if let Some(why) = all.name_conflict(&parsed.definition) {
                return Err(DefinitionSource::Flag.error(None, format!("{name}: {why}")));
            }
            all.add(Ok(parsed));
        }
        Ok(Self { flag: all, ..self })
    }

    /// A fingerprint of the files. While it stays the same, loading again finds the same.
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let folders = self.folders.iter();
        definition_folder::fingerprint(
            folders.map(|it| (it.path.as_path(), it.project.then_some(&scope))),
        )
    }
}
