//! Splits a Markdown file into the YAML between two `---` lines and the text after them.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Deeper tables and lists mean nothing in front matter.
const MAX_DEPTH: usize = 16;

/// More keys in one table are none that somebody wrote: each is compared with those before it.
const MAX_KEYS: usize = 1000;

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
    /// A list that holds other things than texts too.
    Items(Vec<Field>),
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
    /// A list of any things.
    #[must_use]
    pub fn list(items: Vec<Field>) -> Self {
        if items.iter().any(|item| !matches!(item.value, Self::Text(_))) {
            return Self::Items(items);
        }
        let text = |item: Field| match item.value {
            Self::Text(text) => Some(text),
            _ => None,
        };
        Self::List(items.into_iter().filter_map(text).collect())
    }

    /// What it says, unless it holds several.
    #[must_use]
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bare(text) => Some(text.trim()),
            Self::List(_) | Self::Items(_) | Self::Table(_) | Self::Other => None,
        }
    }
}

/// Whether a file begins with front matter.
#[must_use]
pub fn begins(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().next().is_some_and(|line| line.trim_end() == "---")
}

/// Reads a whole file. `lenient` also takes the plain texts with `: ` in them that other tools'
/// files are full of.
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
        Err(_) if lenient => read(&quoted(yaml)).or_else(|fault| each_alone(yaml).ok_or(fault)),
        result => result,
    }?;
    let prompt = body.join("\n").trim().to_owned();
    Ok(Document { fields, prompt, prompt_line: Some(end + 3) })
}

/// The keys of a YAML table. Works on the parser's events and nests within bounds, because a file
/// may nest as deep as it is long. Lines count from the front matter's opening line.
fn read(yaml: &str) -> Result<Pairs, Fault> {
    let mut tree = Tree::default();
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
            Event::MappingStart(..) => tree.open(Open::Table(Vec::new(), Key::Next), line)?,
            Event::SequenceStart(..) => tree.open(Open::List(Vec::new()), line)?,
            Event::MappingEnd | Event::SequenceEnd => tree.close()?,
            Event::Scalar(text, style, ..) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                tree.put((!null).then(|| Value::Text(text.into_owned())), line)?;
            }
            Event::Alias(_) => tree.put(Some(Value::Other), line)?,
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(tree.fields)
}

/// The values of front matter while its events come in.
#[derive(Default)]
struct Tree {
    /// The whole, once it is closed.
    fields: Pairs,
    /// What is open, each with its first line; the table of all keys is the first.
    open: Vec<(Open, usize)>,
}

/// A table or list that is not at its end yet.
enum Open {
    Table(Pairs, Key),
    List(Vec<Field>),
}

/// What a table waits for.
enum Key {
    Next,
    /// The value of this key, which stands on this line.
    Of(String, usize),
    /// A value whose key is no word: the table as a whole has no meaning.
    Strange,
}

