//! Commands (`/name` in a prompt) and skills (loaded by models) that users write. A command is a
//! Markdown file, a skill a folder with a `SKILL.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{ProjectFiles, ProjectScope};
use crate::markdown::Fingerprint;
use crate::protocol::printable_path;
use crate::tool::{HiddenFiles, HiddenRules};

mod expand;
mod folder;
mod reader;
mod skill_tool;
#[cfg(test)]
mod tests;

pub use expand::Expansion;
use folder::{CommandFolder, CommandKind};
pub use skill_tool::{SKILL_TOOL, skill_tool};

/// The built-in commands: name, description and text.
const BUILT_IN_COMMANDS: [(&str, &str, &str); 1] = [(
    "init",
    "draft an AGENTS.md, or improve the one there is",
    include_str!("../../assets/prompts/init.md"),
)];

/// Where to look for commands and skills. Creating it reads nothing.
#[derive(Clone, Debug, Default)]
pub struct CommandSources {
    /// Highest first, commands and skills apart.
    commands: Vec<CommandFolder>,
    skills: Vec<CommandFolder>,
    /// The scope that links of the project may lead to.
    scope: ProjectScope,
    /// Names reserved for the program's own commands.
    reserved: Vec<String>,
    /// The skills offered to models; absent: all.
    offered: Option<Vec<String>>,
    /// The project files that rules hide from agents which work in this folder.
    hidden: (HiddenRules, PathBuf),
}

impl CommandSources {
    /// Creates the sources. `project` are the folders from the working directory up to the
    /// repository's root, `own` is the user's configuration folder, `claude` the user's `.claude`
    /// folder. `.caliban` precedes `.claude`, which precedes the `.agents` that several programs
    /// share for skills, and in each the nearest folder comes first.
    pub fn new(project: &[PathBuf], own: &Path, claude: Option<&Path>, reserved: &[&str]) -> Self {
        let folders = |kind: CommandKind| {
            let below = |program: &'static str, foreign: bool| {
                project.iter().map(move |above| CommandFolder {
                    path: above.join(program).join(kind.folder()),
                    foreign,
                    project: true,
                })
            };
            let shared =
                (kind == CommandKind::Skill).then(|| below(".agents", true)).into_iter().flatten();
            let own =
                CommandFolder { path: own.join(kind.folder()), foreign: false, project: false };
            let brought = claude.map(|claude| CommandFolder {
                path: claude.join(kind.folder()),
                foreign: true,
                project: false,
            });
            below(".caliban", false)
                .chain(below(".claude", true))
                .chain(shared)
                .chain([own])
                .chain(brought)
                .collect()
        };
        let reserved = reserved.iter().map(|name| (*name).to_owned()).collect();
        let (commands, skills) = (folders(CommandKind::Command), folders(CommandKind::Skill));
        let scope = ProjectScope::new(project, &[]);
        Self { commands, skills, scope, reserved, ..Self::default() }
    }

    /// Sets the scope that links of the project may lead to.
    pub fn with_scope(self, scope: ProjectScope) -> Self {
        Self { scope, ..self }
    }

    /// Adds the skills of the user's `.agents` folder, after all others.
    pub fn with_shared_home(mut self, shared: Option<&Path>) -> Self {
        self.skills.extend(shared.map(|shared| CommandFolder {
            path: shared.join(CommandKind::Skill.folder()),
            foreign: true,
            project: false,
        }));
        self
    }

    /// Removes the project's `.claude` and `.agents`.
    pub fn without_foreign(mut self) -> Self {
        for folders in [&mut self.commands, &mut self.skills] {
            folders.retain(|folder| !(folder.foreign && folder.project));
        }
        self
    }

    /// Offers only these skills to models. The user can still call the others.
    pub fn with_offered(self, skills: &[String]) -> Self {
        Self { offered: Some(skills.to_vec()), ..self }
    }

    /// Skips the project files that are `hidden` from agents in `cwd`.
    pub fn with_hidden(self, hidden: HiddenRules, cwd: &Path) -> Self {
        Self { hidden: (hidden, cwd.to_owned()), ..self }
    }

    fn is_offered(&self, skill: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|name| name == skill))
    }

    /// Returns the fingerprint of the skills' files: while it stays the same, models are offered the same skills.
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let files = self.skills.iter().flat_map(|folder| folder.files(CommandKind::Skill, &scope));
        Fingerprint::new(files.flatten().map(|file| file.path))
    }
}

/// The origin of a command or skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOrigin {
    BuiltIn,
    File(PathBuf),
}

impl fmt::Display for CommandOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => f.write_str(&printable_path(path)),
        }
    }
}

/// A command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDef {
    /// The name after the slash; for a command in a sub-folder `folder:name`.
    pub name: String,
    pub description: String,
    /// A hint for the arguments, such as `[issue]`.
    pub argument_hint: Option<String>,
    pub body: String,
    pub origin: CommandOrigin,
    /// Whether models may not load it.
    pub user_only: bool,
    /// Whether the user cannot call it.
    pub model_only: bool,
    /// Ignored keys of its file.
    pub ignored_keys: Vec<String>,
}

