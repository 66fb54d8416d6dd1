//! Permission rules as users write them: `Bash(git diff:*)`, `Edit(src/**)`, `mcp__server`.

use self::effect::{FileEffect, doubt, restricts_paths};
use self::elsewhere::{RuleMatch, elsewhere_reason, is_as_named, starts_in_project};
use self::scope::{DELEGATE_PREFIX, KNOWN_TOOLS, RuleScope, parse_scope};
use super::call_access::{AccessItem, CallAccess};
use super::danger::Danger;
use super::pattern::{CommandPattern, PathPattern, Restriction};
use super::places::Places;
use super::read_only::ReadRules;
use super::script::SimpleCommand;
use crate::protocol::{MCP_PREFIX, printable_line, quoted_rule};
use crate::tool::canonical_name;

mod effect;
mod elsewhere;
mod origin;
mod scope;
mod shell_line;

pub use origin::{RuleBase, RuleList, RuleOrigin};

/// Why a rule does not cover a command that it names.
#[derive(Clone, Debug)]
pub enum Exception {
    /// An option that the rule must name.
    Danger(Danger),
    /// The command runs where the rule means something else, for this reason.
    Elsewhere(String),
}

/// Maximum deny or ask rules in one place. Each call is compared with every one of them.
const MAX_RULES: usize = 1_000;

/// A rule that cannot be read, as text of one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("permission rule `{rule}` {origin}: {problem}")]
pub struct RuleError {
    pub rule: String,
    pub origin: RuleOrigin,
    pub problem: String,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    text: String,
    origin: RuleOrigin,
    scope: RuleScope,
}

impl Rule {
    /// Parses a rule of `list`.
    pub fn parse(
        text: &str,
        list: RuleList,
        origin: RuleOrigin,
        base: RuleBase<'_>,
    ) -> Result<Self, RuleError> {
        let text = text.trim();
        match parse_scope(text, list, base) {
            Ok(covers) => Ok(Self { text: text.to_owned(), origin, scope: covers }),
            Err(problem) => {
                // A message repeats both.
                let [rule, problem] = [text, &problem].map(printable_line);
                Err(RuleError { rule, origin, problem })
            }
        }
    }

    /// Whether a built-in tool has this name.
    pub fn knows_tool(name: &str) -> bool {
        KNOWN_TOOLS.contains(&canonical_name(name)) || name.starts_with(MCP_PREFIX)
    }

    /// The rule as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it was written.
    pub fn origin(&self) -> &RuleOrigin {
        &self.origin
    }

    /// The rule and its origin, for messages: `rule Bash(rm:*) in .caliban/config.toml`.
    pub fn describe(&self, places: &Places) -> String {
        format!("rule {} {}", quoted_rule(&self.text), self.origin.show(places))
    }

