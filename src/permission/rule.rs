//! Permission rules as people write them: `Bash(git diff:*)`, `Edit(src/**)`, `mcp__server`.

use std::fmt;
use std::path::{Path, PathBuf};

use self::covers::{Covers, DELEGATE, KNOWN, covers};
use self::effect::{Effect, doubt, restricts_paths};
use self::elsewhere::{RuleMatch, elsewhere, is_as_named, starts_in_project};
use super::danger::Danger;
use super::facts::{Facts, Unit};
use super::path::Places;
use super::pattern::{CommandPattern, PathPattern};
use super::read_only::ReadRules;
use super::restriction::{self, Restriction};
use super::script::SimpleCommand;
use crate::protocol::MCP_PREFIX;
use crate::tool::canonical_name;

mod covers;
mod effect;
mod elsewhere;

/// Why a rule does not cover a command that it names.
#[derive(Clone, Debug)]
pub enum Exception {
    /// An option that the rule has to name.
    Danger(Danger),
    /// The command runs where the rule means something else, for this reason.
    Elsewhere(String),
}

/// Where a rule comes from, so that the person can find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file of the project's.
    File(PathBuf),
    /// A file of the user's, which is for all projects.
    UserFile(PathBuf),
    /// The place of the user's own skills, whose texts name files beside them.
    Skills,
    /// A command-line option, such as `--allowed-tools`.
    Flag(String),
    /// A person's answer in this session.
    Session,
}

impl Origin {
    /// As messages name it; files of the project by their short name.
    fn show(&self, places: &Places) -> String {
        match self {
            Self::File(path) | Self::UserFile(path) => format!("in {}", places.show(path)),
            Self::Skills => "from the place of your skills".to_owned(),
            Self::Flag(name) => format!("from {name}"),
            Self::Session => "granted in this session".to_owned(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&Places::default()))
    }
}

/// Which list a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Allow,
    Ask,
    Deny,
}

/// What relative and `~` patterns of a rule start from.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    pub project: &'a Path,
    pub home: Option<&'a Path>,
}

/// The most deny or ask rules in one place. Each call is compared with every one of them.
const MAX_RULES: usize = 1_000;

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("permission rule `{rule}` {origin}: {problem}")]
pub struct RuleError {
    pub rule: String,
    pub origin: Origin,
    pub problem: String,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    text: String,
    origin: Origin,
    covers: Covers,
}

impl Rule {
    /// Reads a rule that stands in `list`.
    pub fn parse(
        text: &str,
        list: List,
        origin: Origin,
        base: Base<'_>,
    ) -> Result<Self, RuleError> {
        let text = text.trim();
        match covers(text, list, base) {
            Ok(covers) => Ok(Self { text: text.to_owned(), origin, covers }),
            Err(problem) => Err(RuleError { rule: text.to_owned(), origin, problem }),
        }
    }

    /// Whether a built-in tool has this name.
    #[must_use]
    pub fn knows_tool(name: &str) -> bool {
        KNOWN.contains(&canonical_name(name)) || name.starts_with(MCP_PREFIX)
    }

    /// The rule as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it was written.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The rule and its place, for messages: `rule Bash(rm:*) in .caliban/config.toml`.
    #[must_use]
    pub fn describe(&self, places: &Places) -> String {
        format!("rule {} {}", self.text, self.origin.show(places))
    }

