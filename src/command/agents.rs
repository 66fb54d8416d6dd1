//! `caliban agents [list|show NAME|check]`.

use std::fmt::Write as _;

use super::{CommandReport, columns, one_line};
use crate::cli::AgentsAction;
use crate::config::McpEntry;
use crate::protocol::{count, printable, printable_line, printable_message};
use crate::subagent::definition::{
    BudgetSpec, Definition, Isolation, MemoryScope, NamedServer, ReturnMode,
};
use crate::subagent::registry::{DefinitionProblem, Definitions};

/// Prints all definitions with their problems, one definition, or only the problems, in a session with these
/// servers.
pub fn agents(
    action: &AgentsAction,
    definitions: &Definitions,
    servers: &[McpEntry],
) -> CommandReport {
    match action {
        AgentsAction::List => list(definitions),
        AgentsAction::Show { name } => show(name, definitions),
        AgentsAction::Check => check(definitions, servers),
    }
}

fn list(definitions: &Definitions) -> CommandReport {
    let head = ["NAME", "MODEL", "TOOLS", "LIMITS", "FROM", "DESCRIPTION"].map(str::to_owned);
    let rows = definitions.iter().map(|definition| {
        [
            definition.name.clone(),
            model(definition),
            tools(definition),
            limits(&definition.budget),
            printable_line(&definition.source.to_string()),
            one_line(&definition.description, 80),
        ]
    });
    let mut out = columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    for (index, problem) in definitions.problems().iter().enumerate() {
        if index == 0 {
            out.push('\n');
        }
        let kind = match problem {
            DefinitionProblem::Refused(_) => "refused",
            DefinitionProblem::Untrusted(_) => "left out",
            DefinitionProblem::Warning(_) => "warning",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{kind}: {}", printable_message(&problem.error().to_string()));
    }
    CommandReport { text: out, is_table: true, ..CommandReport::default() }
}

fn show(name: &str, definitions: &Definitions) -> CommandReport {
    let Some(definition) = definitions.get(name) else {
        let known: Vec<&str> = definitions.iter().map(|it| it.name.as_str()).collect();
        let broken = definitions.problems().iter().map(DefinitionProblem::error).find(|error| {
            let stem = error.place.path().and_then(|file| file.file_stem());
            stem.is_some_and(|stem| stem.to_string_lossy() == name)
        });
        return CommandReport::error(match broken {
            Some(error) => {
                format!("the agent {name:?} is refused: {}", printable_line(&error.to_string()))
            }
            None => format!("there is no agent {name:?}; defined: {}", known.join(", ")),
        });
    };
    let row = |key: &str, value: String| [format!("{key}:"), value];
    let mut rows = vec![
        row("name", definition.name.clone()),
        row("from", printable_line(&definition.source.to_string())),
        row("model", model(definition)),
        row("tools", tools(definition)),
        row("limits", limits(&definition.budget)),
    ];
    rows.extend(
        settings(definition).into_iter().map(|(key, value)| row(key, printable_line(&value))),
    );
    let description = printable_message(&definition.description);
    let prompt = printable(&definition.prompt);
    CommandReport::text(format!("{}\n{description}\n\n---\n{prompt}\n", columns(&rows)))
}

/// Returns the settings that differ from the defaults. Only the names of variables: their values may be keys.
fn settings(definition: &Definition) -> Vec<(&'static str, String)> {
    let variables: Vec<&str> = definition.env.keys().map(String::as_str).collect();
    let isolation = definition.isolation == Isolation::Worktree;
    let memory = definition.memory == Some(MemoryScope::None);
    let returns = definition.returns == ReturnMode::Verbatim;
    [
        ("mode", definition.permission_mode.map(|mode| mode.name().to_owned())),
        ("memory", memory.then(|| "none".to_owned())),
        ("works", isolation.then(|| "in a git worktree of its own".to_owned())),
        ("runs", definition.background.then(|| "in the background".to_owned())),
        ("variables", (!variables.is_empty()).then(|| variables.join(", "))),
        ("returns", returns.then(|| "its text verbatim".to_owned())),
        ("color", definition.color.clone()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect()
}

fn check(definitions: &Definitions, servers: &[McpEntry]) -> CommandReport {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut named: Vec<&NamedServer> = definitions.servers().iter().collect();
    for problem in definitions.problems() {
        match problem {
            DefinitionProblem::Refused(refused) => {
                errors.extend(refused.iter());
                warnings.extend(&refused.notes.warnings);
                named.extend(&refused.notes.servers);
            }
            DefinitionProblem::Untrusted(warning) | DefinitionProblem::Warning(warning) => {
                warnings.push(warning);
            }
        }
    }
    warnings.extend(definitions.advice());
    let is_known = |name: &str| servers.iter().any(|entry| entry.server.name == name);
    named.retain(|server| !is_known(&server.name));
    warnings.extend(named.into_iter().map(|server| &server.warning));
    warnings.sort_by_key(|warning| (warning.place.to_string(), warning.line));
    let line =
        |kind: &'static str| move |it| format!("{kind}: {}\n", printable_message(&format!("{it}")));
    let mut text: String = errors.iter().map(line("error")).collect();
    text.extend(warnings.iter().map(line("warning")));
    let agents = count(definitions.iter().count(), "agent");
    let _ = writeln!(text, "{agents}; errors: {}, warnings: {}", errors.len(), warnings.len());
    CommandReport { text, broken: !errors.is_empty(), ..CommandReport::default() }
}

fn model(definition: &Definition) -> String {
    let model = definition.model.as_deref().unwrap_or("inherit");
    printable_line(&match &definition.provider {
        Some(provider) => format!("{model} of {provider}"),
        None => model.to_owned(),
    })
}

/// Formats its own limits in one line.
fn limits(budget: &BudgetSpec) -> String {
    let BudgetSpec { max_usd, max_tokens, max_turns, max_tool_calls, max_wall_s } = budget;
    let limits = [
        max_turns.map(|turns| count(turns as usize, "turn")),
        max_usd.map(|usd| format!("${usd:.2}")),
        max_tokens.map(|tokens| format!("{tokens} tokens")),
        max_tool_calls.map(|calls| count(calls as usize, "tool call")),
        max_wall_s.map(|seconds| format!("{seconds} s")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() { "default".to_owned() } else { limits.join(", ") }
}

fn tools(definition: &Definition) -> String {
    let tools = match &definition.tools {
        None => "all".to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => names.join(", "),
    };
    match definition.disallowed_tools.as_slice() {
        [] => printable_line(&tools),
        not => printable_line(&format!("{tools} but {}", not.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::subagent::registry::DefinitionSources;

    fn report(action: &AgentsAction, files: &[(&str, &str)]) -> CommandReport {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("agents");
        fs::create_dir(&own).unwrap();
        for (name, text) in files {
            fs::write(own.join(name), text).unwrap();
        }
        let definitions = Definitions::load(&DefinitionSources::new(&[], own));
        let plain = |text: String| text.replace(&format!("{}/", top.path().display()), "");
        let CommandReport { text, error, broken, .. } = agents(action, &definitions, &[]);
        CommandReport {
            text: plain(text),
            error: error.map(plain),
            broken,
            ..CommandReport::default()
        }
    }

    #[test]
    fn list_shows_each_agent_with_its_source_and_what_is_wrong_with_broken_ones() {
        let files = [
            (
                "scout.md",
                "---\ndescription: Finds\tthings.\ntools: Read\ndisallowedTools: Bash\nmodel: haiku\nprovider: openai\nbudget: {max_usd: 0.5, max_turns: 3}\n---\nLook.",
            ),
            ("bad.md", "---\nname: bad\n---\nLook."),
        ];
        let text = report(&AgentsAction::List, &files).text;
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "NAME MODEL TOOLS LIMITS FROM DESCRIPTION");
        assert!(
            lines[1].starts_with("explore inherit Read, Grep, Glob default built in Finds things")
        );
        assert!(lines[2].starts_with("general-purpose inherit all default built in "));
        assert_eq!(
            lines[4],
            "scout haiku of openai Read but Bash 3 turns, $0.50 agents/scout.md Finds things."
        );
        assert_eq!(
            lines[5..],
            [
                "",
                "refused: agents/bad.md:1: `description` is missing: it says what the agent does and when to use it"
            ]
        );
    }

    #[test]
    fn show_prints_the_prompt_or_says_which_names_there_are() {
        let show = |name: &str| AgentsAction::Show { name: name.to_owned() };
        let files = [("bad.md", "---\nname: bad\n---\nLook.")];
        let found = report(&show("plan"), &files);
        assert!(found.text.starts_with("name:    plan\nfrom:    built in\n"), "{}", found.text);
        assert!(found.text.contains("\n---\nYou plan a change; you make none.\n"));
        let missing = report(&show("plann"), &files).error.unwrap();
        assert_eq!(missing, "there is no agent \"plann\"; defined: explore, general-purpose, plan");
        let broken = report(&show("bad"), &files).error.unwrap();
        assert_eq!(
            broken,
            "the agent \"bad\" is refused: agents/bad.md:1: `description` is missing: it says what the agent does and when to use it"
        );
    }

    #[test]
    fn no_text_of_a_definition_looks_like_a_line_of_ours() {
        let text =
            "---\nname: scout\ndescription: \"Finds.\\nname: plan\\n\\nmode: plan\"\n---\nLook.";
        let files = [("a\nb.md", text)];
        let list = report(&AgentsAction::List, &files).text;
        assert!(list.contains("agents/a\\u{a}b.md  Finds. name: plan"), "{list}");
        let show = AgentsAction::Show { name: "scout".to_owned() };
        let shown = report(&show, &files).text;
        assert!(shown.contains("agents/a\\u{a}b.md\n"), "{shown}");
        assert!(shown.contains("\nFinds.\n  name: plan\n  \n  mode: plan\n\n---\n"), "{shown}");
    }

    #[test]
    fn show_prints_what_differs_from_the_defaults_and_no_value_of_a_variable() {
        let text = "---\ndescription: Finds things in the code.\nmaxTurns: 4\npermissionMode: plan\nmemory: none\n\
                    isolation: worktree\nbackground: true\nenv: {TOKEN: sk-77, A: b}\nreturn: verbatim\ncolor: red\n---\nLook.";
        let show = AgentsAction::Show { name: "scout".to_owned() };
        let shown = report(&show, &[("scout.md", text)]).text;
        let expected = "\
name:       scout
from:       agents/scout.md
model:      inherit
tools:      all
limits:     4 turns
mode:       plan
memory:     none
works:      in a git worktree of its own
runs:       in the background
variables:  A, TOKEN
returns:    its text verbatim
color:      red

Finds things in the code.

---
Look.
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn check_names_every_mistake_of_a_file_with_its_line() {
        let bad = "---\nname: Bad Name\ndescription: Reviews a change for mistakes.\ntools: Bash(rm:* x)\n\
                   disallowedTools: Foo, Bar\nmaxTurns: many\ncolor: purpel\npermissionMode: yolo\nisolation: tree\n\
                   budget:\n  max_usd: -1\n  maxusd: 2\nenv:\n  A-B: 1\n  1A: 1\nbackground: 1\nskills: x\nhooks: x\n---\n";
        let checked = report(&AgentsAction::Check, &[("bad.md", bad)]);
        let at = |line: &str| {
            let rest = line.strip_prefix("error: agents/bad.md:").unwrap_or_default();
            let (line, message) = rest.split_once(": ").unwrap_or_default();
            let key = message.split('`').nth(1).unwrap_or(message);
            format!("{line} {}", key.split(' ').next().unwrap_or_default())
        };
        let lines: Vec<_> = checked.text.lines().collect();
        let [errors @ .., warning, last] = &lines[..] else { panic!("{}", checked.text) };
        let found: Vec<String> = errors.iter().copied().map(at).collect();
        let expected = [
            "2 the",
            "4 tools",
            "5 disallowedTools",
            "5 disallowedTools",
            "6 maxTurns",
            "8 permissionMode",
            "9 isolation",
            "11 budget.max_usd",
            "12 budget.maxusd",
            "14 env.A-B",
            "15 env.1A",
            "16 background",
            "17 skills",
            "18 hooks",
            "20 there",
        ];
        assert_eq!(found, expected, "{}", checked.text);
        assert!(warning.starts_with("warning: agents/bad.md:7: `color` "), "{warning}");
        assert_eq!(*last, "3 agents; errors: 15, warnings: 1");
        let colour = "---\ndescription: Reviews a change for mistakes.\ncolor: purpel\n---\nLook.";
        let warned = report(&AgentsAction::Check, &[("odd.md", colour)]);
        assert!(
            warned
                .text
                .starts_with("warning: agents/odd.md:3: `color` is not a colour, \"purpel\": "),
            "{}",
            warned.text
        );
    }

    #[test]
    fn check_names_unknown_servers_and_warnings_in_the_order_of_the_lines() {
        let text = |turns: &str| {
            format!(
                "---\ndescription: Reviews a change for mistakes.\nmcpServers: [nosuch]\ntools: Raed\n\
                 maxTurns: {turns}\nhooks: {{Foo: []}}\n---\nLook."
            )
        };
        for turns in ["3", "x"] {
            let checked = report(&AgentsAction::Check, &[("odd.md", &text(turns))]).text;
            let warnings = checked.lines().filter_map(|line| line.strip_prefix("warning: "));
            let places: Vec<&str> = warnings.map(|line| line.split(": ").next().unwrap()).collect();
            let expected = [3, 4, 6].map(|line| format!("agents/odd.md:{line}"));
            assert_eq!(places, expected, "{checked}");
            assert!(checked.contains("`mcpServers` names nosuch, which is not a server of this"));
        }
    }

    #[test]
    fn check_says_what_is_wrong_and_fails_only_for_what_is_refused() {
        let vague = ("vague.md", "---\ndescription: helper\n---\nLook.");
        let broken = ("bad.md", "---\nname: bad\n---\nLook.");
        let fine = report(&AgentsAction::Check, &[]);
        assert_eq!(fine.text, "3 agents; errors: 0, warnings: 0\n");
        let warned = report(&AgentsAction::Check, &[vague]);
        assert!(!fine.broken && !warned.broken && warned.error.is_none());
        assert!(
            warned.text.starts_with("warning: agents/vague.md:2: `description` is too short"),
            "{}",
            warned.text
        );
        let both = report(&AgentsAction::Check, &[vague, broken]);
        assert!(both.broken, "{}", both.text);
        let lines: Vec<&str> = both.text.lines().collect();
        assert!(lines[0].starts_with("error: agents/bad.md:1: `description` is missing"));
        assert_eq!(lines[2], "4 agents; errors: 1, warnings: 1");
    }
}
