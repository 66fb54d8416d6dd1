//! All sub-agent definitions that hold in a project, and what is wrong with those that do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::definition::{
    Accepted, Definition, DefinitionError, Dialect, Parsed, Source, tool_name,
};
use crate::config::{Inert, ProjectStart};

mod sources;
#[cfg(test)]
mod tests;

pub use sources::DefinitionSources;
use sources::{ReadFile, ReadFolder};

const BUILT_IN: [(&str, &str); 3] = [
    ("explore", include_str!("../../assets/agents/explore.md")),
    ("general-purpose", include_str!("../../assets/agents/general-purpose.md")),
    ("plan", include_str!("../../assets/agents/plan.md")),
];

/// The names and sources of definitions that no project replaces without the user's word, by the
/// names of their tools.
type Kept = BTreeMap<String, (String, Source)>;

/// What came of a file that is not quite right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not count at all.
    Refused(DefinitionError),
    /// It does not count until the user accepts it.
    Untrusted(DefinitionError),
    /// It counts, but for a part of it; or it lies among other programs' definitions and is none.
    Warning(DefinitionError),
}

impl Problem {
    /// What is wrong, and where.
    #[must_use]
    pub fn error(&self) -> &DefinitionError {
        match self {
            Self::Refused(error) | Self::Untrusted(error) | Self::Warning(error) => error,
        }
    }
}

/// A snapshot of the definitions: what is edited later does not change it.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    found: BTreeMap<String, Arc<Definition>>,
    /// The names of all that were found, by their tools: a collection may bring hundreds.
    tools: BTreeMap<String, BTreeSet<String>>,
    problems: Vec<Problem>,
    advice: Vec<DefinitionError>,
    inert: Vec<Inert>,
    starts: Vec<ProjectStart>,
}

impl Definitions {
    /// Those inside the program.
    #[must_use]
    pub fn built_in() -> Self {
        let mut all = Self::default();
        all.add_built_in();
        all
    }

    /// Reads all folders. Of one name the highest source counts; nothing that is wrong with a file is fatal.
    #[must_use]
    pub fn load(sources: &DefinitionSources) -> Self {
        let mut all = sources.flag.clone();
        let folders = sources.read();
        let kept = kept(&folders);
        for folder in folders {
            all.add_folder(folder, sources.accepted.as_ref(), &kept);
        }
        all.add_built_in();
        all
    }

    /// The same, where what runs programs or widens rights is what it was in `start`: a file that
    /// changes while a session runs, perhaps by an agent's hand, starts nothing. Second: the agents
    /// that lost something by this.
    #[must_use]
    pub fn with_starts_of(mut self, start: &Self) -> (Self, Vec<String>) {
        let mut held = Vec::new();
        for (name, definition) in &mut self.found {
            let before = start.found.get(name).map(|before| &**before);
            let (now, changed) = definition.with_starts_of(before);
            *definition = now;
            held.extend(changed.then(|| name.clone()));
        }
        (self, held)
    }

    /// The same without those whose file `hides` says yes to.
    #[must_use]
    pub fn without_hidden(mut self, hides: impl Fn(&Path) -> bool) -> Self {
        let is_hidden = |source: &Source| source.is_project() && source.path().is_some_and(&hides);
        let hidden: Vec<_> =
            self.found.values().filter(|it| is_hidden(&it.source)).cloned().collect();
        for definition in hidden {
            self.found.remove(&definition.name);
            let why = "a permission rule forbids to read it".to_owned();
            self.refuse(definition.source.clone(), why);
        }
        self
    }

