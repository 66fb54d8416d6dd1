//! All sub-agent definitions that apply in a project, and the problems with those that do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::definition::{
    Definition, DefinitionError, DefinitionFormat, DefinitionSource, DefinitionTrust,
    ParsedDefinition, tool_name,
};
use crate::config::{ProjectStart, UntrustedItem};

mod sources;
#[cfg(test)]
mod tests;

pub use sources::DefinitionSources;
use sources::{DefinitionFile, FolderContents};

const BUILT_IN: [(&str, &str); 3] = [
    ("explore", include_str!("../../assets/agents/explore.md")),
    ("general-purpose", include_str!("../../assets/agents/general-purpose.md")),
    ("plan", include_str!("../../assets/agents/plan.md")),
];

/// The names and sources of definitions that no project replaces without the user's consent, by
/// their tool names.
type ProtectedAgents = BTreeMap<String, (String, DefinitionSource)>;

/// A problem with a definition file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionProblem {
    /// It is rejected entirely.
    Refused(DefinitionError),
    /// It is ignored until the user accepts it.
    Untrusted(DefinitionError),
    /// It applies except for a part; or it is not a definition, among those of other programs.
    Warning(DefinitionError),
}

impl DefinitionProblem {
    /// The error and its place.
    pub fn error(&self) -> &DefinitionError {
        match self {
            Self::Refused(error) | Self::Untrusted(error) | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of the definitions: later edits do not change it.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    found: BTreeMap<String, Arc<Definition>>,
    /// The names of all that were found, by their tools, since a collection may have hundreds.
    tools: BTreeMap<String, BTreeSet<String>>,
    problems: Vec<DefinitionProblem>,
    advice: Vec<DefinitionError>,
    untrusted: Vec<UntrustedItem>,
    starts: Vec<ProjectStart>,
}

impl Definitions {
    /// The built-in definitions.
    pub fn built_in() -> Self {
        let mut all = Self::default();
        all.add_built_in();
        all
    }

    /// Reads all folders. For each name the highest source applies; no error in a file is fatal.
    pub fn load(sources: &DefinitionSources) -> Self {
        let mut all = sources.flag.clone();
        let folders = sources.read();
        let kept = protected_agents(&folders);
        for folder in folders {
            all.add_folder(folder, sources.accepted.as_ref(), &kept);
        }
        all.add_built_in();
        all
    }

    /// Limits what runs programs or widens rights to what it was in `start`: a file that changes
    /// during a session, perhaps by an agent, starts nothing. Also returns the agents that lost
    /// something by this.
    pub fn limited_to_start(mut self, start: &Self) -> (Self, Vec<String>) {
        let mut held = Vec::new();
        for (name, definition) in &mut self.found {
            let before = start.found.get(name).map(|before| &**before);
            let (now, changed) = definition.limited_to_start(before);
            *definition = now;
            held.extend(changed.then(|| name.clone()));
        }
        (self, held)
    }

    /// Removes those whose file `hides` matches.
    pub fn without_hidden(mut self, hides: impl Fn(&Path) -> bool) -> Self {
        let is_hidden =
            |source: &DefinitionSource| source.is_project() && source.path().is_some_and(&hides);
        let hidden: Vec<_> =
            self.found.values().filter(|it| is_hidden(&it.source)).cloned().collect();
        for definition in hidden {
            self.found.remove(&definition.name);
            let why = "a permission rule forbids reading it".to_owned();
            self.refuse(&definition.source, why);
        }
        self
    }

    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.found.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.found.values()
    }

    /// The problems, in the order in which files are read.
    pub fn problems(&self) -> &[DefinitionProblem] {
        &self.problems
    }

    /// Advice, in the same order.
    pub fn advice(&self) -> &[DefinitionError] {
        &self.advice
    }

    /// Parts of the project's definitions that are ignored until the user accepts them.
    pub fn untrusted(&self) -> &[UntrustedItem] {
        &self.untrusted
    }

    /// The hooks and servers of the user's own definitions that start in an empty folder, because
    /// the user has not accepted that they start in this project.
    pub fn starts(&self) -> &[ProjectStart] {
        &self.starts
    }

    fn add_built_in(&mut self) {
        for (name, text) in BUILT_IN {
            // The name comes from the path of a file; then the source is replaced.
            let source =
                DefinitionSource::File { path: Path::new(name).to_owned(), project: false };
            let parsed =
                Definition::parse(text, &source, DefinitionFormat::Own, None).map(|parsed| {
                    let definition =
                        Definition { source: DefinitionSource::BuiltIn, ..parsed.definition };
                    ParsedDefinition { definition, ..parsed }
                });
            self.add(parsed);
        }
    }

    fn add_folder(
        &mut self,
        FolderContents { folder, files }: FolderContents<'_>,
        accepted: Option<&DefinitionTrust>,
        kept: &ProtectedAgents,
    ) {
        let mut here: BTreeMap<String, DefinitionSource> = BTreeMap::new();
        for DefinitionFile { source, parsed } in files {
            let (text, parsed) = match parsed {
                Ok(read) => read,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let definition = &parsed.definition;
            // No other agent may share the tool of a built-in one, which is checked below.
            let replaces = |(name, other): &&(String, DefinitionSource)| {
                folder.project && (*name == definition.name || *other != DefinitionSource::BuiltIn)
            };
            if let Some((_, other)) = kept.get(&definition.tool_name()).filter(replaces)
                && !self.may_replace(&parsed, other, &text, accepted)
            {
                continue;
            }
            let name = &definition.name;
            if let Some(first) = here.get(name) {
                let why = format!(
                    "the name {name:?} is taken by {first}, which is read first: give one of them another name"
                );
                self.refuse(&source, why);
                continue;
            }
            if let Some(why) = self.name_conflict(definition) {
                self.refuse(&source, why);
                continue;
            }
            here.insert(name.clone(), source);
            self.add(Ok(parsed));
        }
    }

    /// Whether the user lets a project's definition replace `other`, one of the user's or a
    /// built-in one. The user accepts the whole text, because it decides what an agent of a known
    /// name does.
    fn may_replace(
        &mut self,
        parsed: &ParsedDefinition,
        other: &DefinitionSource,
        text: &str,
        accepted: Option<&DefinitionTrust>,
    ) -> bool {
        let Definition { name, source, .. } = &parsed.definition;
        let Some(path) = source.path() else { return true };
        let path = accepted.map_or(path.to_owned(), |accepted| accepted.trust.display_path(path));
        let whose = if *other == DefinitionSource::BuiltIn { "the built-in one" } else { "yours" };
        let thing = UntrustedItem::replacing_agent(name, whose, text, &path);
        if accepted.is_some_and(|accepted| accepted.trust.accepts(&thing)) {
            return true;
        }
        self.untrusted.push(thing);
        // The file is accepted as a whole.
        self.untrusted.extend(parsed.untrusted.iter().cloned());
        let message = format!(
            "not trusted, so it does not replace the agent {name} ({other}): give it another name, or accept it with \
             `caliban trust`"
        );
        self.problems.push(DefinitionProblem::Untrusted(source.error(None, message)));
        false
    }

    /// Why this definition conflicts with those already found: one tool must not stand for two
    /// agents.
    fn name_conflict(&self, definition: &Definition) -> Option<String> {
        let tool = definition.tool_name();
        let mut others = self.tools.get(&tool).into_iter().flatten();
        let found = others.find(|name| **name != definition.name);
        let found = found.and_then(|name| self.found.get(name));
        let is_other = |name: &str| name != definition.name && tool == tool_name(name);
        let built_in = BUILT_IN.iter().find(|(name, _)| is_other(name));
        let (name, source) = found
            .map(|found| (found.name.as_str(), &found.source))
            .or(built_in.map(|(name, _)| (*name, &DefinitionSource::BuiltIn)))?;
        Some(format!(
            "the name {:?} is too close to {name:?} ({source}), since both would get the tool {tool}: choose another",
            definition.name
        ))
    }

    fn add(&mut self, parsed: Result<ParsedDefinition, DefinitionError>) {
        match parsed {
            Ok(ParsedDefinition { definition, warnings, advice, untrusted, starts }) => {
                self.untrusted.extend(untrusted);
                self.starts.extend(starts);
                self.problems.extend(warnings.into_iter().map(DefinitionProblem::Warning));
                self.advice.extend(advice);
                let name = definition.name.clone();
                self.tools.entry(definition.tool_name()).or_default().insert(name.clone());
                self.found.entry(name).or_insert_with(|| Arc::new(definition));
            }
            Err(error) => self.problems.push(DefinitionProblem::Refused(error)),
        }
    }

    fn refuse(&mut self, source: &DefinitionSource, message: String) {
        self.problems.push(DefinitionProblem::Refused(source.error(None, message)));
    }
}

/// The definitions of the user and the built-in ones: the first of each tool applies.
fn protected_agents(folders: &[FolderContents<'_>]) -> ProtectedAgents {
    let built_in = BUILT_IN.map(|(name, _)| (tool_name(name), name));
    let mut kept = ProtectedAgents::new();
    let own = folders.iter().filter(|read| !read.folder.project).flat_map(|read| &read.files);
    for DefinitionFile { source, parsed } in own {
        let Ok((_, ParsedDefinition { definition, .. })) = parsed else { continue };
        let tool = definition.tool_name();
        // One that is too close to a built-in one is rejected itself.
        if built_in.iter().all(|(other, name)| *other != tool || *name == definition.name) {
            kept.entry(tool).or_insert_with(|| (definition.name.clone(), source.clone()));
        }
    }
    for (tool, name) in built_in {
        kept.entry(tool).or_insert_with(|| (name.to_owned(), DefinitionSource::BuiltIn));
    }
    kept
}