    /// Whether this rule, in the allow list, covers one item of the call.
    pub(super) fn allows(&self, item: &AccessItem, effects: &CallAccess, places: &Places) -> bool {
        match (&self.scope, item) {
            (RuleScope::Tool(name), _) => effects.tool == *name,
            (RuleScope::Tools(start), _) => effects.tool.starts_with(start),
            (RuleScope::Command(pattern), item) => {
                let Some(shell) = &effects.shell else { return false };
                let bases = shell.bases.known().unwrap_or_default();
                let covers = |command| {
                    // Whether it runs at all, and how often, would be a sign of a value.
                    !shell.script.decides_by_values
                        && pattern.allows(command, bases)
                        && !pattern.is_misled(command, &shell.line, bases)
                        && pattern.allows_readings(shell.readings(command), bases)
                        && self.elsewhere(pattern, command, effects, places).is_none()
                };
                // The author knew this very line, but not everything it may amount to elsewhere.
                let is_meant_here = || match item {
                    AccessItem::Command(command) => {
                        self.elsewhere(pattern, command, effects, places).is_none()
                    }
                    AccessItem::Other | AccessItem::Unclear(_) if self.is_general() => {
                        !shell.line.contains("git")
                            && !shell.mentioned().has_open_redirect
                            && shell.any_link_escape(places).is_none()
                    }
                    AccessItem::Read(target) | AccessItem::Write(target) => {
                        is_as_named(target, &shell.bases.shell)
                            && (!self.is_general() || shell.any_link_escape(places).is_none())
                    }
                    _ => true,
                };
                pattern.is_line(&shell.line)
                    && starts_in_project(shell, effects, places)
                    && is_meant_here()
                    || matches!(item, AccessItem::Command(command) if covers(command))
            }
            // Whether it is written at all would be a sign of a value.
            (RuleScope::Path { .. }, _)
                if effects.shell.as_ref().is_some_and(|shell| shell.script.decides_by_values) =>
            {
                false
            }
            // It is for the tools that read. A line with such a file would lose its bounds.
            (RuleScope::Path { .. }, _)
                if self.origin == RuleOrigin::Skills && effects.shell.is_some() =>
            {
                false
            }
            (
                RuleScope::Path { effect, tool, pattern },
                AccessItem::Read(target) | AccessItem::Write(target),
            ) => {
                let writes = matches!(item, AccessItem::Write(_));
                let meant = match pattern {
                    None => !writes || !places.protects(target),
                    Some(pattern) => {
                        pattern.allows(target, &effects.cwd)
                            && (!pattern.is_for_session(places)
                                || target
                                    .resolved
                                    .as_ref()
                                    .is_some_and(|it| places.is_of_session(it)))
                            && (!writes
                                || places.protections(target).iter().all(|it| pattern.names(it)))
                    }
                };
                meant
                    && writes == (*effect == FileEffect::Writes)
                    && tool.as_ref().is_none_or(|tool| *tool == effects.tool)
            }
            (RuleScope::Domain(pattern), AccessItem::Fetch(Some(host))) => pattern.allows(host),
            (RuleScope::Agent(name), AccessItem::Agent(asked)) => {
                name.as_ref().is_none_or(|name| same_agent(name, asked))
            }
            (RuleScope::Skill(name), AccessItem::Skill(asked)) => name == asked,
            _ => false,
        }
    }

    /// Whether this rule, in the ask or deny list, applies to any part of the call.
    pub(super) fn restricts(&self, effects: &CallAccess, places: &Places) -> Restriction {
        match (&self.scope, &effects.shell) {
            (RuleScope::Command(pattern), Some(shell)) => shell_line::compare_line(pattern, shell),
            (RuleScope::Path { effect, tool, pattern }, shell) => {
                if tool.as_ref().is_some_and(|tool| *tool != effects.tool) {
                    return Restriction::No;
                }
                let mut named = restricts_paths(*effect, pattern.as_ref(), effects, places);
                if let (Some(pattern), Some(shell)) = (pattern, shell)
                    && named != Restriction::Yes
                {
                    let by_folder = effect.by_folder(pattern, shell, effects, places);
                    named = Restriction::strongest([by_folder, named]);
                }
                if let (Some(pattern), Restriction::No) = (pattern, &named) {
                    named = effect.in_git_store(pattern, effects, places);
                }
                match (named, pattern, shell) {
                    (Restriction::No, Some(pattern), Some(shell)) => {
                        match doubt(effect.files(shell), effects) {
                            Restriction::No => match effect.unseen(pattern, shell, effects, places)
                            {
                                Restriction::No => effect.doubt(pattern, shell, effects, places),
                                unseen => unseen,
                            },
                            doubt => doubt,
                        }
                    }
                    (named, ..) => named,
                }
            }
            _ => Restriction::certain(self.is_meant_for(effects)),
        }
    }

