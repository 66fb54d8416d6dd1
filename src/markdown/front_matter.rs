//! Splits a Markdown file into the YAML between two `---` lines and the text after them.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 16;

/// Maximum number of keys in one table: each is compared with the previous ones.
const MAX_KEYS: usize = 1000;

/// The line of an error, and its message.
pub type FrontMatterError = (usize, String);

/// One key's value and its line in the file, counted from 1; JSON on the command line has no lines.
#[derive(Debug, PartialEq)]
pub struct Field {
    pub line: Option<usize>,
    pub value: FieldValue,
}

/// A value, as far as front matter needs it.
#[derive(Debug, PartialEq)]
pub enum FieldValue {
    Text(String),
    /// A JSON number or boolean, as written. In front matter these are texts.
    Bare(String),
    List(Vec<String>),
    /// A list with items other than texts.
    Items(Vec<Field>),
    Table(FieldList),
    Other,
}

/// Keys and values in order, each key once. Keys without a value are omitted.
pub type FieldList = Vec<(String, Field)>;

/// A parsed file, or its equivalent.
#[derive(Debug)]
pub struct Document {
    pub fields: FieldList,
    /// The text after the front matter, trimmed.
    pub prompt: String,
    /// The line where that begins, or should.
    pub prompt_line: Option<usize>,
}

impl Document {
    /// Returns the field of a key.
    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }
}

impl FieldValue {
    /// Makes a list value.
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

    /// Returns the text of a single value.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bare(text) => Some(text.trim()),
            Self::List(_) | Self::Items(_) | Self::Table(_) | Self::Other => None,
        }
    }
}

/// Whether a file begins with front matter.
pub fn has_front_matter(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().next().is_some_and(|line| line.trim_end() == "---")
}

/// Parses a whole file. `lenient` also accepts unquoted texts with `: `, which are common in files for other tools.
///
/// # Errors
/// Returns the first error with its line.
pub fn parse(text: &str, lenient: bool) -> Result<Document, FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.first().is_none_or(|line| line.trim_end() != "---") {
        return Err((1, "there is no front matter: the first line must be ---".to_owned()));
    }
    let Some(end) = lines.iter().skip(1).position(|line| line.trim_end() == "---") else {
        return Err((1, "the front matter is not closed: a line --- is missing".to_owned()));
    };
    let (yaml, body) = (&lines[1..=end], &lines[end + 2..]);
    let fields = match parse_yaml(&yaml.join("\n")) {
        Err(_) if lenient => {
            parse_yaml(&quote_texts(yaml)).or_else(|fault| parse_each_key(yaml).ok_or(fault))
        }
        result => result,
    }?;
    let prompt = body.join("\n").trim().to_owned();
    Ok(Document { fields, prompt, prompt_line: Some(end + 3) })
}

/// Parses the keys of a YAML table. Works on the parser's events with limited nesting, because a
/// file may nest as deep as it is long. Lines count from the front matter's opening line.
fn parse_yaml(yaml: &str) -> Result<FieldList, FrontMatterError> {
    let mut tree = TreeBuilder::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let why = error.info();
            let message = format!(
                "the front matter is not valid YAML: {why}; quote text that contains `: ` or ` #`"
            );
            (error.marker().line() + 1, message)
        })?;
        let line = span.start.line() + 1;
        match event {
            Event::MappingStart(..) => {
                tree.open(OpenNode::Table(Vec::new(), KeyState::Next), line)?;
            }
            Event::SequenceStart(..) => tree.open(OpenNode::List(Vec::new()), line)?,
            Event::MappingEnd | Event::SequenceEnd => tree.close()?,
            Event::Scalar(text, style, ..) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                tree.put((!null).then(|| FieldValue::Text(text.into_owned())), line)?;
            }
            Event::Alias(_) => tree.put(Some(FieldValue::Other), line)?,
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(tree.fields)
}

/// Builds front matter values from parser events.
#[derive(Default)]
struct TreeBuilder {
    /// The complete table, once it is closed.
    fields: FieldList,
    /// The open tables and lists, each with its first line; the first is the top-level table.
    open: Vec<(OpenNode, usize)>,
}

/// An unfinished table or list.
enum OpenNode {
    Table(FieldList, KeyState),
    List(Vec<Field>),
}

/// The state of a table between keys and values.
enum KeyState {
    Next,
    /// Expects the value of this key, from this line.
    Of(String, usize),
    /// Expects the value of a non-text key: the whole table has no meaning.
    NotText,
}

