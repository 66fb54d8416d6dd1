//! The definitions that apply, by name, and the problems with those that do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::config::{ProjectStart, UntrustedItem};
use crate::subagent::definition::{
    Definition, DefinitionError, DefinitionErrors, DefinitionFormat, DefinitionSource, NamedServer,
    ParsedDefinition, tool_name,
};

pub(super) const BUILT_IN: [(&str, &str); 3] = [
    ("explore", include_str!("../../../assets/agents/explore.md")),
    ("general-purpose", include_str!("../../../assets/agents/general-purpose.md")),
    ("plan", include_str!("../../../assets/agents/plan.md")),
];

/// A problem with a definition file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionProblem {
    /// It is rejected entirely.
    Refused(DefinitionErrors),
    /// It is ignored until the user accepts it.
    Untrusted(DefinitionError),
    /// It applies except for a part; or it is not a definition, among those of other programs.
    Warning(DefinitionError),
}

impl DefinitionProblem {
    /// The error and its place; the first of several.
    pub fn error(&self) -> &DefinitionError {
        match self {
            Self::Refused(errors) => &errors.first,
            Self::Untrusted(error) | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of the definitions: later edits do not change it.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    found: BTreeMap<String, Arc<Definition>>,
    /// The names of all that were found, by their tools, since a collection may have hundreds.
    tools: BTreeMap<String, BTreeSet<String>>,
    pub(super) problems: Vec<DefinitionProblem>,
    advice: Vec<DefinitionError>,
    pub(super) untrusted: Vec<UntrustedItem>,
    starts: Vec<ProjectStart>,
    servers: Vec<NamedServer>,
}

impl Definitions {
    /// The built-in definitions.
    pub fn built_in() -> Self {
        let mut all = Self::default();
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

    /// The servers of the session that the definitions name which apply.
    pub fn servers(&self) -> &[NamedServer] {
        &self.servers
    }

    pub(super) fn add_built_in(&mut self) {
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

    /// Why this definition conflicts with those already found: one tool must not stand for two
    /// agents.
    pub(super) fn name_conflict(&self, definition: &Definition) -> Option<String> {
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

    pub(super) fn add(&mut self, parsed: Result<ParsedDefinition, DefinitionErrors>) {
        match parsed {
            Ok(ParsedDefinition { definition, warnings, advice, untrusted, starts, servers }) => {
                self.servers.extend(servers);
                self.untrusted.extend(untrusted);
                self.starts.extend(starts);
                self.problems.extend(warnings.into_iter().map(DefinitionProblem::Warning));
                self.advice.extend(advice);
                let name = definition.name.clone();
                self.tools.entry(definition.tool_name()).or_default().insert(name.clone());
                self.found.entry(name).or_insert_with(|| Arc::new(definition));
            }
            Err(errors) => self.problems.push(DefinitionProblem::Refused(errors)),
        }
    }

    pub(super) fn refuse(&mut self, source: &DefinitionSource, message: String) {
        self.problems.push(DefinitionProblem::Refused(source.error(None, message).into()));
    }
}
