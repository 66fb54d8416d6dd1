//! All commands and skills that apply, with the problems of their files.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::def::{CommandDef, CommandError, CommandOrigin, CommandProblem};
use super::folder::{CommandFolder, CommandKind};
use super::reader::read_command;
use super::sources::CommandSources;
use crate::disk::ProjectFiles;
use crate::protocol::prompt::split_command;
use crate::tool::HiddenFiles;

/// The built-in commands: name, description and text.
const BUILT_IN_COMMANDS: [(&str, &str, &str); 2] = [
    (
        "init",
        "draft an AGENTS.md, or improve the one there is",
        include_str!("../../assets/prompts/init.md"),
    ),
    (
        "review",
        "review the changes, or what you name",
        include_str!("../../assets/prompts/review.md"),
    ),
];

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

    /// Returns all skills, whoever may use them, by name.
    pub fn all_skills(&self) -> impl Iterator<Item = &Arc<CommandDef>> {
        self.skills.values()
    }

    /// Returns the skill of this name, whoever may use it.
    pub fn skill(&self, name: &str) -> Option<&Arc<CommandDef>> {
        self.skills.get(name)
    }

    /// Returns all problems, in the order in which files were read.
    pub fn problems(&self) -> &[CommandProblem] {
        &self.problems
    }

    /// Returns the commands that cannot be called because of an error in their file, by name, each with the
    /// error.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &CommandError)> {
        let is_called = |name: &str| self.callable().any(|callable| callable.name == name);
        let refused = self.problems.iter().filter_map(|problem| match problem {
            CommandProblem::Refused { name, error } => Some((name.as_str(), error)),
            CommandProblem::Warning(_) => None,
        });
        // What else a name may hold would be typed with it: an argument, for another command.
        let is_name = |name: &str| split_command(&format!("/{name}")) == Some((name, ""));
        refused
            .filter(move |(name, _)| is_name(name) && !self.is_reserved(name) && !is_called(name))
    }

    /// Resolves the name after a slash. The last part of a name is enough if it is unique.
    pub(super) fn find_callable(&self, name: &str) -> Option<&Arc<CommandDef>> {
        if let Some(custom) = self.callable().find(|custom| custom.name == name) {
            return Some(custom);
        }
        let ends_so = |custom: &&Arc<CommandDef>| {
            custom.name.rsplit_once(':').is_some_and(|(_, last)| last == name)
        };
        let mut found = self.callable().filter(ends_so);
        found.next().filter(|_| found.next().is_none() && !self.is_reserved(name))
    }

    pub(super) fn is_reserved(&self, name: &str) -> bool {
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
                false => read_command(&file, folder, kind, scope),
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
