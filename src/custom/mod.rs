//! What people write for agents to be used by name: commands (`/name` in a prompt) and skills
//! (which models load themselves). A command is one Markdown file, a skill a folder with a
//! `SKILL.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{ProjectFiles, ProjectScope};
use crate::markdown::Fingerprint;
use crate::protocol::printable_path;
use crate::tool::{Hidden, HiddenFiles};

mod expand;
mod folder;
mod listing;
mod reader;
#[cfg(test)]
mod tests;
mod tool;

pub use expand::Expansion;
use folder::{Folder, Kind};
pub use tool::{TOOL, tool};

/// The commands inside the program, each with what it is for and its text.
const BUILT_IN: [(&str, &str, &str); 1] = [(
    "init",
    "draft an AGENTS.md, or improve the one there is",
    include_str!("../../assets/prompts/init.md"),
)];

/// Where commands and skills are looked for. Making it reads nothing.
#[derive(Clone, Debug, Default)]
pub struct CustomSources {
    /// Highest first, commands and skills apart.
    commands: Vec<Folder>,
    skills: Vec<Folder>,
    /// What links of the project may lead to.
    scope: ProjectScope,
    /// Names that only the program itself gives to commands.
    reserved: Vec<String>,
    /// The skills that models are offered; absent: all.
    offered: Option<Vec<String>>,
    /// The files of the project that rules keep from agents which work in this folder.
    hidden: (Hidden, PathBuf),
}

impl CustomSources {
    /// `project` are the folders from the working directory up to the repository's root, `own` is
    /// the person's configuration folder, `claude` their `.claude` folder. `.caliban` goes before
    /// `.claude`, and in each the nearest folder first.
    #[must_use]
    pub fn new(project: &[PathBuf], own: &Path, claude: Option<&Path>, reserved: &[&str]) -> Self {
        let folders = |kind: Kind| {
            let below = |program: &'static str, foreign: bool| {
                project.iter().map(move |above| Folder {
                    path: above.join(program).join(kind.folder()),
                    foreign,
                    project: true,
                })
            };
            let own = Folder { path: own.join(kind.folder()), foreign: false, project: false };
            let brought = claude.map(|claude| Folder {
                path: claude.join(kind.folder()),
                foreign: true,
                project: false,
            });
            below(".caliban", false)
                .chain(below(".claude", true))
                .chain([own])
                .chain(brought)
                .collect()
        };
        let reserved = reserved.iter().map(|name| (*name).to_owned()).collect();
        let (commands, skills) = (folders(Kind::Command), folders(Kind::Skill));
        let scope = ProjectScope::new(project, &[]);
        Self { commands, skills, scope, reserved, ..Self::default() }
    }

    /// The same where links of the project may lead to what this scope has.
    #[must_use]
    pub fn in_scope(self, scope: ProjectScope) -> Self {
        Self { scope, ..self }
    }

    /// The same without the project's `.claude`.
    #[must_use]
    pub fn without_claude(mut self) -> Self {
        for folders in [&mut self.commands, &mut self.skills] {
            folders.retain(|folder| !(folder.foreign && folder.project));
        }
        self
    }

    /// The same where models are offered these skills alone. The person can still call the others.
    #[must_use]
    pub fn offering(self, skills: &[String]) -> Self {
        Self { offered: Some(skills.to_vec()), ..self }
    }

    /// The same without those of the project's files that are `hidden` from agents in `cwd`.
    #[must_use]
    pub fn hiding(self, hidden: Hidden, cwd: &Path) -> Self {
        Self { hidden: (hidden, cwd.to_owned()), ..self }
    }

    fn offers(&self, skill: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|name| name == skill))
    }

    /// What the files of skills look like from outside: while that stays the same, models are
    /// offered the same ones.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let files = self.skills.iter().flat_map(|folder| folder.files(Kind::Skill, &scope));
        Fingerprint::of(files.flatten().map(|file| file.path))
    }
}

/// Where a command or skill comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    BuiltIn,
    File(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => f.write_str(&printable_path(path)),
        }
    }
}

/// A command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custom {
    /// What stands behind the slash; of a command in a sub-folder `folder:name`.
    pub name: String,
    pub description: String,
    /// What may follow the name, such as `[issue]`.
    pub argument_hint: Option<String>,
    pub body: String,
    pub place: Place,
    /// Whether models may not load it by themselves.
    pub only_person: bool,
    /// Whether the person cannot call it by its name.
    pub only_model: bool,
    /// Keys of its file that do not count, in words.
    pub passed_over: Vec<String>,
}