impl Tree {
    fn open(&mut self, open: Open, line: usize) -> Result<(), Fault> {
        match self.open.last() {
            None if matches!(open, Open::List(_)) => return Err(no_table(line)),
            _ if self.open.len() == MAX_DEPTH => {
                return Err((line, format!("the front matter nests more than {MAX_DEPTH} deep")));
            }
            _ => self.open.push((open, line)),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some((open, line)) = self.open.pop() else { return Ok(()) };
        let value = match open {
            Open::Table(_, Key::Strange) => Value::Other,
            Open::Table(pairs, _) if self.open.is_empty() => {
                self.fields = pairs;
                return Ok(());
            }
            Open::Table(pairs, _) => Value::Table(pairs),
            Open::List(items) => Value::list(items),
        };
        self.put(Some(value), line)
    }

    /// A key, a value, or an entry of a list; `None` is a null.
    fn put(&mut self, value: Option<Value>, line: usize) -> Result<(), Fault> {
        let is_top = self.open.len() == 1;
        let (pairs, key) = match self.open.last_mut() {
            None if value.is_none() => return Ok(()),
            None => return Err(no_table(line)),
            Some((Open::List(items), _)) => {
                items.extend(value.map(|value| Field { line: Some(line), value }));
                return Ok(());
            }
            Some((Open::Table(pairs, key), _)) => (pairs, key),
        };
        *key = match (std::mem::replace(key, Key::Next), value) {
            (Key::Of(name, line), Some(value)) => {
                pairs.push((name, Field { line: Some(line), value }));
                Key::Next
            }
            (Key::Of(..), None) => Key::Next,
            (Key::Next, None) => new_key(pairs, String::new(), line)?,
            (Key::Next, Some(Value::Text(name))) => new_key(pairs, name, line)?,
            (Key::Next, Some(_)) if is_top => {
                return Err((line, "a key of the front matter must be a word".to_owned()));
            }
            (Key::Next | Key::Strange, _) => Key::Strange,
        };
        Ok(())
    }
}

/// A key that is not in the table yet.
fn new_key(pairs: &Pairs, name: String, line: usize) -> Result<Key, Fault> {
    if pairs.len() == MAX_KEYS {
        return Err((line, format!("a table of the front matter has more than {MAX_KEYS} keys")));
    }
    if pairs.iter().any(|(other, _)| *other == name) {
        return Err((line, format!("the key `{}` is there twice", name.escape_debug())));
    }
    Ok(Key::Of(name, line))
}

fn no_table(line: usize) -> Fault {
    (line, "the front matter must be lines of `key: value`".to_owned())
}

/// Keys whose values are plain texts for every program: one that is no YAML is taken as it stands.
/// A value of another key may forbid something, so it is never read in part.
const TEXTS: [&str; 5] = ["name", "description", "model", "color", "argument-hint"];

/// Reads the keys of the top level one by one, for front matter that is no YAML as a whole. A key
/// that is no YAML by itself has its text where that is one of [`TEXTS`], and no meaning elsewhere.
/// `None` where the lines are no keys.
fn each_alone(lines: &[&str]) -> Option<Pairs> {
    let starts: Vec<usize> = (0..lines.len()).filter(|at| key_of(lines[*at]).is_some()).collect();
    let is_blank = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    if !lines[..*starts.first()?].iter().all(is_blank) || starts.len() > MAX_KEYS {
        return None;
    }
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    let mut pairs = Pairs::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let (key, rest) = key_of(lines[start])?;
        let text = || {
            let more = lines[start + 1..end].iter().copied();
            let parts: Vec<_> = std::iter::once(rest).chain(more).map(str::trim).collect();
            unquoted(parts.join(" ").trim()).to_owned()
        };
        let is_text = TEXTS.contains(&key);
        let alone = read(&lines[start..end].join("\n")).ok().filter(|alone| alone.len() <= 1);
        let value = match alone.map(|mut alone| alone.pop()) {
            Some(None) => continue,
            Some(Some((_, mut field))) => {
                shift(&mut field, start);
                field.value
            }
            None if is_text => Value::Text(text()),
            None if text() == "*" => Value::Text("*".to_owned()),
            None => Value::Other,
        };
        match pairs.iter_mut().find(|(name, _)| name == key) {
            Some(_) if is_text => {}
            Some((_, twice)) => twice.value = Value::Other,
            None => pairs.push((key.to_owned(), Field { line: Some(start + 2), value })),
        }
    }
    Some(pairs)
}

/// The key at the beginning of a line and what stands behind it.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let word =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (word && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((key, rest))
}

/// A text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// Moves a field and what it holds down by some lines.
fn shift(field: &mut Field, lines: usize) {
    field.line = field.line.map(|line| line + lines);
    match &mut field.value {
        Value::Items(items) => items.iter_mut().for_each(|item| shift(item, lines)),
        Value::Table(pairs) => pairs.iter_mut().for_each(|(_, item)| shift(item, lines)),
        Value::Text(_) | Value::Bare(_) | Value::List(_) | Value::Other => {}
    }
}

