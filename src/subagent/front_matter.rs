//! Splits a Markdown file into the YAML between two `---` lines and the text after them.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Deeper tables and lists mean nothing in front matter.
const MAX_DEPTH: usize = 16;

/// One key's value and its line in the file, counted from 1.
#[derive(Debug)]
pub(super) struct Field {
    pub line: usize,
    pub value: Yaml,
}

/// A value of front matter, as far as definitions have a use for it.
#[derive(Debug, PartialEq)]
pub(super) enum Yaml {
    Text(String),
    List(Vec<String>),
    Other,
}

/// The parts of a file. Keys without a value are left out.
#[derive(Debug)]
pub(super) struct Fields {
    pub fields: Vec<(String, Field)>,
    /// The text after the front matter, without blank lines around it.
    pub body: String,
    /// The first line after the front matter.
    pub body_line: usize,
}

/// What is wrong, and on which line.
type Fault = (usize, String);

impl Fields {
    /// Reads a whole file. `lenient` also takes the plain texts with `: ` in them that other tools' files are full of.
    pub fn parse(text: &str, lenient: bool) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text.lines().collect();
        if lines.first().is_none_or(|line| line.trim_end() != "---") {
            return Err((1, "there is no front matter: the first line must be ---".to_owned()));
        }
        let Some(end) = lines.iter().skip(1).position(|line| line.trim_end() == "---") else {
            return Err((1, "the front matter is not closed: a line --- is missing".to_owned()));
        };
        let (yaml, body) = (&lines[1..=end], &lines[end + 2..]);
        let fields = match read(&yaml.join("\n")) {
            Err(_) if lenient => read(&quoted(yaml)),
            result => result,
        }?;
        Ok(Self { fields, body: body.join("\n").trim().to_owned(), body_line: end + 3 })
    }

    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }
}

/// The keys of a YAML table. Works on the parser's events and never nests, because a file may nest as deep as it is
/// long. Lines count from the front matter's opening line.
fn read(yaml: &str) -> Result<Vec<(String, Field)>, Fault> {
    let mut table = Table::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let why = error.info();
            let message = format!(
                "the front matter is not valid YAML: {why}; a text with `: ` or ` #` in it needs quotes"
            );
            (error.marker().line() + 1, message)
        })?;
        let line = span.start.line() + 1;
        match event {
            Event::MappingStart(..) => table.open(Yaml::Other, line)?,
            Event::SequenceStart(..) => table.open(Yaml::List(Vec::new()), line)?,
            Event::MappingEnd | Event::SequenceEnd => table.close(),
            Event::Scalar(text, style, ..) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                table.scalar((!null).then(|| text.into_owned()), line)?;
            }
            Event::Alias(_) => {
                table.open(Yaml::Other, line)?;
                table.close();
            }
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(table.fields)
}

/// The table of front matter while its events come in.
#[derive(Default)]
struct Table {
    fields: Vec<(String, Field)>,
    /// How many tables and lists are open; the table itself is the first.
    depth: usize,
    /// The key that waits for its value.
    key: Option<(String, usize)>,
    /// The list or table that is this key's value.
    value: Option<Yaml>,
}

impl Table {
    fn open(&mut self, value: Yaml, line: usize) -> Result<(), Fault> {
        match (self.depth, &self.key) {
            (0, _) if value != Yaml::Other => return Err(no_table(line)),
            (0, _) => {}
            (1, None) => return Err((line, "a key of the front matter must be a word".to_owned())),
            (1, Some(_)) => self.value = Some(value),
            // What holds more than words is no list of names.
            (2..MAX_DEPTH, _) => self.value = Some(Yaml::Other),
            _ => return Err((line, format!("the front matter nests more than {MAX_DEPTH} deep"))),
        }
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 1 {
            let value = self.value.take().unwrap_or(Yaml::Other);
            self.put(value);
        }
    }

    fn scalar(&mut self, text: Option<String>, line: usize) -> Result<(), Fault> {
        match (self.depth, text, &self.key) {
            (0, Some(_), _) => return Err(no_table(line)),
            (1, Some(key), None) if self.fields.iter().any(|(name, _)| *name == key) => {
                return Err((line, format!("the key `{}` is there twice", key.escape_debug())));
            }
            (1, key, None) => self.key = Some((key.unwrap_or_default(), line)),
            (1, Some(text), Some(_)) => self.put(Yaml::Text(text)),
            (1, None, Some(_)) => self.key = None,
            (2, Some(text), _) => {
                if let Some(Yaml::List(items)) = &mut self.value {
                    items.push(text);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, value: Yaml) {
        if let Some((name, line)) = self.key.take() {
            self.fields.push((name, Field { line, value }));
        }
    }
}

fn no_table(line: usize) -> Fault {
    (line, "the front matter must be lines of `key: value`".to_owned())
}

/// The same lines with each plain text of the top level in quotes.
fn quoted(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let Some((key, value)) = line.split_once(": ") else { return (*line).to_owned() };
        let value = value.trim();
        let plain =
            !value.is_empty() && !value.starts_with(['\'', '"', '[', '{', '|', '>', '&', '*', '!']);
        let word = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        // Numbers stay numbers.
        if !plain || !word || value.bytes().all(|byte| byte.is_ascii_digit()) {
            return (*line).to_owned();
        }
        format!("{key}: '{}'", value.replace('\'', "''"))
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_nesting_overflows_the_stack() {
        for unit in ["- ", "? ", "[", "{", "- ? ", "{a: ", "a: [", "? - ", "!!a ", "&a ", "- - : "]
        {
            for start in ["", "tools: ", "tools:\n  "] {
                let yaml = format!("---\n{start}{}\n---\nx", unit.repeat(200_000 / unit.len()));
                let _ = Fields::parse(&yaml, true);
            }
        }
    }
}
