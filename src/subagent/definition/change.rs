//! Limits what a definition that changes or appears during a session may do.

use std::sync::Arc;

use super::budget::BudgetSpec;
use super::fields::{Definition, Isolation};
use crate::config::INHERIT;
use crate::permission::ModePolicy;
use crate::protocol::{McpSelection, PermissionMode, Secret};

impl Definition {
    /// Limits it to what may apply in a session that began with `before`: whoever can write the
    /// file, perhaps an agent, gains nothing before the next start. Also returns whether that took
    /// something away.
    ///
    /// Each field is in one of three groups, and a new one must be added to one of them here:
    ///
    /// | field | applies |
    /// |---|---|
    /// | the agent's identity and instructions | as it is now |
    /// | what runs programs, sends keys, or sends the conversation elsewhere | as it was at the start |
    /// | rights and limits | as it is now where that narrows, else as it was at the start |
    ///
    /// The model belongs to the provider: it changes freely while the provider stays. A new agent
    /// has nothing of the second group and no mode of its own, and there is nothing that it could
    /// widen. An agent whose name moved from the user's definitions to the project's, or back, is
    /// new.
    pub fn limited_to_start(self: &Arc<Self>, before: Option<&Self>) -> (Arc<Self>, bool) {
        let is_same = |before: &&Self| before.source.is_project() == self.source.is_project();
        let start = before.filter(is_same).map_or_else(|| self.without_starts(), Self::clone);
        let Self { name, description, prompt, memory, color, background, returns, source, .. } =
            Self::clone(self);
        let (provider, model) = match named(&start) == named(self) {
            true => (self.provider.clone(), self.model.clone()),
            false => (start.provider, start.model),
        };
        let budget = self.budget.min(start.budget);
        let (permission_mode, own_mode) =
            mode((start.permission_mode, start.own_mode), (self.permission_mode, self.own_mode));
        let now = Self {
            name,
            description,
            prompt,
            memory,
            color,
            background,
            returns,
            source,
            provider,
            model,
            env: start.env,
            hooks: start.hooks,
            tools: tools(start.tools, self.tools.as_ref()),
            disallowed_tools: disallowed(start.disallowed_tools, &self.disallowed_tools),
            max_turns: budget.max_turns,
            budget,
            permission_mode,
            own_mode,
            isolation: match (start.isolation, self.isolation) {
                (Isolation::None, Isolation::None) => Isolation::None,
                (Isolation::Worktree, _) | (_, Isolation::Worktree) => Isolation::Worktree,
            },
            mcp_servers: servers(start.mcp_servers, self.mcp_servers.as_ref()),
        };
        let changed = now != **self;
        (if changed { now.into() } else { self.clone() }, changed)
    }

    /// The same agent as if its definition started and limited nothing.
    fn without_starts(&self) -> Self {
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            prompt: self.prompt.clone(),
            memory: self.memory,
            color: self.color.clone(),
            background: self.background,
            returns: self.returns,
            source: self.source.clone(),
            provider: None,
            model: None,
            env: Secret::default(),
            hooks: Vec::new(),
            tools: None,
            disallowed_tools: Vec::new(),
            max_turns: None,
            budget: BudgetSpec::default(),
            permission_mode: None,
            own_mode: false,
            isolation: Isolation::None,
            mcp_servers: None,
        }
    }
}

/// The provider, if the definition names one.
fn named(definition: &Definition) -> Option<&str> {
    definition.provider.as_deref().filter(|name| *name != INHERIT)
}

/// The mode, and whether it applies regardless of the session's: only if it did at the start, and
/// never a freer one than then.
fn mode(
    start: (Option<PermissionMode>, bool),
    now: (Option<PermissionMode>, bool),
) -> (Option<PermissionMode>, bool) {
    match (start, now) {
        // Without a mode, none applies.
        ((None, _), (None, own)) => (None, own),
        ((None, _), (Some(mode), _)) => (Some(mode), false),
        ((Some(most), own), (mode, own_now)) => {
            let mode = mode.map_or(most, |mode| ModePolicy::AtMost(most).resolve(mode));
            (Some(mode), own && own_now)
        }
    }
}

/// The tools; `None` is all of them.
fn tools(start: Option<Vec<String>>, now: Option<&Vec<String>>) -> Option<Vec<String>> {
    match (start, now) {
        (None, now) => now.cloned(),
        (Some(start), Some(now)) if now.iter().all(|tool| start.contains(tool)) => {
            Some(now.clone())
        }
        (start, _) => start,
    }
}

