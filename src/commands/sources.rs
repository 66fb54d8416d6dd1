//! The folders that are searched for commands and skills.

use std::path::{Path, PathBuf};

use super::folder::{CommandFolder, CommandKind};
use crate::disk::ProjectScope;
use crate::markdown::Fingerprint;
use crate::tool::HiddenRules;

/// Where to look for commands and skills. Creating it reads nothing.
#[derive(Clone, Debug, Default)]
pub struct CommandSources {
    /// Highest first, commands and skills apart.
    pub(super) commands: Vec<CommandFolder>,
    pub(super) skills: Vec<CommandFolder>,
    /// The scope that links of the project may lead to.
    pub(super) scope: ProjectScope,
    /// Names reserved for the program's own commands.
    pub(super) reserved: Vec<String>,
    /// The skills offered to models; absent: all.
    offered: Option<Vec<String>>,
    /// The project files that rules hide from agents which work in this folder.
    pub(super) hidden: (HiddenRules, PathBuf),
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

    pub(super) fn is_offered(&self, skill: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|name| name == skill))
    }

    /// Returns the fingerprint of the skills' files: while it stays the same, models are offered the same skills.
    pub fn fingerprint(&self) -> Fingerprint {
        let scope = self.scope.files();
        let files = self.skills.iter().flat_map(|folder| folder.files(CommandKind::Skill, &scope));
        Fingerprint::new(files.flatten().map(|file| file.path))
    }
}