/// The same lines with each plain text of [`TEXTS`] in quotes.
fn quoted(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let Some((key, value)) = line.split_once(": ") else { return (*line).to_owned() };
        let value = value.trim();
        // `[a] [b]` is a text that looks like a list at first.
        let list = value.starts_with('[') && value.find(']') == Some(value.len() - 1);
        let plain = !value.is_empty()
            && !list
            && !value.starts_with(['\'', '"', '{', '|', '>', '&', '*', '!']);
        // Numbers stay numbers.
        if !plain || !TEXTS.contains(&key) || value.bytes().all(|byte| byte.is_ascii_digit()) {
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
    fn very_many_keys_are_refused_at_the_first_that_is_too_much() {
        let keys: String = (0..30_000).map(|number| format!("k{number}: 1\n")).collect();
        let fault = parse(&format!("---\n{keys}---\nx"), true).unwrap_err();
        let why = "a table of the front matter has more than 1000 keys";
        assert_eq!(fault, (1002, why.to_owned()));
    }

    #[test]
    fn texts_that_are_no_yaml_are_taken_as_they_stand_and_nothing_else_is_read_in_part() {
        let text = "---\nname: x\ndescription: & and *so* on\nuser: \"hi\" he said\ntools: *\ndisallowedTools:\n  - Bash\n  - {a: Write}\n---\nWork.";
        let document = parse(text, true).unwrap();
        let value = |key: &str| &document.get(key).unwrap().value;
        assert_eq!(*value("name"), Value::Text("x".to_owned()));
        assert_eq!(*value("description"), Value::Text("& and *so* on".to_owned()));
        assert_eq!(*value("tools"), Value::Text("*".to_owned()));
        assert_eq!(*value("user"), Value::Other);
        let field = |line, value| Field { line: Some(line), value };
        let write = Value::Table(vec![("a".to_owned(), field(8, Value::Text("Write".to_owned())))]);
        let items = vec![field(7, Value::Text("Bash".to_owned())), field(8, write)];
        assert_eq!(*value("disallowedTools"), Value::Items(items));
        assert_eq!(document.get("tools").unwrap().line, Some(5));
        for broken in ["tools: [Read", "hooks: *x", "tools: Read\ntools: Bash"] {
            for description in ["*all*", "all", "one: two"] {
                let text = format!("---\ndescription: {description}\n{broken}\n---\nx");
                let document = parse(&text, true).unwrap();
                let key = broken.split(':').next().unwrap();
                assert_eq!(document.get(key).unwrap().value, Value::Other, "{text}");
                assert!(parse(&text, false).is_err());
            }
        }
        let text = "---\ndescription: one: two\npermissionMode: plan # only\n---\nx";
        let document = parse(text, true).unwrap();
        let mode = &document.get("permissionMode").unwrap().value;
        assert_eq!(*mode, Value::Text("plan".to_owned()));
        assert!(parse("---\n- a\ndescription: *b\n---\nx", true).is_err());
    }

    #[test]
    fn values_nest_and_keep_their_lines() {
        let text = "---\nhooks:\n  Stop:\n    - matcher: x\n      hooks:\n        - {type: command}\n    - [~, a]\n? [a]\n: b\n---\nx";
        assert_eq!(parse(text, false).unwrap_err().1, "a key of the front matter must be a word");
        let document = parse(&text.replace("? [a]\n: b\n", "env: {[a]: b}\n"), true).unwrap();
        assert_eq!(document.get("env").unwrap().value, Value::Other);
        let field = |line, value| Field { line: Some(line), value };
        let table =
            |name: &str, line, value| Value::Table(vec![(name.to_owned(), field(line, value))]);
        let command = table("type", 6, Value::Text("command".to_owned()));
        let Value::Table(mut group) = table("matcher", 4, Value::Text("x".to_owned())) else {
            panic!()
        };
        group.push(("hooks".to_owned(), field(5, Value::Items(vec![field(6, command)]))));
        let texts = Value::List(vec!["a".to_owned()]);
        let stop = Value::Items(vec![field(4, Value::Table(group)), field(7, texts)]);
        assert_eq!(document.get("hooks").unwrap().value, table("Stop", 3, stop));
    }

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
