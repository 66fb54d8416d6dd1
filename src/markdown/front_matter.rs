//! Splits a Markdown file into the YAML between two `---` lines and the text after them.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Deeper tables and lists mean nothing in front matter.
const MAX_DEPTH: usize = 16;

/// What is wrong, and on which line.
pub type Fault = (usize, String);

/// One key's value and its line in the file, counted from 1; JSON on the command line has no lines.
#[derive(Debug, PartialEq)]
pub struct Field {
    pub line: Option<usize>,
    pub value: Value,
}

/// A value, as far as front matter has a use for it.
#[derive(Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// A number or a truth value of JSON, as it is written. In front matter these are texts.
    Bare(String),
    List(Vec<String>),
    /// One level of keys.
    Table(Pairs),
    Other,
}

/// Keys and their values in the order in which they stand, each key once. Keys without a value are left out.
pub type Pairs = Vec<(String, Field)>;

/// One file, or what takes its place, as it stands.
#[derive(Debug)]
pub struct Document {
    pub fields: Pairs,
    /// The text after the front matter, without blank lines around it.
    pub prompt: String,
    /// Where that begins, or should.
    pub prompt_line: Option<usize>,
}

impl Document {
    /// A key that is there.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }
}

impl Value {
    /// What it says, unless it holds several.
    #[must_use]
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bare(text) => Some(text.trim()),
            Self::List(_) | Self::Table(_) | Self::Other => None,
        }
    }
}

/// Whether a file begins with front matter.
#[must_use]
pub fn begins(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().next().is_some_and(|line| line.trim_end() == "---")
}

/// Reads a whole file. `lenient` also takes the plain texts with `: ` in them that other tools' files are full of.
///
/// # Errors
/// With the line of the first mistake.
pub fn parse(text: &str, lenient: bool) -> Result<Document, Fault> {
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
    let prompt = body.join("\n").trim().to_owned();
    Ok(Document { fields, prompt, prompt_line: Some(end + 3) })
}

/// The keys of a YAML table. Works on the parser's events and never nests, because a file may nest as deep as it is
/// long. Lines count from the front matter's opening line.
fn read(yaml: &str) -> Result<Pairs, Fault> {
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
            Event::MappingStart(..) => table.open(Value::Table(Vec::new()), line)?,
            Event::SequenceStart(..) => table.open(Value::List(Vec::new()), line)?,
            Event::MappingEnd | Event::SequenceEnd => table.close(),
            Event::Scalar(text, style, ..) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                table.scalar((!null).then(|| text.into_owned()), line)?;
            }
            Event::Alias(_) => {
                table.open(Value::Other, line)?;
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
    fields: Pairs,
    /// How many tables and lists are open; the table itself is the first.
    depth: usize,
    /// The key that waits for its value.
    key: Option<(String, usize)>,
    /// The list or table that is this key's value.
    value: Option<Value>,
    /// The key in that table that waits for its value.
    inner: Option<(String, usize)>,
}

impl Table {
    fn open(&mut self, value: Value, line: usize) -> Result<(), Fault> {
        match (self.depth, &self.key) {
            (0, _) if !matches!(value, Value::Table(_)) => return Err(no_table(line)),
            (0, _) => {}
            (1, None) => return Err((line, "a key of the front matter must be a word".to_owned())),
            (1, Some(_)) => self.value = Some(value),
            (2, _) => self.nest(),
            (3..MAX_DEPTH, _) => {}
            _ => return Err((line, format!("the front matter nests more than {MAX_DEPTH} deep"))),
        }
        self.depth += 1;
        Ok(())
    }

    /// A list or table inside of one: a list of names it cannot be, but in a table only that one key is wrong.
    fn nest(&mut self) {
        match (&mut self.value, self.inner.take()) {
            (Some(Value::Table(pairs)), Some((name, line))) => {
                pairs.push((name, Field { line: Some(line), value: Value::Other }));
            }
            _ => self.value = Some(Value::Other),
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 1 {
            let value = self.value.take().unwrap_or(Value::Other);
            self.inner = None;
            self.put(value);
        }
    }

    /// A key, a value, or an entry of a list; `None` is a null.
    fn scalar(&mut self, text: Option<String>, line: usize) -> Result<(), Fault> {
        match (self.depth, text) {
            (0, Some(_)) => Err(no_table(line)),
            (1, text) if self.key.is_none() => {
                self.key = Some(new_key(&self.fields, text, line)?);
                Ok(())
            }
            (1, Some(text)) => {
                self.put(Value::Text(text));
                Ok(())
            }
            (1, None) => {
                self.key = None;
                Ok(())
            }
            (2, text) => self.entry(text, line),
            _ => Ok(()),
        }
    }

    fn entry(&mut self, text: Option<String>, line: usize) -> Result<(), Fault> {
        match (&mut self.value, self.inner.take()) {
            (Some(Value::List(items)), _) => items.extend(text),
            (Some(Value::Table(pairs)), None) => self.inner = Some(new_key(pairs, text, line)?),
            (Some(Value::Table(pairs)), Some((name, line))) => {
                let field = |text| Field { line: Some(line), value: Value::Text(text) };
                pairs.extend(text.map(|text| (name, field(text))));
            }
            _ => {}
        }
        Ok(())
    }

    fn put(&mut self, value: Value) {
        if let Some((name, line)) = self.key.take() {
            self.fields.push((name, Field { line: Some(line), value }));
        }
    }
}

/// A key that is not in the table yet.
fn new_key(pairs: &Pairs, name: Option<String>, line: usize) -> Result<(String, usize), Fault> {
    let name = name.unwrap_or_default();
    if pairs.iter().any(|(other, _)| *other == name) {
        return Err((line, format!("the key `{}` is there twice", name.escape_debug())));
    }
    Ok((name, line))
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
                let _ = parse(&yaml, true);
            }
        }
    }
}
