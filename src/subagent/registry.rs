//! All sub-agent definitions that apply in a project, and the problems with those that do not.

use std::collections::BTreeMap;

use super::definition::{
    Definition, DefinitionSource, DefinitionTrust, ParsedDefinition, tool_name,
};
use crate::config::UntrustedItem;

mod definitions;
mod sources;
#[cfg(test)]
mod tests;

use definitions::BUILT_IN;
pub use definitions::{DefinitionProblem, Definitions};
pub use sources::DefinitionSources;
use sources::{DefinitionFile, FolderContents};

/// The names and sources of definitions that no project replaces without the user's consent, by
/// their tool names.
type ProtectedAgents = BTreeMap<String, (String, DefinitionSource)>;

impl Definitions {
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