/// The reason why a file, or a part of it, is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CommandError {
    pub path: PathBuf,
    /// Counted from 1; `None` for the whole file.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", printable_path(&self.path))?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// A problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandProblem {
    /// The file is ignored. The name is the one it would have had.
    Refused { name: String, error: CommandError },
    /// A part of the file is ignored.
    Warning(CommandError),
}

impl CommandProblem {
    /// Returns the error.
    pub fn error(&self) -> &CommandError {
        match self {
            Self::Refused { error, .. } | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of all commands and skills: later edits do not change it.
#[derive(Clone, Debug, Default)]
pub struct CommandSet {
    commands: BTreeMap<String, Arc<CommandDef>>,
    skills: BTreeMap<String, Arc<CommandDef>>,
    reserved: Vec<String>,
    problems: Vec<CommandProblem>,
}

impl CommandSet {
    /// Reads all folders. If a name occurs twice the highest source wins; no error in a file is fatal. May block.
    pub fn load(sources: &CommandSources) -> Self {
        let mut all = Self { reserved: sources.reserved.clone(), ..Self::default() };
        for (name, description, body) in BUILT_IN_COMMANDS {
            let custom = CommandDef {
                name: name.to_owned(),
                description: description.to_owned(),
                argument_hint: None,
                body: body.trim().to_owned(),
                origin: CommandOrigin::BuiltIn,
                user_only: true,
                model_only: false,
                ignored_keys: Vec::new(),
            };
            all.commands.insert(custom.name.clone(), Arc::new(custom));
        }
        let (hidden, cwd) = &sources.hidden;
        let (hidden, scope) = (hidden.for_reading(cwd), sources.scope.files());
        for (folders, kind) in
            [(&sources.commands, CommandKind::Command), (&sources.skills, CommandKind::Skill)]
        {
            folders.iter().for_each(|folder| all.add_folder(folder, kind, &hidden, &scope));
        }
        for skill in all.skills.values_mut().filter(|skill| !sources.is_offered(&skill.name)) {
            Arc::make_mut(skill).user_only = true;
        }
        all
    }

    /// Returns what the user can call, by name: commands, and skills whose name no command has.
    pub fn callable(&self) -> impl Iterator<Item = &Arc<CommandDef>> {
        let free = |skill: &&Arc<CommandDef>| {
            !skill.model_only
                && !self.commands.contains_key(&skill.name)
                && !self.is_reserved(&skill.name)
        };
        self.commands.values().chain(self.skills.values().filter(free))
    }

    /// Returns the skills that models can load, by name.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<CommandDef>> {
        self.skills.values().filter(|skill| !skill.user_only)
    }

    /// Returns the skill of this name, whoever may use it.
    pub fn skill(&self, name: &str) -> Option<&Arc<CommandDef>> {
        self.skills.get(name)
    }

    /// Returns all problems, in the order in which files were read.
    pub fn problems(&self) -> &[CommandProblem] {
        &self.problems
    }

    /// Resolves the name after a slash. The last part of a name is enough if it is unique.
    fn find_callable(&self, name: &str) -> Option<&Arc<CommandDef>> {
        if let Some(custom) = self.callable().find(|custom| custom.name == name) {
            return Some(custom);
        }
        let ends_so = |custom: &&Arc<CommandDef>| {
            custom.name.rsplit_once(':').is_some_and(|(_, last)| last == name)
        };
        let mut found = self.callable().filter(ends_so);
        found.next().filter(|_| found.next().is_none() && !self.is_reserved(name))
    }

    fn is_reserved(&self, name: &str) -> bool {
        self.reserved.iter().any(|reserved| reserved == name)
    }

    fn add_folder(
        &mut self,
        folder: &CommandFolder,
        kind: CommandKind,
        hidden: &HiddenFiles,
        scope: &ProjectFiles<'_>,
    ) {
        for file in folder.files(kind, scope) {
            let file = match file {
                Ok(file) => file,
                Err(error) => {
                    self.problems.push(CommandProblem::Refused { name: String::new(), error });
                    continue;
                }
            };
            let refuse = |error| CommandProblem::Refused { name: file.name.clone(), error };
            let read = match folder.project && hidden.contain_either(&file.path) {
                true => Err(CommandError {
                    path: file.path.clone(),
                    line: None,
                    message: "cannot be read: a permission rule forbids it".to_owned(),
                }),
                false => reader::read_command(&file, folder, kind, scope),
            };
            let (custom, warnings) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.problems.push(refuse(error));
                    continue;
                }
            };
            self.problems.extend(warnings.into_iter().map(CommandProblem::Warning));
            let taken = self.is_reserved(&custom.name).then(|| CommandError {
                path: file.path.clone(),
                line: None,
                message: format!("/{} is a built-in command", custom.name),
            });
            match (taken, kind) {
                (Some(error), CommandKind::Command) => {
                    let message = format!("{}: rename the file", error.message);
                    self.problems.push(refuse(CommandError { message, ..error }));
                    continue;
                }
                (Some(error), CommandKind::Skill) => {
                    let message = format!("{}: only models can use this skill", error.message);
                    self.problems.push(CommandProblem::Warning(CommandError { message, ..error }));
                }
                (None, _) => {}
            }
            let all = match kind {
                CommandKind::Command => &mut self.commands,
                CommandKind::Skill => &mut self.skills,
            };
            all.entry(custom.name.clone()).or_insert_with(|| Arc::new(custom));
        }
    }
}