impl TreeBuilder {
    fn open(&mut self, open: OpenNode, line: usize) -> Result<(), FrontMatterError> {
        match self.open.last() {
            None if matches!(open, OpenNode::List(_)) => return Err(not_a_table(line)),
            _ if self.open.len() == MAX_DEPTH => {
                return Err((line, format!("the front matter nests more than {MAX_DEPTH} deep")));
            }
            _ => self.open.push((open, line)),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), FrontMatterError> {
        let Some((open, line)) = self.open.pop() else { return Ok(()) };
        let value = match open {
            OpenNode::Table(_, KeyState::NotText) => FieldValue::Other,
            OpenNode::Table(pairs, _) if self.open.is_empty() => {
                self.fields = pairs;
                return Ok(());
            }
            OpenNode::Table(pairs, _) => FieldValue::Table(pairs),
            OpenNode::List(items) => FieldValue::list(items),
        };
        self.put(Some(value), line)
    }

    /// Adds a key, a value, or a list item; `None` is a null.
    fn put(&mut self, value: Option<FieldValue>, line: usize) -> Result<(), FrontMatterError> {
        let is_top = self.open.len() == 1;
        let (pairs, key) = match self.open.last_mut() {
            None if value.is_none() => return Ok(()),
            None => return Err(not_a_table(line)),
            Some((OpenNode::List(items), _)) => {
                items.extend(value.map(|value| Field { line: Some(line), value }));
                return Ok(());
            }
            Some((OpenNode::Table(pairs, key), _)) => (pairs, key),
        };
        *key = match (std::mem::replace(key, KeyState::Next), value) {
            (KeyState::Of(name, line), Some(value)) => {
                pairs.push((name, Field { line: Some(line), value }));
                KeyState::Next
            }
            (KeyState::Of(..), None) => KeyState::Next,
            (KeyState::Next, None) => new_key(pairs, String::new(), line)?,
            (KeyState::Next, Some(FieldValue::Text(name))) => new_key(pairs, name, line)?,
            (KeyState::Next, Some(_)) if is_top => {
                return Err((line, "a key of the front matter must be a word".to_owned()));
            }
            (KeyState::Next | KeyState::NotText, _) => KeyState::NotText,
        };
        Ok(())
    }
}

/// Checks a new key.
fn new_key(pairs: &FieldList, name: String, line: usize) -> Result<KeyState, FrontMatterError> {
    if pairs.len() == MAX_KEYS {
        return Err((line, format!("a table of the front matter has more than {MAX_KEYS} keys")));
    }
    if pairs.iter().any(|(other, _)| *other == name) {
        return Err((line, format!("the key `{}` is there twice", name.escape_debug())));
    }
    Ok(KeyState::Of(name, line))
}

fn not_a_table(line: usize) -> FrontMatterError {
    (line, "the front matter must be lines of `key: value`".to_owned())
}

/// Keys whose values are plain text for every program: a value that is not valid YAML is taken
/// literally. A value of another key may forbid something, so it is never read in part.
const TEXT_KEYS: [&str; 5] = ["name", "description", "model", "color", "argument-hint"];

/// Parses the top-level keys one by one, for front matter that is not valid YAML as a whole. A key
/// that is invalid by itself has its literal text if it is one of [`TEXT_KEYS`], else no meaning.
/// Returns `None` if the lines are not keys.
fn parse_each_key(lines: &[&str]) -> Option<FieldList> {
    let starts: Vec<usize> =
        (0..lines.len()).filter(|at| split_key(lines[*at]).is_some()).collect();
    let is_blank = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    if !lines[..*starts.first()?].iter().all(is_blank) || starts.len() > MAX_KEYS {
        return None;
    }
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    let mut pairs = FieldList::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let (key, rest) = split_key(lines[start])?;
        let text = || {
            let more = lines[start + 1..end].iter().copied();
            let parts: Vec<_> = std::iter::once(rest).chain(more).map(str::trim).collect();
            unquoted(parts.join(" ").trim()).to_owned()
        };
        let is_text = TEXT_KEYS.contains(&key);
        let alone = parse_yaml(&lines[start..end].join("\n")).ok().filter(|alone| alone.len() <= 1);
        let value = match alone.map(|mut alone| alone.pop()) {
            Some(None) => continue,
            Some(Some((_, mut field))) => {
                shift_lines(&mut field, start);
                field.value
            }
            None if is_text => FieldValue::Text(text()),
            None if text() == "*" => FieldValue::Text("*".to_owned()),
            None => FieldValue::Other,
        };
        match pairs.iter_mut().find(|(name, _)| name == key) {
            Some(_) if is_text => {}
            Some((_, twice)) => twice.value = FieldValue::Other,
            None => pairs.push((key.to_owned(), Field { line: Some(start + 2), value })),
        }
    }
    Some(pairs)
}

