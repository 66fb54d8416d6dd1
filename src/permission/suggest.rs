//! Suggests sensible rules for a call that nothing allows yet.

use super::program::base_name;
use std::path::Path;

use super::call_access::{AccessItem, CallAccess};
use super::danger::{self, Danger};
use super::interpreter::may_start_shell;
use super::path::PathTarget;
use super::places::Places;
use super::rule::{Rule, RuleBase, RuleList, RuleOrigin};
use super::script::{SimpleCommand, Word};
use super::wrapper::{self, InnerCommand};
use crate::protocol::quoted_name;

/// Programs whose first argument is a sub-command.
const SUB_COMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bun",
    "cargo",
    "composer",
    "deno",
    "dotnet",
    "git",
    "go",
    "gradle",
    "just",
    "make",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Programs whose first two arguments are sub-commands.
const SUB_SUB_COMMANDS: &[&str] = &["aws", "az", "docker", "gcloud", "gh", "kubectl", "podman"];

/// Sub-commands that run the program or script named by the next word.
const RUN_SUB_COMMANDS: &[&str] = &["run", "run-script", "exec", "compose", "x", "dlx"];

/// Longer rules are not suggested. Characters.
const MAX_RULE_CHARS: usize = 200;

/// Programs whose sub-commands build, test or inspect a project, so that a rule may leave their
/// arguments open. Each line is a program, and after `:` its sub-commands; a program without any is
/// fine as a whole. Formatters are excluded: whether one changes files or only shows the changes
/// depends on an option, and its arguments name the files.
const OPEN_ENDED: &[&str] = &[
    "bun: test",
    "bun npm pnpm yarn: run run-script",
    "bun pnpm yarn: build lint typecheck",
    "cargo: b build c check t test clippy doc bench tree metadata nextest",
    "ctest",
    "dotnet: build restore test",
    "flake8 mypy pylint pyright",
    "git: add commit describe ls-files merge-base rev-parse status",
    "go: build doc list test vet version",
    "jest mocha phpunit rspec vitest",
    "npm pnpm yarn: t test",
    "shellcheck tsc",
    "pytest py.test",
    "ruff: check",
    "terraform tofu: validate",
];

/// Options that keep a program from changing the files it checks. A rule for the program would allow the changes too.
const LOOKS_ONLY: &[&str] = &["--check", "-check", "--diff", "-l", "--noEmit", "--dry-run"];

/// Programs, some with a sub-command, that take their input as data, whatever it says.
const DATA_READERS: &[&str] = &[
    "cat",
    "column",
    "comm",
    "cut",
    "diff",
    "fmt",
    "fold",
    "gh issue",
    "gh pr",
    "git commit",
    "git diff",
    "git grep",
    "git log",
    "git notes",
    "git show",
    "git stripspace",
    "git tag",
    "grep",
    "head",
    "jq",
    "less",
    "nl",
    "paste",
    "rg",
    "sort",
    "tac",
    "tail",
    "tee",
    "tr",
    "uniq",
    "wc",
];

