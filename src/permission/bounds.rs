//! Rules in the tool lists of an agent definition: `tools: Bash(git:*)`, `disallowedTools:
//! Bash(rm:*)`. They bind the agent and its descendants, in every mode, and allow nothing by
//! themselves.

use std::path::Path;

use super::call_access::{AccessItem, CallAccess};
use super::places::Places;
use super::rule::{Rule, RuleBase, RuleList, RuleOrigin};
use crate::tool::canonical_name;

/// The rules of one definition, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolBounds {
    agent: String,
    only: Vec<String>,
    deny: Vec<String>,
}

/// The parsed rules of one definition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BoundRules {
    agent: String,
    /// A call of one of these tools must be covered by one of them.
    only: Vec<Rule>,
    pub deny: Vec<Rule>,
}

/// The tool that a list entry names, without its pattern.
pub fn entry_tool(entry: &str) -> &str {
    entry.split('(').next().unwrap_or_default().trim()
}

/// Checks a tool list entry that has a pattern.
///
/// # Errors
/// If the tool exists and the pattern cannot be parsed, with the problem.
pub fn check(entry: &str, list: RuleList) -> Result<(), String> {
    if !entry.contains('(') || !Rule::knows_tool(entry_tool(entry)) {
        return Ok(());
    }
    let base = RuleBase { project: Path::new("/"), home: Some(Path::new("/")) };
    match Rule::parse(entry, list, RuleOrigin::Session, base) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("`{entry}`: {}", error.problem)),
    }
}

impl ToolBounds {
    /// The rules among the entries of `tools` and `disallowedTools`. A tool that `tools` also lists
    /// without a pattern is not limited.
    pub fn from_lists(agent: &str, tools: Option<&[String]>, disallowed: &[String]) -> Self {
        let tools = tools.unwrap_or_default();
        let whole = |entry: &str| {
            let name = canonical_name(entry_tool(entry));
            tools.iter().any(|other| !other.contains('(') && canonical_name(other) == name)
        };
        let is_rule = |entry: &&String| entry.contains('(');
        Self {
            agent: agent.to_owned(),
            only: tools.iter().filter(is_rule).filter(|entry| !whole(entry)).cloned().collect(),
            deny: disallowed.iter().filter(is_rule).cloned().collect(),
        }
    }

    /// Parses the rules. An unreadable rule denies its whole tool.
    pub(super) fn read(&self, base: RuleBase<'_>) -> Option<BoundRules> {
        let origin = || RuleOrigin::Flag(format!("the definition of {}", self.agent));
        let mut bound =
            BoundRules { agent: self.agent.clone(), only: Vec::new(), deny: Vec::new() };
        for (texts, list) in [(&self.only, RuleList::Allow), (&self.deny, RuleList::Deny)] {
            for text in texts {
                match Rule::parse(text, list, origin(), base) {
                    Ok(rule) if list == RuleList::Allow => bound.only.push(rule),
                    Ok(rule) => bound.deny.push(rule),
                    Err(_) => {
                        let whole = Rule::parse(entry_tool(text), RuleList::Deny, origin(), base);
                        bound.deny.extend(whole);
                    }
                }
            }
        }
        (!bound.only.is_empty() || !bound.deny.is_empty()).then_some(bound)
    }
}

impl BoundRules {
    /// Why none of the rules in the definition's `tools` allows the call, if none does.
    pub fn excludes(&self, effects: &CallAccess, places: &Places) -> Option<String> {
        let concerns = |rule: &&Rule| canonical_name(entry_tool(rule.text())) == effects.tool;
        let own: Vec<&Rule> = self.only.iter().filter(concerns).collect();
        let covered = |item: &AccessItem| {
            *item == AccessItem::Nothing
                || own.iter().any(|rule| rule.allows(item, effects, places))
        };
        if own.is_empty() || effects.items.iter().all(covered) {
            return None;
        }
        let rules: Vec<&str> = own.iter().map(|rule| rule.text()).collect();
        Some(format!(
            "the `tools` of the agent {} allow {} only for {}",
            self.agent,
            effects.tool,
            rules.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests;