/// The disallowed tools: those of now and those of the start.
fn disallowed(start: Vec<String>, now: &[String]) -> Vec<String> {
    let missing = start.into_iter().filter(|tool| !now.contains(tool));
    now.iter().cloned().chain(missing).collect()
}

/// The servers; `None` is all of the session's.
fn servers(
    start: Option<Vec<McpSelection>>,
    now: Option<&Vec<McpSelection>>,
) -> Option<Vec<McpSelection>> {
    match (start, now) {
        (None, now) => {
            let of_session = |wish: &&McpSelection| matches!(wish, McpSelection::Named(_));
            now.map(|now| now.iter().filter(of_session).cloned().collect())
        }
        (Some(start), Some(now)) if now.iter().all(|wish| start.contains(wish)) => {
            Some(now.clone())
        }
        (start, _) => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subagent::definition::{DefinitionFormat, DefinitionSource};

    fn read(lines: &str, project: bool) -> Arc<Definition> {
        let text = format!("---\nname: scout\ndescription: d\n{lines}\n---\nLook.");
        let source = DefinitionSource::File { path: "scout.md".into(), project };
        Definition::parse(&text, &source, DefinitionFormat::Own, None).unwrap().definition.into()
    }

    #[test]
    fn a_change_counts_where_it_narrows_and_else_waits_for_the_next_start() {
        // At the start, now, what applies.
        let table = [
            ("", "model: m", "model: m"),
            ("provider: a\nmodel: m", "provider: a\nmodel: n", "provider: a\nmodel: n"),
            ("model: m", "provider: a\nmodel: n", "model: m"),
            ("provider: a\nmodel: m", "model: n", "provider: a\nmodel: m"),
            ("", "tools: Read", "tools: Read"),
            ("tools: Read, Grep", "tools: Grep", "tools: Grep"),
            ("tools: Read", "tools: Read, Bash", "tools: Read"),
            ("tools: Bash(ls:*)", "tools: Bash", "tools: Bash(ls:*)"),
            ("tools: Read", "", "tools: Read"),
            ("disallowedTools: Bash", "disallowedTools: Edit", "disallowedTools: Edit, Bash"),
            ("maxTurns: 3", "maxTurns: 9", "maxTurns: 3"),
            ("maxTurns: 3", "maxTurns: 2", "maxTurns: 2"),
            ("budget: { max_usd: 1 }", "maxTurns: 2", "maxTurns: 2\nbudget: { max_usd: 1 }"),
            ("isolation: worktree", "", "isolation: worktree"),
            ("", "isolation: worktree", "isolation: worktree"),
            ("permissionMode: plan", "", "permissionMode: plan"),
            ("permissionMode: plan", "permissionMode: default", "permissionMode: plan"),
            ("permissionMode: acceptEdits", "permissionMode: plan", "permissionMode: plan"),
            ("mcpServers: [a]", "mcpServers: [a, b]", "mcpServers: [a]"),
            ("mcpServers: [a, b]", "mcpServers: [b]", "mcpServers: [b]"),
            ("mcpServers: [a]", "", "mcpServers: [a]"),
            ("env: { A: b }", "env: { A: c }", "env: { A: b }"),
            ("memory: none\ncolor: red", "background: true", "background: true"),
        ];
        for (start, now, counts) in table {
            let (start, now, counts) = (read(start, false), read(now, false), read(counts, false));
            let (found, changed) = now.limited_to_start(Some(&start));
            assert!(found == counts, "{start:?}");
            assert_eq!(changed, now != counts);
        }
    }

    #[test]
    fn one_that_is_new_or_of_another_owner_starts_nothing_and_limits_itself() {
        let own = "mcpServers: { s: { command: x } }";
        for (now, counts) in [
            ("provider: a\nmodel: m", ""),
            ("model: m\ntools: Bash\nmaxTurns: 2", "model: m\ntools: Bash\nmaxTurns: 2"),
            ("env: { A: b }", ""),
            (own, "mcpServers: []"),
        ] {
            let (now, counts) = (read(now, false), read(counts, false));
            let theirs = read("tools: Read", true);
            for before in [None, Some(&*theirs)] {
                assert!(now.limited_to_start(before).0 == counts);
            }
        }
        let wide = read("permissionMode: acceptEdits", false);
        assert!(wide.own_mode && !wide.limited_to_start(None).0.own_mode);
        assert!(!wide.limited_to_start(Some(&read("", false))).0.own_mode);
        assert!(wide.limited_to_start(Some(&wide)).0.own_mode);
    }
}