/// Rules that together cover all the items; empty if one of them cannot be covered safely.
pub fn suggest_rules(items: &[&AccessItem], effects: &CallAccess, places: &Places) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for item in items {
        let safe = |text: &String| is_one_rule(text) && covers(text, item, effects, places);
        let Some(text) = suggest_rule(item, effects, places).filter(safe) else {
            return Vec::new();
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn suggest_rule(item: &AccessItem, effects: &CallAccess, places: &Places) -> Option<String> {
    match item {
        AccessItem::Command(command) if is_given_input(command, effects) => None,
        AccessItem::Command(command) => command_rule(command),
        AccessItem::Write(target) => Some(format!("Edit({})", folder(target, places, true)?)),
        AccessItem::Read(target) => Some(format!("Read({})", folder(target, places, false)?)),
        AccessItem::Fetch(host) => Some(format!("WebFetch(domain:{})", host.as_ref()?)),
        AccessItem::Agent(name) => Some(format!("AgentTool({name})")),
        AccessItem::Skill(name) => Some(format!("Skill({name})")),
        AccessItem::Other => Some(effects.tool.clone()),
        AccessItem::Unclear(_) | AccessItem::AskUser | AccessItem::Nothing => None,
    }
}

/// Whether the rules mean something without the agent's own checkout, which no later agent gets.
pub fn outlives_checkout(rules: &[String], places: &Places) -> bool {
    let Some(checkout) = places.bound.as_deref().and_then(Path::to_str) else { return true };
    let names = [checkout.to_owned(), globset::escape(checkout)];
    !rules.iter().any(|rule| names.iter().any(|name| rule.contains(name)))
}

/// The final check of every suggestion: it must parse, and cover the item it is suggested for.
fn covers(text: &str, item: &AccessItem, effects: &CallAccess, places: &Places) -> bool {
    let base = RuleBase { project: &places.project, home: places.home.as_deref() };
    Rule::parse(text, RuleList::Allow, RuleOrigin::Session, base)
        .is_ok_and(|rule| rule.allows(item, effects, places))
}

/// Whether the command takes its input as data. An option that a rule must name may turn it into a program.
fn takes_data(command: &SimpleCommand) -> bool {
    let program = base_name(command.program());
    let sub_command = command.words.get(1).map_or("", |word| word.text.as_str());
    let is_known = |known: &&str| match known.split_once(' ') {
        Some(known) => known == (program, sub_command),
        None => *known == program,
    };
    DATA_READERS.iter().any(is_known) && danger::find(&command.words, &[]).is_empty()
}

/// A short form of the command, for reasons.
pub fn short_form(command: &SimpleCommand) -> String {
    let count = telling_words(&command.words).clamp(1, command.words.len().max(1));
    let words = command.words.iter().take(count).map(|word| quoted_name(&word.text));
    let text: String = words.collect::<Vec<_>>().join(" ").chars().take(60).collect();
    if matches!(text.as_str(), "" | "\"\"") { "this".to_owned() } else { text }
}

/// Whether the line gives the command an input, which a rule for its words would leave open: it may
/// be a program. Read-only commands run none.
fn is_given_input(command: &SimpleCommand, effects: &CallAccess) -> bool {
    let Some(shell) = &effects.shell else { return false };
    let script = &shell.script;
    let has_input = !script.inputs.is_empty() || !script.reads.is_empty() || command.is_fed;
    has_input && !takes_data(command)
}

fn command_rule(command: &SimpleCommand) -> Option<String> {
    let words = &command.words;
    let from = match wrapper::inner_command(words) {
        InnerCommand::Nothing => 0,
        InnerCommand::From(inner)
            if !matches!(words.first()?.text.as_str(), "sudo" | "doas" | "xargs") =>
        {
            inner
        }
        _ => return None,
    };
    let is_git_add =
        matches!(&words[from..], [git, add, ..] if git.text == "git" && add.text == "add");
    let looks_only =
        |word: &Word| LOOKS_ONLY.contains(&word.text.as_str()) || is_git_add && word.text == "-n";
    // Without its option the call would change files.
    if words[from..].iter().any(looks_only) {
        return exact(words);
    }
    let head = words.get(..from + open_ended(&words[from..]).unwrap_or_default())?;
    let is_option = |word: &Word| word.text.starts_with(['-', '+']) || word.text.contains('=');
    if head.len() <= from
        || head[from..].iter().any(is_option)
        || !danger::find(&words[from..], &[]).is_empty()
        || may_start_shell(&words[from..])
    {
        return exact(words);
    }
    Some(format!("Bash({}:*)", plain(head)?))
}

/// How many leading words are enough for a rule, if the others may be left open.
fn open_ended(words: &[Word]) -> Option<usize> {
    let program = base_name(&words.first()?.text);
    let sub_command = words.get(1).map(|word| word.text.as_str());
    OPEN_ENDED.iter().find_map(|line| {
        let (programs, sub_commands) = match line.split_once(':') {
            Some((programs, sub_commands)) => (programs, Some(sub_commands.trim())),
            None => (*line, None),
        };
        if !programs.split(' ').any(|known| known == program) {
            return None;
        }
        match (sub_commands, sub_command) {
            (None, _) => Some(1),
            (Some(known), Some(sub_command)) if known.split(' ').any(|it| it == sub_command) => {
                let runs = RUN_SUB_COMMANDS.contains(&sub_command) || sub_command == "nextest";
                (!runs || words.len() > 2).then_some(2 + usize::from(runs))
            }
            _ => None,
        }
    })
}

/// How many leading words say what a command does.
fn telling_words(words: &[Word]) -> usize {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return 0 };
    let most = match words.get(1).map(|word| word.text.as_str()) {
        None => 1,
        Some(sub) if SUB_COMMANDS.contains(&program) && RUN_SUB_COMMANDS.contains(&sub) => 3,
        Some(_) if SUB_COMMANDS.contains(&program) => 2,
        Some(_) if SUB_SUB_COMMANDS.contains(&program) => 3,
        Some(_) => 1,
    };
    most.min(words.len())
}

/// The exact command, including quotes.
fn exact(words: &[Word]) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(|word| word.raw.as_str()).collect();
    let text = texts.join(" ");
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() && c != '*' || c == ' ';
    let fits = words.iter().all(|word| word.literal)
        && text.chars().all(is_plain)
        && text.chars().count() <= MAX_RULE_CHARS
        && has_matching_parentheses(&text);
    fits.then(|| format!("Bash({text})"))
}

