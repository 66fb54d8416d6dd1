//! One sub-agent as a person defines it: a Markdown file whose front matter says who it is and whose body is its prompt.

use std::fmt;
use std::path::{Path, PathBuf};

use super::front_matter::{Field, Fields, Yaml};
use crate::config::list;

/// The keys that front matter may have.
const KEYS: [&str; 7] =
    ["name", "description", "tools", "disallowedTools", "model", "maxTurns", "color"];

const MAX_NAME: usize = 64;

/// A sub-agent that can be started by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Of lower-case letters, digits and hyphens.
    pub name: String,
    /// What the model picks the agent by.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The tools it gets; `None` is all that its parent may hand on.
    pub tools: Option<Vec<String>>,
    /// Tools that it never gets.
    pub disallowed_tools: Vec<String>,
    /// An alias, `inherit` or a full name; `None` is the parent's model.
    pub model: Option<String>,
    pub max_turns: Option<u32>,
    pub color: Option<String>,
    pub source: Source,
}

/// Where a definition stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Why a file, or a part of it, does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DefinitionError {
    pub file: PathBuf,
    /// Counted from 1; `None` when it is about the whole file.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// How strictly a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Written for us: a key that we do not know is a mistake.
    Own,
    /// Written for other tools: keys that we do not know are skipped with a warning.
    Foreign,
}

/// A definition and the warnings about it.
pub type Parsed = (Definition, Vec<DefinitionError>);

impl Definition {
    /// Reads a file's text. `file` is for messages, and gives the name when the front matter has none.
    pub fn parse(text: &str, file: &Path, dialect: Dialect) -> Result<Parsed, DefinitionError> {
        let reader = Reader { file };
        let document = Fields::parse(text, dialect == Dialect::Foreign)
            .map_err(|(line, message)| reader.error(Some(line), message))?;
        let mut warnings = Vec::new();
        for (key, field) in &document.fields {
            if KEYS.contains(&key.as_str()) {
                continue;
            }
            let message =
                format!("unknown key `{}`; allowed: {}", key.escape_debug(), KEYS.join(", "));
            let error = reader.error(Some(field.line), message);
            match dialect {
                Dialect::Own => return Err(error),
                Dialect::Foreign => warnings.push(error),
            }
        }
        let definition = reader.definition(&document)?;
        Ok((definition, warnings))
    }
}

/// Turns front matter into a definition; every error names the file.
struct Reader<'a> {
    file: &'a Path,
}

impl Reader<'_> {
    fn definition(&self, document: &Fields) -> Result<Definition, DefinitionError> {
        let field = |key: &str| document.get(key);
        let Some(description) = self.text("description", field("description"))? else {
            return Err(self.error(Some(1), "the front matter needs a `description`"));
        };
        if document.body.is_empty() {
            let message = "the text after the front matter is empty: it is the agent's prompt";
            return Err(self.error(Some(document.body_line), message));
        }
        Ok(Definition {
            name: self.name(field("name"))?,
            description,
            prompt: document.body.clone(),
            tools: self.list("tools", field("tools"))?.filter(|tools| *tools != ["*"]),
            disallowed_tools: self
                .list("disallowedTools", field("disallowedTools"))?
                .unwrap_or_default(),
            model: self.text("model", field("model"))?,
            max_turns: self.turns(field("maxTurns"))?,
            color: self.text("color", field("color"))?,
            source: Source::File(self.file.to_owned()),
        })
    }

    fn name(&self, field: Option<&Field>) -> Result<String, DefinitionError> {
        let line = field.map_or(1, |field| field.line);
        let name = match self.text("name", field)? {
            Some(name) => name,
            None => self
                .file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default(),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let message = format!(
                "the name {name:?} is not allowed: use lower-case letters, digits and hyphens, at most {MAX_NAME}"
            );
            return Err(self.error(Some(line), message));
        }
        Ok(name)
    }

    /// A text that is not blank; an absent or null field is `None`.
    fn text(&self, key: &str, field: Option<&Field>) -> Result<Option<String>, DefinitionError> {
        let Some(field) = field else { return Ok(None) };
        match &field.value {
            Yaml::Text(text) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
            Yaml::Text(_) => {
                Err(self.error(Some(field.line), format!("`{key}` must not be empty")))
            }
            _ => Err(self.error(Some(field.line), format!("`{key}` must be a text"))),
        }
    }

    fn turns(&self, field: Option<&Field>) -> Result<Option<u32>, DefinitionError> {
        let Some(field) = field else { return Ok(None) };
        let number = match &field.value {
            Yaml::Text(text) => text.parse::<u32>().ok(),
            _ => None,
        };
        match number.filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(self.error(Some(field.line), "`maxTurns` must be a whole number of at least 1"))
            }
        }
    }

    /// `Read, Grep` and `[Read, Grep]` are the same.
    fn list(
        &self,
        key: &str,
        field: Option<&Field>,
    ) -> Result<Option<Vec<String>>, DefinitionError> {
        let Some(field) = field else { return Ok(None) };
        let wrong = |message: String| self.error(Some(field.line), message);
        let texts = match &field.value {
            Yaml::Text(text) => std::slice::from_ref(text),
            Yaml::List(texts) => texts,
            Yaml::Other => {
                return Err(wrong(format!("`{key}` must be a list of names, such as Read, Grep")));
            }
        };
        let mut names = Vec::new();
        for text in texts {
            let more = list::parse(text).map_err(|why| wrong(format!("`{key}`: {why}")))?;
            names.extend(more);
        }
        Ok(Some(names))
    }

    fn error(&self, line: Option<usize>, message: impl Into<String>) -> DefinitionError {
        DefinitionError { file: self.file.to_owned(), line, message: message.into() }
    }
}

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