/// Splits a line into its key and the rest.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let word =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (word && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((key, rest))
}

/// Removes the quotes around a text.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// Shifts the lines of a field and its content.
fn shift_lines(field: &mut Field, lines: usize) {
    field.line = field.line.map(|line| line + lines);
    match &mut field.value {
        FieldValue::Items(items) => items.iter_mut().for_each(|item| shift_lines(item, lines)),
        FieldValue::Table(pairs) => pairs.iter_mut().for_each(|(_, item)| shift_lines(item, lines)),
        FieldValue::Text(_) | FieldValue::Bare(_) | FieldValue::List(_) | FieldValue::Other => {}
    }
}

/// Returns the lines with each plain text of [`TEXT_KEYS`] quoted.
fn quote_texts(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let Some((key, value)) = line.split_once(": ") else { return (*line).to_owned() };
        let value = value.trim();
        // `[a] [b]` is a text that looks like a list at first.
        let list = value.starts_with('[') && value.find(']') == Some(value.len() - 1);
        let plain = !value.is_empty()
            && !list
            && !value.starts_with(['\'', '"', '{', '|', '>', '&', '*', '!']);
        // Numbers stay numbers.
        if !plain || !TEXT_KEYS.contains(&key) || value.bytes().all(|byte| byte.is_ascii_digit()) {
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
        assert_eq!(*value("name"), FieldValue::Text("x".to_owned()));
        assert_eq!(*value("description"), FieldValue::Text("& and *so* on".to_owned()));
        assert_eq!(*value("tools"), FieldValue::Text("*".to_owned()));
        assert_eq!(*value("user"), FieldValue::Other);
        let field = |line, value| Field { line: Some(line), value };
        let write = FieldValue::Table(vec![(
            "a".to_owned(),
            field(8, FieldValue::Text("Write".to_owned())),
        )]);
        let items = vec![field(7, FieldValue::Text("Bash".to_owned())), field(8, write)];
        assert_eq!(*value("disallowedTools"), FieldValue::Items(items));
        assert_eq!(document.get("tools").unwrap().line, Some(5));
        for broken in ["tools: [Read", "hooks: *x", "tools: Read\ntools: Bash"] {
            for description in ["*all*", "all", "one: two"] {
                let text = format!("---\ndescription: {description}\n{broken}\n---\nx");
                let document = parse(&text, true).unwrap();
                let key = broken.split(':').next().unwrap();
                assert_eq!(document.get(key).unwrap().value, FieldValue::Other, "{text}");
                assert!(parse(&text, false).is_err());
            }
        }
        let text = "---\ndescription: one: two\npermissionMode: plan # only\n---\nx";
        let document = parse(text, true).unwrap();
        let mode = &document.get("permissionMode").unwrap().value;
        assert_eq!(*mode, FieldValue::Text("plan".to_owned()));
        assert!(parse("---\n- a\ndescription: *b\n---\nx", true).is_err());
    }

    #[test]
    fn values_nest_and_keep_their_lines() {
        let text = "---\nhooks:\n  Stop:\n    - matcher: x\n      hooks:\n        - {type: command}\n    - [~, a]\n? [a]\n: b\n---\nx";
        assert_eq!(parse(text, false).unwrap_err().1, "a key of the front matter must be a word");
        let document = parse(&text.replace("? [a]\n: b\n", "env: {[a]: b}\n"), true).unwrap();
        assert_eq!(document.get("env").unwrap().value, FieldValue::Other);
        let field = |line, value| Field { line: Some(line), value };
        let table = |name: &str, line, value| {
            FieldValue::Table(vec![(name.to_owned(), field(line, value))])
        };
        let command = table("type", 6, FieldValue::Text("command".to_owned()));
        let FieldValue::Table(mut group) = table("matcher", 4, FieldValue::Text("x".to_owned()))
        else {
            panic!()
        };
        group.push(("hooks".to_owned(), field(5, FieldValue::Items(vec![field(6, command)]))));
        let texts = FieldValue::List(vec!["a".to_owned()]);
        let stop = FieldValue::Items(vec![field(4, FieldValue::Table(group)), field(7, texts)]);
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