    /// The definition of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.found.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.found.values()
    }

    /// What is wrong, in the order in which files are looked at.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What counts and could be better, in the same order.
    #[must_use]
    pub fn advice(&self) -> &[DefinitionError] {
        &self.advice
    }

    /// Parts of the project's definitions that do nothing until the person accepts them.
    #[must_use]
    pub fn inert(&self) -> &[Inert] {
        &self.inert
    }

    /// The hooks and servers of the user's own definitions that start in an empty folder, because
    /// the user has not accepted that they start in this project.
    #[must_use]
    pub fn starts(&self) -> &[ProjectStart] {
        &self.starts
    }

    fn add_built_in(&mut self) {
        for (name, text) in BUILT_IN {
            // A file's source gives the text its name; then it is ours.
            let source = Source::File { path: Path::new(name).to_owned(), project: false };
            let parsed = Definition::parse(text, &source, Dialect::Own, None).map(|parsed| {
                let definition = Definition { source: Source::BuiltIn, ..parsed.definition };
                Parsed { definition, ..parsed }
            });
            self.add(parsed);
        }
    }

    fn add_folder(
        &mut self,
        ReadFolder { folder, files }: ReadFolder<'_>,
        accepted: Option<&Accepted>,
        kept: &Kept,
    ) {
        let mut here: BTreeMap<String, Source> = BTreeMap::new();
        for ReadFile { source, parsed } in files {
            let (text, parsed) = match parsed {
                Ok(read) => read,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let definition = &parsed.definition;
            // Beside a built-in one no other agent may have its tool at all, which is looked at below.
            let replaces = |(name, other): &&(String, Source)| {
                folder.project && (*name == definition.name || *other != Source::BuiltIn)
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
                self.refuse(source, why);
                continue;
            }
            if let Some(why) = self.taken(definition) {
                self.refuse(source, why);
                continue;
            }
            here.insert(name.clone(), source);
            self.add(Ok(parsed));
        }
    }

    /// Whether the user lets a project's definition replace `other`, one of the user's or a
    /// built-in one. What the user accepts is the whole text, because it decides what an agent of a
    /// known name does.
    fn may_replace(
        &mut self,
        parsed: &Parsed,
        other: &Source,
        text: &str,
        accepted: Option<&Accepted>,
    ) -> bool {
        let Definition { name, source, .. } = &parsed.definition;
        let Some(path) = source.path() else { return true };
        let path = accepted.map_or(path.to_owned(), |accepted| accepted.trust.shown(path));
        let whose = if *other == Source::BuiltIn { "the built-in one" } else { "yours" };
        let thing = Inert::replacing_agent(name, whose, text, &path);
        if accepted.is_some_and(|accepted| accepted.trust.accepts(&thing)) {
            return true;
        }
        self.inert.push(thing);
        // All of the file is accepted together.
        self.inert.extend(parsed.inert.iter().cloned());
        let message = format!(
            "not trusted, so it does not replace the agent {name} ({other}): give it another name, or accept it with \
             `caliban trust`"
        );
        let error = DefinitionError { place: source.clone(), line: None, message };
        self.problems.push(Problem::Untrusted(error));
        false
    }

    /// Why this definition cannot stand beside those already found: one tool must not stand for two agents.
    fn taken(&self, definition: &Definition) -> Option<String> {
        let tool = definition.tool_name();
        let mut others = self.tools.get(&tool).into_iter().flatten();
        let found = others.find(|name| **name != definition.name);
        let found = found.and_then(|name| self.found.get(name));
        let is_other = |name: &str| name != definition.name && tool == tool_name(name);
        let built_in = BUILT_IN.iter().find(|(name, _)| is_other(name));
        let (name, place) = found
            .map(|found| (found.name.as_str(), &found.source))
            .or(built_in.map(|(name, _)| (*name, &Source::BuiltIn)))?;
        Some(format!(
            "the name {:?} is too close to {name:?} ({place}), since the tool of both would be {tool}: choose another",
            definition.name
        ))
    }

    fn add(&mut self, parsed: Result<Parsed, DefinitionError>) {
        match parsed {
            Ok(Parsed { definition, warnings, advice, inert, starts }) => {
                self.inert.extend(inert);
                self.starts.extend(starts);
                self.problems.extend(warnings.into_iter().map(Problem::Warning));
                self.advice.extend(advice);
                let name = definition.name.clone();
                self.tools.entry(definition.tool_name()).or_default().insert(name.clone());
                self.found.entry(name).or_insert_with(|| Arc::new(definition));
            }
            Err(error) => self.problems.push(Problem::Refused(error)),
        }
    }

    fn refuse(&mut self, place: Source, message: String) {
        self.problems.push(Problem::Refused(DefinitionError { place, line: None, message }));
    }
}

/// The definitions of the user and the built-in ones: of one tool the first counts.
fn kept(folders: &[ReadFolder<'_>]) -> Kept {
    let built_in = BUILT_IN.map(|(name, _)| (tool_name(name), name));
    let mut kept = Kept::new();
    let own = folders.iter().filter(|read| !read.folder.project).flat_map(|read| &read.files);
    for ReadFile { source, parsed } in own {
        let Ok((_, Parsed { definition, .. })) = parsed else { continue };
        let tool = definition.tool_name();
        // One that is too close to a built-in one does not count itself.
        if built_in.iter().all(|(other, name)| *other != tool || *name == definition.name) {
            kept.entry(tool).or_insert_with(|| (definition.name.clone(), source.clone()));
        }
    }
    for (tool, name) in built_in {
        kept.entry(tool).or_insert_with(|| (name.to_owned(), Source::BuiltIn));
    }
    kept
}