    /// The same for rules about tools, hosts, agents and skills, where the answer is certain.
    fn is_meant_for(&self, effects: &CallAccess) -> bool {
        let items = effects.items.iter();
        match &self.scope {
            RuleScope::Tool(name) => effects.tool == *name,
            RuleScope::Tools(start) => effects.tool.starts_with(start),
            RuleScope::Command(_) | RuleScope::Path { .. } => false,
            RuleScope::Domain(pattern) => items
                .filter_map(|item| match item {
                    AccessItem::Fetch(host) => Some(host.as_deref()),
                    _ => None,
                })
                // An unreadable address might be the one that is meant.
                .any(|host| host.is_none_or(|host| pattern.restricts(host))),
            RuleScope::Skill(name) => items
                .into_iter()
                .any(|item| matches!(item, AccessItem::Skill(asked) if asked == name)),
            RuleScope::Agent(name) => {
                let mut asked = items.filter_map(|item| match item {
                    AccessItem::Agent(asked) => Some(asked),
                    _ => None,
                });
                match name {
                    Some(name) => asked.any(|asked| same_agent(name, asked)),
                    None => effects.tool == "AgentTool" || asked.next().is_some(),
                }
            }
        }
    }

    /// The only reason why this rule, in the allow list, does not cover the item.
    pub(super) fn exception(
        &self,
        item: &AccessItem,
        effects: &CallAccess,
        places: &Places,
    ) -> Option<Exception> {
        let (RuleScope::Command(pattern), AccessItem::Command(command)) = (&self.scope, item)
        else {
            return None;
        };
        let shell = effects.shell.as_ref()?;
        let bases = shell.bases.known().unwrap_or_default();
        if let Some(danger) = pattern.exception(command, bases) {
            return Some(Exception::Danger(danger));
        }
        if !pattern.allows(command, bases) {
            return None;
        }
        if let Some(why) = self.elsewhere(pattern, command, effects, places) {
            return Some(Exception::Elsewhere(why));
        }
        let is_covered = pattern.allows_readings(shell.readings(command), bases);
        (!is_covered).then(|| Exception::Danger(Danger::unknown_words()))
    }

    /// Whether the rule is for reading or writing files.
    pub(super) fn is_for_files(&self) -> bool {
        matches!(self.scope, RuleScope::Path { .. })
    }

    /// Whether the rule is for all projects.
    pub(super) fn is_general(&self) -> bool {
        matches!(self.origin, RuleOrigin::UserFile(_))
    }

    /// Why the rule means something else where the command runs. One in a file of the user is for all
    /// projects. Where a glob, which the rule has too, says which files the command gets, each of its
    /// names counts.
    fn elsewhere(
        &self,
        pattern: &CommandPattern,
        command: &SimpleCommand,
        effects: &CallAccess,
        places: &Places,
    ) -> Option<String> {
        let shell = effects.shell.as_ref()?;
        let named = RuleMatch {
            pattern,
            has_folder: pattern.is_line(&shell.line) && starts_in_project(shell, effects, places),
            is_general: self.is_general(),
        };
        let own = elsewhere_reason(command, named, shell, effects, places);
        if own.is_some() || !pattern.has_open_files(command) {
            return own;
        }
        let readings = shell.readings(command).filter(|readings| {
            !readings.is_open && !readings.commands.iter().any(|it| pattern.has_open_files(it))
        });
        let Some(readings) = readings else {
            return Some("which files it gets is known only at run time".to_owned());
        };
        readings.commands.iter().find_map(|it| self.elsewhere(pattern, it, effects, places))
    }

    /// Whether this rule, in the allow list, names the item's line word for word.
    pub(super) fn names(&self, item: &AccessItem, effects: &CallAccess) -> bool {
        let RuleScope::Command(pattern @ CommandPattern::Exact(_)) = &self.scope else {
            return false;
        };
        let Some(shell) = &effects.shell else { return false };
        let is_alone = || shell.script.is_one_command();
        pattern.is_line(&shell.line)
            || matches!(item, AccessItem::Command(command) if is_alone() && pattern.allows(command, &[]))
    }