/// Whether a list of rules, in one line or several, holds the text as one rule. A name can be chosen
/// so that it does not.
fn is_one_rule(text: &str) -> bool {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let inner = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    !text.chars().any(breaks) && inner.is_none_or(has_matching_parentheses)
}

/// Whether a list of rules in one line can hold the text in parentheses.
fn has_matching_parentheses(text: &str) -> bool {
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

/// The words, if they can be in a rule unchanged.
fn plain(words: &[Word]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_./+@:-=,%".contains(c);
    let fits =
        |word: &Word| word.literal && !word.text.is_empty() && word.text.chars().all(is_plain);
    if !words.iter().all(fits) {
        return None;
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Some(texts.join(" ")).filter(|text| text.chars().count() <= MAX_RULE_CHARS)
}

/// The pattern of the folder that contains the target, or of the target alone if a whole folder is too much.
fn folder(target: &PathTarget, places: &Places, writes: bool) -> Option<String> {
    let path = target.resolved.as_deref()?;
    let project = super::path::resolve(&places.project)?;
    let alone = writes && places.protects(target);
    let escape = |path: &Path| path.to_str().map(globset::escape);
    let own = places.own_project();
    if let Some(inside) = own.iter().chain([&project]).find_map(|it| path.strip_prefix(it).ok()) {
        let parent = inside.parent()?;
        if alone || parent.as_os_str().is_empty() {
            return Some(format!("./{}", escape(inside)?));
        }
        let parent = escape(parent)?;
        // A folder may be called like one of another form: `~`, or `!x`.
        let form = if parent.starts_with(|c: char| c.is_alphanumeric()) { "" } else { "./" };
        return Some(format!("{form}{parent}/**"));
    }
    let parent = if !writes && path.is_dir() { path } else { path.parent()? };
    let home = places.home.as_deref().and_then(super::path::resolve);
    let too_much = parent.parent().is_none()
        || home.is_some_and(|home| home.starts_with(parent))
        || path
            .components()
            .any(|part| part.as_os_str().to_str().is_some_and(super::protected::is_protected_name));
    if alone || too_much {
        return Some(format!("/{}", escape(path)?));
    }
    Some(format!("/{}/**", escape(parent)?))
}

/// A rule for this exact command, which has the option that keeps broader rules from covering it.
pub fn rule_naming(command: &SimpleCommand, _danger: &Danger) -> Option<String> {
    exact(&command.words)
}
