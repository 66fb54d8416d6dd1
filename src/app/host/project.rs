//! Finds what is in the project: its files, instructions, and definitions of agents and commands.

use std::path::{Path, PathBuf};

use ignore::overrides::Override;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use super::{LocalHost, pages};
use crate::commands::{CommandError, CommandOrigin, CommandProblem, CommandSet};
use crate::disk::resolve;
use crate::memory::PROJECT_NAMES;
use crate::protocol::count;
use crate::subagent::definition::{Definition, DefinitionSource};
use crate::subagent::registry::{DefinitionProblem, Definitions};
use crate::tool::{IgnoreFiles, walk};
use crate::tui::host::{AgentChoice, CommandChoice, MAX_FILES_FOUND, MemoryChoice};
use crate::tui::page::PageLine;

/// The maximum number of files to search.
const FILES_SEARCHED: usize = 50_000;

/// The file of instructions that `/memory` offers to create.
const MEMORY_FILE: &str = "AGENTS.md";

/// Counts the files of agents, commands and skills that are not used because of an error.
fn refused_files(definitions: &Definitions, commands: &CommandSet) -> usize {
    let agents = definitions.problems().iter();
    let agents = agents.filter(|problem| matches!(problem, DefinitionProblem::Refused(_))).count();
    let commands = commands.problems().iter();
    agents + commands.filter(|problem| matches!(problem, CommandProblem::Refused { .. })).count()
}

impl LocalHost {
    pub(super) async fn files(&self, query: &str) -> Vec<String> {
        let (cwd, query) = (self.cwd.clone(), query.to_owned());
        tokio::task::spawn_blocking(move || best_files(&cwd, &query)).await.unwrap_or_default()
    }

    pub(super) async fn agents(&self) -> Vec<AgentChoice> {
        let definitions = self.definitions.clone();
        let list = move || {
            let definitions = Definitions::load(&definitions);
            let choices = definitions.iter().map(|definition| AgentChoice {
                name: definition.name.clone(),
                description: definition.description.clone(),
                tools: tools_of(definition),
                model: definition.model.clone().unwrap_or_else(|| "inherited".to_owned()),
                origin: definition.source.to_string(),
            });
            choices.collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    /// Says what was found in the project: instructions, definitions of agents, and files for agents,
    /// commands and skills that are broken.
    pub(super) async fn notes(&self) -> Vec<String> {
        let (cwd, memory) = (self.cwd.clone(), self.memory.clone());
        let (definitions, custom) = (self.definitions.clone(), self.custom.clone());
        let find = move || {
            let name = |path: &Path| memory.name(path, &cwd);
            let files = match &memory.read(&cwd)[..] {
                [] => None,
                [file] => Some(format!("{} read", name(file))),
                [first, second] => Some(format!("{} and {} read", name(first), name(second))),
                more => Some(format!("{} read", count(more.len(), "instruction file"))),
            };
            let definitions = Definitions::load(&definitions);
            let own =
                definitions.iter().filter(|it| it.source != DefinitionSource::BuiltIn).count();
            let agents = (own > 0).then(|| format!("{} defined", count(own, "agent")));
            let refused = refused_files(&definitions, &CommandSet::load(&custom));
            let refused =
                (refused > 0).then(|| format!("{} refused: /doctor", count(refused, "file")));
            files.into_iter().chain(agents).chain(refused).collect()
        };
        tokio::task::spawn_blocking(find).await.unwrap_or_default()
    }

    pub(super) async fn commands(&self) -> Vec<CommandChoice> {
        let sources = self.custom.clone();
        let list = move || {
            let commands = CommandSet::load(&sources);
            let written =
                commands.callable().filter(|command| command.origin != CommandOrigin::BuiltIn);
            let choices = written.map(|command| CommandChoice {
                name: command.name.clone(),
                description: command.description.clone(),
                argument_hint: command.argument_hint.clone(),
            });
            // The user knows the file and asks why it is not there.
            let refused = commands.refused().map(|(name, CommandError { line, message, .. })| {
                let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
                let description = format!("broken{line}: {message}");
                CommandChoice { name: name.to_owned(), description, argument_hint: None }
            });
            choices.chain(refused).collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    /// Lists the skills with who can load each.
    pub(super) async fn skills(&self) -> Vec<PageLine> {
        let sources = self.custom.clone();
        let list = move || {
            let commands = CommandSet::load(&sources);
            pages::skills(&commands.all_skills().collect::<Vec<_>>())
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }

    /// Lists the files with instructions: those that are read, and the usual ones that do not exist.
    pub(super) async fn memory_files(&self) -> Vec<MemoryChoice> {
        let (cwd, memory) = (self.cwd.clone(), self.memory.clone());
        let list = move || {
            let read = memory.read(&cwd);
            let missing = [
                (&*cwd, "new: instructions for this project"),
                (&*memory.own, "new: your instructions for all projects"),
            ];
            // A link that leads out of the project is not read, but the editor would follow it.
            let about_link = |path: &Path| {
                path.read_link().ok()?;
                let target = resolve(path).map(|target| memory.name(&target, &cwd));
                Some(format!("not read: a link to {}", target.unwrap_or("nowhere".to_owned())))
            };
            let missing = missing.map(|(folder, about)| {
                let has_one = read.iter().any(|path| path.starts_with(folder));
                let path = folder.join(MEMORY_FILE);
                let about = about_link(&path).unwrap_or(about.to_owned());
                (!has_one).then_some((path, about))
            });
            let real: Vec<PathBuf> = read.iter().filter_map(|path| resolve(path)).collect();
            let is_read = |path: &Path| resolve(path).is_some_and(|path| real.contains(&path));
            let listed = |path: &Path| missing.iter().flatten().any(|(other, _)| other == path);
            let links = PROJECT_NAMES.map(|name| cwd.join(name)).into_iter().filter_map(|path| {
                let about = about_link(&path).filter(|_| !is_read(&path) && !listed(&path))?;
                Some((path, about))
            });
            let links: Vec<_> = links.collect();
            let about = "read before each prompt";
            let read = read.iter().map(|path| (path.clone(), about.to_owned()));
            let choice = |(path, about): (PathBuf, String)| MemoryChoice {
                name: memory.name(&path, &cwd),
                about,
                path,
            };
            read.chain(links).chain(missing.into_iter().flatten()).map(choice).collect()
        };
        tokio::task::spawn_blocking(list).await.unwrap_or_default()
    }
}

/// Describes the tools: `Read, Grep`, or `its parent's tools, without Bash`.
fn tools_of(definition: &Definition) -> String {
    let named = definition.tools.as_ref().map(|tools| tools.join(", "));
    let mut words = named.unwrap_or_else(|| "its parent's tools".to_owned());
    if !definition.disallowed_tools.is_empty() {
        words.push_str(&format!(", without {}", definition.disallowed_tools.join(", ")));
    }
    words
}

/// Returns the files that match a query best, as paths below `cwd`.
fn best_files(cwd: &Path, query: &str) -> Vec<String> {
    let Ok(root) = cwd.canonicalize() else { return Vec::new() };
    let walk = walk(&root, IgnoreFiles::for_user(&root), Override::empty());
    let files = walk
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .take(FILES_SEARCHED)
        .filter_map(|entry| Some(entry.path().strip_prefix(&root).ok()?.to_str()?.to_owned()));
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let matches = pattern.match_list(files, &mut matcher);
    matches.into_iter().take(MAX_FILES_FOUND).map(|(path, _)| path).collect()
}
