//! Rules in the tool lists of an agent's definition: `tools: Bash(git:*)`, `disallowedTools:
//! Bash(rm:*)`. They bind the agent and those below it, in every mode, and allow nothing by
//! themselves.

use std::path::Path;

use super::facts::{Facts, Unit};
use super::path::Places;
use super::rule::{Base, List, Origin, Rule};
use crate::tool::canonical_name;

/// The rules of one definition, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    agent: String,
    only: Vec<String>,
    deny: Vec<String>,
}

/// The rules of one definition, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    agent: String,
    /// A call of one of these tools has to be covered by one of them.
    only: Vec<Rule>,
    pub deny: Vec<Rule>,
}

/// The tool that an entry of a list names, without its pattern.
#[must_use]
pub fn tool_of(entry: &str) -> &str {
    entry.split('(').next().unwrap_or_default().trim()
}

/// Checks an entry of a tool list that holds a pattern.
///
/// # Errors
/// With what is wrong, when the tool exists and the pattern cannot be read.
pub fn check(entry: &str, list: List) -> Result<(), String> {
    if !entry.contains('(') || !Rule::knows_tool(tool_of(entry)) {
        return Ok(());
    }
    let base = Base { project: Path::new("/"), home: Some(Path::new("/")) };
    match Rule::parse(entry, list, Origin::Session, base) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("`{entry}`: {}", error.problem)),
    }
}

impl Bounds {
    /// The rules among the entries of `tools` and `disallowedTools`. A tool that `tools` also lists
    /// without a pattern is not limited.
    #[must_use]
    pub fn from_lists(agent: &str, tools: Option<&[String]>, disallowed: &[String]) -> Self {
        let tools = tools.unwrap_or_default();
        let whole = |entry: &str| {
            let name = canonical_name(tool_of(entry));
            tools.iter().any(|other| !other.contains('(') && canonical_name(other) == name)
        };
        let is_rule = |entry: &&String| entry.contains('(');
        Self {
            agent: agent.to_owned(),
            only: tools.iter().filter(is_rule).filter(|entry| !whole(entry)).cloned().collect(),
            deny: disallowed.iter().filter(is_rule).cloned().collect(),
        }
    }

    /// Reads the rules. One that cannot be read denies its whole tool.
    pub(super) fn read(&self, base: Base<'_>) -> Option<Bound> {
        let origin = || Origin::Flag(format!("the definition of {}", self.agent));
        let mut bound = Bound { agent: self.agent.clone(), only: Vec::new(), deny: Vec::new() };
        for (texts, list) in [(&self.only, List::Allow), (&self.deny, List::Deny)] {
            for text in texts {
                match Rule::parse(text, list, origin(), base) {
                    Ok(rule) if list == List::Allow => bound.only.push(rule),
                    Ok(rule) => bound.deny.push(rule),
                    Err(_) => {
                        let whole = Rule::parse(tool_of(text), List::Deny, origin(), base);
                        bound.deny.extend(whole);
                    }
                }
            }
        }
        (!bound.only.is_empty() || !bound.deny.is_empty()).then_some(bound)
    }
}

impl Bound {
    /// Why the call is none of those that the definition's `tools` lists, if it is none.
    pub fn excludes(&self, facts: &Facts, places: &Places) -> Option<String> {
        let concerns = |rule: &&Rule| canonical_name(tool_of(rule.text())) == facts.tool;
        let own: Vec<&Rule> = self.only.iter().filter(concerns).collect();
        let covered = |unit: &Unit| {
            *unit == Unit::Nothing || own.iter().any(|rule| rule.allows(unit, facts, places))
        };
        if own.is_empty() || facts.units.iter().all(covered) {
            return None;
        }
        let rules: Vec<&str> = own.iter().map(|rule| rule.text()).collect();
        Some(format!(
            "the `tools` of the agent {} allow {} only for {}",
            self.agent,
            facts.tool,
            rules.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests;