    /// Whether this rule, in the allow list, covers one unit of the call.
    #[must_use]
    pub(super) fn allows(&self, unit: &Unit, facts: &Facts, places: &Places) -> bool {
        match (&self.covers, unit) {
            (Covers::Tool(name), _) => facts.tool == *name,
            (Covers::Tools(start), _) => facts.tool.starts_with(start),
            (Covers::Command(pattern), unit) => {
                let Some(shell) = &facts.shell else { return false };
                let bases = shell.bases.known().unwrap_or_default();
                let covers = |command| {
                    pattern.allows(command, bases)
                        && !pattern.is_misled(command, &shell.line, bases)
                        && self.elsewhere(pattern, command, facts, places).is_none()
                };
                // The very line was thought of, but not all that it may come to elsewhere.
                let is_meant_here = || match unit {
                    Unit::Command(command) => {
                        self.elsewhere(pattern, command, facts, places).is_none()
                    }
                    Unit::Other | Unit::Unclear(_) if self.is_general() => {
                        !shell.line.contains("git")
                            && !shell.mentioned().has_open_redirect
                            && shell.led_away(places).is_none()
                    }
                    Unit::Read(target) | Unit::Write(target) => {
                        is_as_named(target, &shell.bases.shell)
                            && (!self.is_general() || shell.led_away(places).is_none())
                    }
                    _ => true,
                };
                pattern.is_line(&shell.line)
                    && starts_in_project(shell, facts, places)
                    && is_meant_here()
                    || matches!(unit, Unit::Command(command) if covers(command))
            }
            // It is for the tools that read. A line with such a file would lose its bounds.
            (Covers::Path { .. }, _) if self.origin == Origin::Skills && facts.shell.is_some() => {
                false
            }
            (Covers::Path { effect, tool, pattern }, Unit::Read(target) | Unit::Write(target)) => {
                let writes = matches!(unit, Unit::Write(_));
                let meant = match pattern {
                    None => !writes || !places.protects(target),
                    Some(pattern) => {
                        pattern.allows(target, &facts.cwd)
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
                    && writes == (*effect == Effect::Writes)
                    && tool.as_ref().is_none_or(|tool| *tool == facts.tool)
            }
            (Covers::Domain(pattern), Unit::Fetch(Some(host))) => pattern.allows(host),
            (Covers::Agent(name), Unit::Agent(asked)) => {
                name.as_ref().is_none_or(|name| same_agent(name, asked))
            }
            (Covers::Skill(name), Unit::Skill(asked)) => name == asked,
            _ => false,
        }
    }

    /// Whether this rule, in the ask or deny list, is meant for any part of the call.
    #[must_use]
    pub(super) fn restricts(&self, facts: &Facts, places: &Places) -> Restriction {
        match (&self.covers, &facts.shell) {
            (Covers::Command(pattern), Some(shell)) => restriction::of_line(pattern, shell),
            (Covers::Path { effect, tool, pattern }, shell) => {
                if tool.as_ref().is_some_and(|tool| *tool != facts.tool) {
                    return Restriction::No;
                }
                let mut named = restricts_paths(*effect, pattern.as_ref(), facts, places);
                if let (Some(pattern), Some(shell)) = (pattern, shell)
                    && named != Restriction::Yes
                {
                    let by_folder = effect.by_folder(pattern, shell, facts, places);
                    named = Restriction::strongest([by_folder, named]);
                }
                if let (Some(pattern), Restriction::No) = (pattern, &named) {
                    named = effect.in_git_store(pattern, facts, places);
                }
                match (named, pattern, shell) {
                    (Restriction::No, Some(pattern), Some(shell)) => {
                        match doubt(effect.files(shell), facts) {
                            Restriction::No => match effect.unseen(pattern, shell, facts, places) {
                                Restriction::No => effect.doubt(pattern, shell, facts, places),
                                unseen => unseen,
                            },
                            doubt => doubt,
                        }
                    }
                    (named, ..) => named,
                }
            }
            _ => Restriction::certain(self.is_meant_for(facts)),
        }
    }

    /// The same for rules about tools, hosts, agents and skills, where it can always be told.
    fn is_meant_for(&self, facts: &Facts) -> bool {
        let units = facts.units.iter();
        match &self.covers {
            Covers::Tool(name) => facts.tool == *name,
            Covers::Tools(start) => facts.tool.starts_with(start),
            Covers::Command(_) | Covers::Path { .. } => false,
            Covers::Domain(pattern) => units
                .filter_map(|unit| match unit {
                    Unit::Fetch(host) => Some(host.as_deref()),
                    _ => None,
                })
                // An address that cannot be read might be the one that is meant.
                .any(|host| host.is_none_or(|host| pattern.restricts(host))),
            Covers::Skill(name) => {
                units.into_iter().any(|unit| matches!(unit, Unit::Skill(asked) if asked == name))
            }
            Covers::Agent(name) => {
                let mut asked = units.filter_map(|unit| match unit {
                    Unit::Agent(asked) => Some(asked),
                    _ => None,
                });
                match name {
                    Some(name) => asked.any(|asked| same_agent(name, asked)),
                    None => facts.tool == "AgentTool" || asked.next().is_some(),
                }
            }
        }
    }

    /// What alone keeps this rule, in the allow list, from covering the unit.
    #[must_use]
    pub(super) fn exception(
        &self,
        unit: &Unit,
        facts: &Facts,
        places: &Places,
    ) -> Option<Exception> {
        let (Covers::Command(pattern), Unit::Command(command)) = (&self.covers, unit) else {
            return None;
        };
        let shell = facts.shell.as_ref()?;
        let bases = shell.bases.known().unwrap_or_default();
        if let Some(danger) = pattern.exception(command, bases) {
            return Some(Exception::Danger(danger));
        }
        let is_covered = pattern.allows(command, bases);
        let why = || self.elsewhere(pattern, command, facts, places);
        is_covered.then(why).flatten().map(Exception::Elsewhere)
    }

    /// Whether the rule is for reading or writing files.
    pub(super) fn is_for_files(&self) -> bool {
        matches!(self.covers, Covers::Path { .. })
    }

    /// Whether the rule is for all projects.
    pub(super) fn is_general(&self) -> bool {
        matches!(self.origin, Origin::UserFile(_))
    }

    /// Why the rule means something else where the command runs. One in a file of the user's is for
    /// all projects.
    fn elsewhere(
        &self,
        pattern: &CommandPattern,
        command: &SimpleCommand,
        facts: &Facts,
        places: &Places,
    ) -> Option<String> {
        let named = RuleMatch {
            words: pattern.file_words(),
            is_whole: matches!(pattern, CommandPattern::Exact(_)),
            is_general: self.is_general(),
        };
        elsewhere(command, named, facts.shell.as_ref()?, facts, places)
    }

    /// Whether this rule, in the allow list, names the line of the unit word for word.
    #[must_use]
    pub(super) fn names(&self, unit: &Unit, facts: &Facts) -> bool {
        let Covers::Command(pattern @ CommandPattern::Exact(_)) = &self.covers else {
            return false;
        };
        let Some(shell) = &facts.shell else { return false };
        let is_alone = || shell.script.is_one_command();
        pattern.is_line(&shell.line)
            || matches!(unit, Unit::Command(command) if is_alone() && pattern.allows(command, &[]))
    }

    /// Whether the rule is about every call of this tool.
    #[must_use]
    pub(super) fn covers_all_of(&self, tool: &str) -> bool {
        match &self.covers {
            Covers::Tool(name) => name == tool,
            Covers::Tools(start) => tool.starts_with(start),
            Covers::Agent(None) => {
                let starts = ["AgentTool", "agent_spawn", "agent_fork"];
                starts.contains(&canonical_name(tool)) || tool.starts_with(DELEGATE)
            }
            Covers::Agent(Some(name)) => {
                tool.strip_prefix(DELEGATE).is_some_and(|agent| same_agent(name, agent))
            }
            Covers::Path { effect, tool: None, pattern: None } => match effect {
                Effect::Reads => matches!(tool, "Read" | "Glob" | "Grep"),
                Effect::Writes => matches!(tool, "Edit" | "Write"),
            },
            _ => false,
        }
    }

    /// Whether the rule is about every start of this sub-agent.
    #[must_use]
    pub(super) fn covers_agent(&self, agent: &str) -> bool {
        match &self.covers {
            Covers::Agent(None) => true,
            Covers::Agent(Some(name)) => same_agent(name, agent),
            _ => false,
        }
    }

    /// How to write the rule for a path of the file system, when it names a folder there that is
    /// none of the project: a single `/` starts in the project.
    #[must_use]
    pub fn absolute_spelling(&self) -> Option<String> {
        match &self.covers {
            Covers::Path { pattern: Some(pattern), .. } if pattern.seems_absolute() => {
                Some(self.text.replacen("(/", "(//", 1))
            }
            _ => None,
        }
    }

    /// The files whose reading this rule is about, when it is about some.
    #[must_use]
    pub(super) fn read_pattern(&self) -> Option<&PathPattern> {
        match &self.covers {
            Covers::Path { effect: Effect::Reads, pattern, .. } => pattern.as_ref(),
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
        if let Covers::Path { effect: Effect::Reads, tool: None, pattern } = &rule.covers {
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
    /// Reads rules into one of the lists; nothing is added when one of them is broken.
    pub fn add<T: AsRef<str>>(
        &mut self,
        list: List,
        texts: &[T],
        origin: &Origin,
        base: Base<'_>,
    ) -> Result<(), RuleError> {
        let parse = |text: &T| Rule::parse(text.as_ref(), list, origin.clone(), base);
        let rules = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let all = match list {
            List::Allow => &mut self.allow,
            List::Ask => &mut self.ask,
            List::Deny => &mut self.deny,
        };
        // An allow rule is only looked at until one covers the call.
        let restricts = list != List::Allow;
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
    use super::*;

    fn parse(text: &str, list: List) -> Result<Rule, RuleError> {
        let base = Base { project: Path::new("/p"), home: None };
        Rule::parse(text, list, Origin::Flag("--allowed-tools".to_owned()), base)
    }

    #[test]
    fn a_list_of_rules_has_a_limit_for_each_place() {
        let base = Base { project: Path::new("/p"), home: None };
        let [flag, other] = ["--a", "--b"].map(|flag| Origin::Flag(flag.to_owned()));
        let rules: Vec<String> = (0..MAX_RULES).map(|n| format!("Read(a{n})")).collect();
        let mut set = RuleSet::default();
        set.add(List::Deny, &rules, &flag, base).unwrap();
        set.add(List::Deny, &rules, &other, base).unwrap();
        set.add(List::Ask, &rules, &flag, base).unwrap();
        let error = set.add(List::Deny, &["Read(one)", "Read(two)"], &flag, base).unwrap_err();
        assert_eq!(error.rule, "Read(one)");
        set.add(List::Allow, &[rules.clone(), rules].concat(), &flag, base).unwrap();
        assert_eq!(set.deny.len(), 2 * MAX_RULES, "none of them counts");
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
            assert!(parse(text, List::Allow).is_ok(), "{text}");
        }
        for (text, tool) in
            [("AgentTool(*)", "AgentTool"), ("Task(*)", "AgentTool"), ("Skill(*)", "Skill")]
        {
            assert!(parse(text, List::Deny).unwrap().covers_all_of(tool), "{text}");
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
            ("Bsh(rm:*)", "there is no tool Bsh"),
            ("TodoWrite(x)", "takes no pattern"),
            ("Read(~/x)", "home directory"),
            ("Edit(src/[)", "allowed are"),
            ("WebFetch(example.com)", "domain:"),
            ("AgentTool(exp*)", "one rule for each, or AgentTool for all"),
            ("Skill(dep*)", "one rule for each, or Skill for all"),
            ("Read(.)", "`**` stands for all files below"),
            ("mcp__srv(x)", "no pattern"),
            ("mcp__*", "mcp__server"),
            ("*", "MCP tool"),
            ("Read Edit", "not a tool's name"),
        ] {
            for list in [List::Allow, List::Deny] {
                let error = parse(text, list).unwrap_err().to_string();
                assert!(error.contains(part), "{text}: {error}");
                assert!(error.contains("from --allowed-tools"), "{error}");
            }
        }
        assert!(parse("Bash(* --version)", List::Allow).is_err());
        assert!(parse("Bash(* --force)", List::Deny).is_ok());
    }
}