    /// Whether the rule covers every call of this tool.
    pub(super) fn covers_all_of(&self, tool: &str) -> bool {
        match &self.scope {
            RuleScope::Tool(name) => name == tool,
            RuleScope::Tools(start) => tool.starts_with(start),
            RuleScope::Agent(None) => {
                let starts = ["AgentTool", "agent_spawn", "agent_fork"];
                starts.contains(&canonical_name(tool)) || tool.starts_with(DELEGATE_PREFIX)
            }
            RuleScope::Agent(Some(name)) => {
                tool.strip_prefix(DELEGATE_PREFIX).is_some_and(|agent| same_agent(name, agent))
            }
            RuleScope::Path { tool: Some(own), pattern: None, .. } => own == tool,
            RuleScope::Path { effect, tool: None, pattern: None } => match effect {
                FileEffect::Reads => matches!(tool, "Read" | "Glob" | "Grep"),
                FileEffect::Writes => matches!(tool, "Edit" | "Write"),
            },
            _ => false,
        }
    }

    /// Whether the rule covers every start of this sub-agent.
    pub(super) fn covers_agent(&self, agent: &str) -> bool {
        match &self.scope {
            RuleScope::Agent(None) => true,
            RuleScope::Agent(Some(name)) => same_agent(name, agent),
            _ => false,
        }
    }

    /// How to write the rule for an absolute path, if it names a top-level folder that is not in
    /// the project: a single `/` starts in the project.
    pub fn absolute_spelling(&self) -> Option<String> {
        match &self.scope {
            RuleScope::Path { pattern: Some(pattern), .. } if pattern.seems_absolute() => {
                Some(self.text.replacen("(/", "(//", 1))
            }
            _ => None,
        }
    }

    /// Whether the rule is about reading any file.
    pub(super) fn covers_all_reads(&self) -> bool {
        matches!(
            self.scope,
            RuleScope::Path { effect: FileEffect::Reads, tool: None, pattern: None }
        )
    }

    /// The files whose reading this rule is about, if any.
    pub(super) fn read_pattern(&self) -> Option<&PathPattern> {
        match &self.scope {
            RuleScope::Path { effect: FileEffect::Reads, pattern, .. } => pattern.as_ref(),
            _ => None,
        }
    }
}

/// Tools have names without hyphens, so a rule may write a sub-agent's name without them as well.
fn same_agent(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    plain(one) == plain(other)
}

/// The first of these deny and ask rules that restrict the reading of files.
pub(super) fn read_rules<'a>(rules: impl Iterator<Item = &'a Rule>, places: &Places) -> ReadRules {
    let mut found = ReadRules::default();
    for rule in rules {
        if let RuleScope::Path { effect: FileEffect::Reads, tool: None, pattern } = &rule.scope {
            let kind = if pattern.is_some() { &mut found.some } else { &mut found.all };
            kind.get_or_insert_with(|| rule.describe(places));
        }
    }
    found
}

/// The three lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet {
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

