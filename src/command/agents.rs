//! `caliban agents [list|show NAME]`.

use std::fmt::Write as _;

use super::{Report, columns, one_line};
use crate::cli::AgentsAction;
use crate::protocol::printable;
use crate::subagent::definition::Definition;
use crate::subagent::registry::{Definitions, Problem};

/// Prints all definitions and what is wrong with broken ones, or one definition.
#[must_use]
pub fn agents(action: &AgentsAction, definitions: &Definitions) -> Report {
    match action {
        AgentsAction::List => Report::text(list(definitions)),
        AgentsAction::Show { name } => show(name, definitions),
    }
}

fn list(definitions: &Definitions) -> String {
    let head = ["NAME", "MODEL", "TOOLS", "FROM", "DESCRIPTION"].map(str::to_owned);
    let rows = definitions.iter().map(|definition| {
        [
            definition.name.clone(),
            model(definition),
            tools(definition),
            printable(&definition.source.to_string()),
            one_line(&definition.description, 80),
        ]
    });
    let mut out = columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    for (index, problem) in definitions.problems().iter().enumerate() {
        if index == 0 {
            out.push('\n');
        }
        let kind = match problem {
            Problem::Refused(_) => "refused",
            Problem::Warning(_) => "warning",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{kind}: {}", printable(&problem.error().to_string()));
    }
    out
}

fn show(name: &str, definitions: &Definitions) -> Report {
    let Some(definition) = definitions.get(name) else {
        let known: Vec<&str> = definitions.iter().map(|it| it.name.as_str()).collect();
        let broken = definitions.problems().iter().map(Problem::error).find(|error| {
            error.file.file_stem().is_some_and(|stem| stem.to_string_lossy() == name)
        });
        return Report::error(match broken {
            Some(error) => {
                format!("the agent {name:?} is refused: {}", printable(&error.to_string()))
            }
            None => format!("there is no agent {name:?}; defined: {}", known.join(", ")),
        });
    };
    let mut rows = vec![
        ["name:".to_owned(), definition.name.clone()],
        ["from:".to_owned(), printable(&definition.source.to_string())],
        ["model:".to_owned(), model(definition)],
        ["tools:".to_owned(), tools(definition)],
    ];
    if let Some(turns) = definition.max_turns {
        rows.push(["turns:".to_owned(), format!("at most {turns}")]);
    }
    let description = printable(&definition.description);
    let prompt = printable(&definition.prompt);
    Report::text(format!("{}\n{description}\n\n---\n{prompt}\n", columns(&rows)))
}

fn model(definition: &Definition) -> String {
    printable(definition.model.as_deref().unwrap_or("inherit"))
}

fn tools(definition: &Definition) -> String {
    let tools = match &definition.tools {
        None => "all".to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => names.join(", "),
    };
    match definition.disallowed_tools.as_slice() {
        [] => printable(&tools),
        not => printable(&format!("{tools} but {}", not.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::subagent::registry::DefinitionSources;

    fn report(action: &AgentsAction, files: &[(&str, &str)]) -> Report {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("agents");
        fs::create_dir(&own).unwrap();
        for (name, text) in files {
            fs::write(own.join(name), text).unwrap();
        }
        let definitions = Definitions::load(&DefinitionSources::new(&[], own));
        let plain = |text: String| text.replace(&format!("{}/", top.path().display()), "");
        let Report { text, error } = agents(action, &definitions);
        Report { text: plain(text), error: error.map(plain) }
    }

    #[test]
    fn list_shows_each_agent_with_its_source_and_what_is_wrong_with_broken_ones() {
        let files = [
            (
                "scout.md",
                "---\ndescription: Finds\tthings.\ntools: Read\ndisallowedTools: Bash\nmodel: haiku\n---\nLook.",
            ),
            ("bad.md", "---\nname: bad\n---\nLook."),
        ];
        let text = report(&AgentsAction::List, &files).text;
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "NAME MODEL TOOLS FROM DESCRIPTION");
        assert!(lines[1].starts_with("explore inherit Read, Grep, Glob built in Finds things"));
        assert!(lines[2].starts_with("general-purpose inherit all built in "));
        assert_eq!(lines[4], "scout haiku Read but Bash agents/scout.md Finds things.");
        assert_eq!(
            lines[5..],
            ["", "refused: agents/bad.md:1: the front matter needs a `description`"]
        );
    }

    #[test]
    fn show_prints_the_prompt_or_says_which_names_there_are() {
        let show = |name: &str| AgentsAction::Show { name: name.to_owned() };
        let files = [("bad.md", "---\nname: bad\n---\nLook.")];
        let found = report(&show("plan"), &files);
        assert!(found.text.starts_with("name:   plan\nfrom:   built in\n"), "{}", found.text);
        assert!(found.text.contains("\n---\nYou plan a change; you make none.\n"));
        let missing = report(&show("plann"), &files).error.unwrap();
        assert_eq!(missing, "there is no agent \"plann\"; defined: explore, general-purpose, plan");
        let broken = report(&show("bad"), &files).error.unwrap();
        assert_eq!(
            broken,
            "the agent \"bad\" is refused: agents/bad.md:1: the front matter needs a `description`"
        );
    }
}