/// Why a file, or a part of it, does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CustomError {
    pub path: PathBuf,
    /// Counted from 1; `None` when it is about the whole file.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for CustomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", printable_path(&self.path))?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// What came of a file that is not quite right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not count at all. The name is what it would have been called by.
    Refused { name: String, error: CustomError },
    /// It counts, but for a part of it.
    Warning(CustomError),
}

impl Problem {
    /// What is wrong, and where.
    #[must_use]
    pub fn error(&self) -> &CustomError {
        match self {
            Self::Refused { error, .. } | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of all commands and skills: what is edited later does not change it.
#[derive(Clone, Debug, Default)]
pub struct Customs {
    commands: BTreeMap<String, Arc<Custom>>,
    skills: BTreeMap<String, Arc<Custom>>,
    reserved: Vec<String>,
    problems: Vec<Problem>,
}

impl Customs {
    /// Reads all folders. Of one name the highest source counts; nothing that is wrong with a file
    /// is fatal. It may block.
    #[must_use]
    pub fn load(sources: &CustomSources) -> Self {
        let mut all = Self { reserved: sources.reserved.clone(), ..Self::default() };
        for (name, description, body) in BUILT_IN {
            let custom = Custom {
                name: name.to_owned(),
                description: description.to_owned(),
                argument_hint: None,
                body: body.trim().to_owned(),
                place: Place::BuiltIn,
                only_person: true,
                only_model: false,
                passed_over: Vec::new(),
            };
            all.commands.insert(custom.name.clone(), Arc::new(custom));
        }
        let (hidden, cwd) = &sources.hidden;
        let (hidden, scope) = (hidden.from_reading(cwd), sources.scope.files());
        for (folders, kind) in [(&sources.commands, Kind::Command), (&sources.skills, Kind::Skill)]
        {
            folders.iter().for_each(|folder| all.add_folder(folder, kind, &hidden, &scope));
        }
        for skill in all.skills.values_mut().filter(|skill| !sources.offers(&skill.name)) {
            Arc::make_mut(skill).only_person = true;
        }
        all
    }

    /// What the person can call, by name: commands, and skills whose name no command has.
    pub fn callable(&self) -> impl Iterator<Item = &Arc<Custom>> {
        let free = |skill: &&Arc<Custom>| {
            !skill.only_model
                && !self.commands.contains_key(&skill.name)
                && !self.is_reserved(&skill.name)
        };
        self.commands.values().chain(self.skills.values().filter(free))
    }

    /// What models can load, by name.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<Custom>> {
        self.skills.values().filter(|skill| !skill.only_person)
    }

    /// A skill of this name, whoever may use it.
    #[must_use]
    pub fn skill(&self, name: &str) -> Option<&Arc<Custom>> {
        self.skills.get(name)
    }

    /// What is wrong, in the order in which files are looked at.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What a name behind a slash means. The last part of a name is enough where no other ends so.
    fn called(&self, name: &str) -> Option<&Arc<Custom>> {
        if let Some(custom) = self.callable().find(|custom| custom.name == name) {
            return Some(custom);
        }
        let ends_so = |custom: &&Arc<Custom>| {
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
        folder: &Folder,
        kind: Kind,
        hidden: &HiddenFiles,
        scope: &ProjectFiles<'_>,
    ) {
        for file in folder.files(kind, scope) {
            let file = match file {
                Ok(file) => file,
                Err(error) => {
                    self.problems.push(Problem::Refused { name: String::new(), error });
                    continue;
                }
            };
            let refuse = |error| Problem::Refused { name: file.name.clone(), error };
            let read = match folder.project && hidden.contain_either(&file.path) {
                true => Err(CustomError {
                    path: file.path.clone(),
                    line: None,
                    message: "cannot be read: a permission rule forbids it".to_owned(),
                }),
                false => reader::read(&file, folder, kind, scope),
            };
            let (custom, warnings) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.problems.push(refuse(error));
                    continue;
                }
            };
            self.problems.extend(warnings.into_iter().map(Problem::Warning));
            let taken = self.is_reserved(&custom.name).then(|| CustomError {
                path: file.path.clone(),
                line: None,
                message: format!("/{} is a command of the program itself", custom.name),
            });
            match (taken, kind) {
                (Some(error), Kind::Command) => {
                    let message = format!("{}: give the file another name", error.message);
                    self.problems.push(refuse(CustomError { message, ..error }));
                    continue;
                }
                (Some(error), Kind::Skill) => {
                    let message = format!("{}: only models can use this skill", error.message);
                    self.problems.push(Problem::Warning(CustomError { message, ..error }));
                }
                (None, _) => {}
            }
            let all = match kind {
                Kind::Command => &mut self.commands,
                Kind::Skill => &mut self.skills,
            };
            all.entry(custom.name.clone()).or_insert_with(|| Arc::new(custom));
        }
    }
}