impl RuleSet {
    /// Parses rules into one of the lists; adds nothing if one of them is invalid.
    pub fn add<T: AsRef<str>>(
        &mut self,
        list: RuleList,
        texts: &[T],
        origin: &RuleOrigin,
        base: RuleBase<'_>,
    ) -> Result<(), RuleError> {
        let parse = |text: &T| Rule::parse(text.as_ref(), list, origin.clone(), base);
        let rules = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let all = match list {
            RuleList::Allow => &mut self.allow,
            RuleList::Ask => &mut self.ask,
            RuleList::Deny => &mut self.deny,
        };
        // Allow rules are only compared until one covers the call.
        let restricts = list != RuleList::Allow;
        let from_here = all.iter().filter(|rule| restricts && rule.origin == *origin).count();
        if restricts && let Some(beyond) = rules.get(MAX_RULES.saturating_sub(from_here)) {
            let problem = format!(
                "comes after {MAX_RULES} others, and that is the limit of a list: write fewer rules, with `**` in their \
                 paths or a shorter prefix"
            );
            return Err(RuleError { rule: beyond.text.clone(), origin: origin.clone(), problem });
        }
        all.extend(rules);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(text: &str, list: RuleList) -> Result<Rule, RuleError> {
        let base = RuleBase { project: Path::new("/p"), home: None };
        Rule::parse(text, list, RuleOrigin::Flag("--allowed-tools".to_owned()), base)
    }

    #[test]
    fn a_list_of_rules_has_a_limit_for_each_place() {
        let base = RuleBase { project: Path::new("/p"), home: None };
        let [flag, other] = ["--a", "--b"].map(|flag| RuleOrigin::Flag(flag.to_owned()));
        let rules: Vec<String> = (0..MAX_RULES).map(|n| format!("Read(a{n})")).collect();
        let mut set = RuleSet::default();
        set.add(RuleList::Deny, &rules, &flag, base).unwrap();
        set.add(RuleList::Deny, &rules, &other, base).unwrap();
        set.add(RuleList::Ask, &rules, &flag, base).unwrap();
        let error = set.add(RuleList::Deny, &["Read(one)", "Read(two)"], &flag, base).unwrap_err();
        assert_eq!(error.rule, "Read(one)");
        set.add(RuleList::Allow, &[rules.clone(), rules].concat(), &flag, base).unwrap();
        assert_eq!(set.deny.len(), 2 * MAX_RULES, "none of them counts");
    }

    #[test]
    fn every_built_in_tool_is_known() {
        let settings = crate::tool::BuiltinSettings::new(Path::new("/p").into());
        for tool in crate::tool::builtin(&settings) {
            let name = &tool.spec().name;
            assert!(KNOWN_TOOLS.contains(&name.as_str()), "add {name} to KNOWN_TOOLS");
        }
    }

    #[test]
    fn rules_are_read_as_people_write_them() {
        for text in [
            "Bash",
            "Bash(git diff:*)",
            "Bash(npm run test)",
            "Bash(*)",
            "Bash(echo (hi))",
            "Read",
            "Edit(src/**)",
            "Read(//etc/**)",
            "WebFetch",
            "WebFetch(domain:example.com)",
            "Agent",
            "Task(explore)",
            "AgentTool(explore)",
            "mcp__srv",
            "mcp__srv__*",
            "mcp__srv__tool",
            "mcp__srv__get_*",
            "delegate_to_explore",
            "agent_spawn",
            "NotebookEdit",
            " Bash(ls) ",
        ] {
            assert!(parse(text, RuleList::Allow).is_ok(), "{text}");
        }
        for (text, tool) in
            [("AgentTool(*)", "AgentTool"), ("Task(*)", "AgentTool"), ("Skill(*)", "Skill")]
        {
            assert!(parse(text, RuleList::Deny).unwrap().covers_all_of(tool), "{text}");
        }
    }

    #[test]
    fn a_broken_rule_is_an_error_that_says_what_is_allowed() {
        for (text, part) in [
            ("", "not a tool's name"),
            ("Bash(git", "closing parenthesis"),
            ("Bash()", "write Bash alone"),
            ("Bash(git:* push)", "only stand at the end"),
            ("bash(ls)", "did you mean Bash?"),
            ("Raed", "did you mean Read?"),
            ("Edti", "did you mean Edit?"),
            ("WebFecth", "did you mean WebFetch?"),
            ("Bsh(rm:*)", "there is no tool Bsh"),
            ("TodoWrite(x)", "takes no pattern"),
            ("Read(~/x)", "home directory"),
            ("Edit(src/[)", "allowed are"),
            ("WebFetch(example.com)", "domain:"),
            ("AgentTool(exp*)", "one rule for each, or AgentTool for all"),
            ("Skill(dep*)", "one rule for each, or Skill for all"),
            ("Read(.)", "use `**` for all files below"),
            ("mcp__srv(x)", "no pattern"),
            ("mcp__*", "mcp__server"),
            ("*", "MCP tool"),
            ("Read Edit", "not a tool's name"),
        ] {
            for list in [RuleList::Allow, RuleList::Deny] {
                let error = parse(text, list).unwrap_err().to_string();
                assert!(error.contains(part), "{text}: {error}");
                assert!(error.contains("from --allowed-tools"), "{error}");
            }
        }
        assert!(parse("Bash(* --version)", RuleList::Allow).is_err());
        assert!(parse("Bash(* --force)", RuleList::Deny).is_ok());
    }
}
