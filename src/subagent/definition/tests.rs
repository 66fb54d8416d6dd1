#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parse(text: &str, dialect: Dialect) -> Result<Parsed, String> {
        let file = Path::new(".caliban/agents/scout.md");
        Definition::parse(text, file, dialect).map_err(|error| error.to_string())
    }

    fn own(text: &str) -> Definition {
        parse(text, Dialect::Own).unwrap().0
    }

    #[test]
    fn every_key_is_read() {
        let text = "---\nname: db-scout\ndescription: Finds queries.\ntools: Read, Grep\n\
                    disallowedTools:\n  - Bash\n  - WebFetch\nmodel: inherit\nmaxTurns: 5\ncolor: green\n---\n\n\
                    Look.\n\n---\nThen report.\n";
        let expected = Definition {
            name: "db-scout".to_owned(),
            description: "Finds queries.".to_owned(),
            prompt: "Look.\n\n---\nThen report.".to_owned(),
            tools: Some(vec!["Read".to_owned(), "Grep".to_owned()]),
            disallowed_tools: vec!["Bash".to_owned(), "WebFetch".to_owned()],
            model: Some("inherit".to_owned()),
            max_turns: Some(5),
            color: Some("green".to_owned()),
            source: Source::File(".caliban/agents/scout.md".into()),
        };
        assert_eq!(own(text), expected);
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
        let text = "---\nname: scout\ndescription: >-\n  Finds\n  things.\ntools: [Read, Glob]\n---\nLook.\nReport.\n";
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(own(&windows), own(text));
        assert_eq!(own(text).description, "Finds things.");
    }

    #[test]
    fn what_is_left_out_takes_its_default() {
        let definition = own("---\ndescription: Finds.\nmodel:\ntools: \"*\"\n---\nLook.");
        assert_eq!(definition.name, "scout");
        assert_eq!((definition.tools, definition.model, definition.max_turns), (None, None, None));
        let none = own("---\ndescription: Finds.\ntools: []\n---\nLook.");
        assert_eq!(none.tools, Some(vec![]));
    }

    #[test]
    fn every_mistake_names_file_line_and_what_is_allowed() {
        let long = format!("name: {}", "a".repeat(65));
        let cases = [
            ("Look.", "1: there is no front matter: the first line must be ---"),
            ("", "1: there is no front matter: the first line must be ---"),
            ("---\ndescription: d\n", "1: the front matter is not closed: a line --- is missing"),
            ("---\n---\nLook.", "1: the front matter needs a `description`"),
            ("---\ndescription: ' '\n---\nLook.", "2: `description` must not be empty"),
            ("---\ndescription: [a]\n---\nLook.", "2: `description` must be a text"),
            (
                "---\ndescription: d\n---\n \n",
                "4: the text after the front matter is empty: it is the agent's prompt",
            ),
            (
                "---\ndescription: d\n\nskills: x\n---\nLook.",
                "4: unknown key `skills`; allowed: name, description, tools, disallowedTools, model, maxTurns, color",
            ),
            (
                "---\ndescription: d\nname: Db Scout\n---\nLook.",
                "3: the name \"Db Scout\" is not allowed: use lower-case letters, digits and hyphens, at most 64",
            ),
            (
                "---\ndescription: d\nmaxTurns: 0\n---\nLook.",
                "3: `maxTurns` must be a whole number of at least 1",
            ),
            (
                "---\ndescription: d\nmaxTurns: many\n---\nLook.",
                "3: `maxTurns` must be a whole number of at least 1",
            ),
            (
                "---\ndescription: d\ntools:\n  - Read\n  - {a: b}\n---\nLook.",
                "3: `tools` must be a list of names, such as Read, Grep",
            ),
            (
                "---\ndescription: d\ntools: Bash(git\n---\nLook.",
                "3: `tools`: `(` without `)` in `Bash(git`",
            ),
            (
                "---\ndescription: d\ndescription: e\n---\nLook.",
                "3: the key `description` is there twice",
            ),
            ("---\n- description\n---\nLook.", "2: the front matter must be lines of `key: value`"),
        ];
        for (text, expected) in cases {
            let error = parse(text, Dialect::Own).unwrap_err();
            assert_eq!(error, format!(".caliban/agents/scout.md:{expected}"), "{text:?}");
        }
        let text = format!("---\ndescription: d\n{long}\n---\nLook.");
        assert!(parse(&text, Dialect::Own).unwrap_err().contains("at most 64"));
    }

    #[test]
    fn invalid_yaml_names_its_line_and_the_likely_remedy() {
        let text = "---\nname: scout\ndescription: Use it so: often\n---\nLook.";
        let error = parse(text, Dialect::Own).unwrap_err();
        assert!(
            error.starts_with(".caliban/agents/scout.md:3: the front matter is not valid YAML: ")
        );
        assert!(error.ends_with("a text with `: ` or ` #` in it needs quotes"), "{error}");
    }

    #[test]
    fn files_for_other_tools_may_hold_unknown_keys_and_loose_texts() {
        let text = "---\nname: scout\ndescription: Use it so: often. It's good # always\nmaxTurns: 3\n\
                    hooks:\n  Stop:\n    - command: x\nskills: [a]\n---\nLook.";
        let (definition, warnings) = parse(text, Dialect::Foreign).unwrap();
        assert_eq!(definition.description, "Use it so: often. It's good # always");
        assert_eq!(definition.max_turns, Some(3));
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let expected = [(5, "hooks"), (8, "skills")].map(|(line, key)| {
            format!(
                ".caliban/agents/scout.md:{line}: unknown key `{key}`; allowed: \
                 name, description, tools, disallowedTools, model, maxTurns, color"
            )
        });
        assert_eq!(warnings, expected);
    }
}
