//! Splits a Markdown file into the YAML between two `---` lines and the text after them.

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::spanned::{Spanned, Value, ValueError};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 16;

/// Maximum number of keys in one table: each is compared with the previous ones.
const MAX_KEYS: usize = 1000;

/// Keys and values in order, each key once. Keys without a value are omitted.
type FieldList = Vec<(String, Spanned<Value>)>;

/// A parsed file, or its equivalent.
#[derive(Debug)]
pub struct Document {
    /// The table of the front matter.
    pub fields: Spanned<Value>,
    /// The text after the front matter, trimmed.
    pub prompt: String,
    /// The line where that begins, or should.
    pub prompt_line: Option<usize>,
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
pub fn parse(text: &str, lenient: bool) -> Result<Document, ValueError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.first().is_none_or(|line| line.trim_end() != "---") {
        return Err(ValueError::new(1, "there is no front matter: the first line must be ---"));
    }
    let Some(end) = lines.iter().skip(1).position(|line| line.trim_end() == "---") else {
        return Err(ValueError::new(1, "the front matter is not closed: a line --- is missing"));
    };
    let (yaml, body) = (&lines[1..=end], &lines[end + 2..]);
    let fields = match parse_yaml(&yaml.join("\n")) {
        Err(_) if lenient => {
            parse_yaml(&quote_texts(yaml)).or_else(|fault| parse_each_key(yaml).ok_or(fault))
        }
        result => result,
    }?;
    let fields = Spanned { line: 1, value: Value::Table(fields) };
    let prompt = body.join("\n").trim().to_owned();
    Ok(Document { fields, prompt, prompt_line: Some(end + 3) })
}

/// Parses the keys of a YAML table. Works on the parser's events with limited nesting, because a
/// file may nest as deep as it is long. Lines count from the front matter's opening line.
fn parse_yaml(yaml: &str) -> Result<FieldList, ValueError> {
    let mut tree = TreeBuilder::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let why = error.info();
            let message = format!(
                "the front matter is not valid YAML: {why}; quote text that contains `: ` or ` #`"
            );
            ValueError::new(error.marker().line() + 1, message)
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
                tree.put((!null).then(|| Value::Text(text.into_owned())), line)?;
            }
            Event::Alias(_) => tree.put(Some(Value::Unsupported), line)?,
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
    List(Vec<Spanned<Value>>),
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
    fn open(&mut self, open: OpenNode, line: usize) -> Result<(), ValueError> {
        match self.open.last() {
            None if matches!(open, OpenNode::List(_)) => return Err(not_a_table(line)),
            _ if self.open.len() == MAX_DEPTH => {
                let message = format!("the front matter nests more than {MAX_DEPTH} deep");
                return Err(ValueError::new(line, message));
            }
            _ => self.open.push((open, line)),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ValueError> {
        let Some((open, line)) = self.open.pop() else { return Ok(()) };
        let value = match open {
            OpenNode::Table(_, KeyState::NotText) => Value::Unsupported,
            OpenNode::Table(pairs, _) if self.open.is_empty() => {
                self.fields = pairs;
                return Ok(());
            }
            OpenNode::Table(pairs, _) => Value::Table(pairs),
            OpenNode::List(items) => Value::List(items),
        };
        self.put(Some(value), line)
    }

    /// Adds a key, a value, or a list item; `None` is a null.
    fn put(&mut self, value: Option<Value>, line: usize) -> Result<(), ValueError> {
        let is_top = self.open.len() == 1;
        let (pairs, key) = match self.open.last_mut() {
            None if value.is_none() => return Ok(()),
            None => return Err(not_a_table(line)),
            Some((OpenNode::List(items), _)) => {
                items.extend(value.map(|value| Spanned { line, value }));
                return Ok(());
            }
            Some((OpenNode::Table(pairs, key), _)) => (pairs, key),
        };
        *key = match (std::mem::replace(key, KeyState::Next), value) {
            (KeyState::Of(name, line), Some(value)) => {
                pairs.push((name, Spanned { line, value }));
                KeyState::Next
            }
            (KeyState::Of(..), None) => KeyState::Next,
            (KeyState::Next, None) => new_key(pairs, String::new(), line)?,
            (KeyState::Next, Some(Value::Text(name))) => new_key(pairs, name, line)?,
            (KeyState::Next, Some(_)) if is_top => {
                return Err(ValueError::new(line, "a key of the front matter must be a word"));
            }
            (KeyState::Next | KeyState::NotText, _) => KeyState::NotText,
        };
        Ok(())
    }
}

/// Checks a new key.
fn new_key(pairs: &FieldList, name: String, line: usize) -> Result<KeyState, ValueError> {
    if pairs.len() == MAX_KEYS {
        let message = format!("a table of the front matter has more than {MAX_KEYS} keys");
        return Err(ValueError::new(line, message));
    }
    if pairs.iter().any(|(other, _)| *other == name) {
        let message = format!("duplicate key `{}`", name.escape_debug());
        return Err(ValueError::new(line, message));
    }
    Ok(KeyState::Of(name, line))
}

fn not_a_table(line: usize) -> ValueError {
    ValueError::new(line, "the front matter must be lines of `key: value`")
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
            None if is_text => Value::Text(text()),
            None if text() == "*" => Value::Text("*".to_owned()),
            None => Value::Unsupported,
        };
        match pairs.iter_mut().find(|(name, _)| name == key) {
            Some(_) if is_text => {}
            Some((_, twice)) => twice.value = Value::Unsupported,
            None => pairs.push((key.to_owned(), Spanned { line: start + 2, value })),
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

/// Shifts the lines of a value and its content.
fn shift_lines(field: &mut Spanned<Value>, lines: usize) {
    field.line += lines;
    match &mut field.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift_lines(item, lines)),
        Value::Table(pairs) => pairs.iter_mut().for_each(|(_, item)| shift_lines(item, lines)),
        Value::Text(_) | Value::Bare(_) | Value::Unsupported => {}
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
        assert_eq!(fault, ValueError::new(1002, why));
    }

    #[test]
    fn texts_that_are_no_yaml_are_taken_as_they_stand_and_nothing_else_is_read_in_part() {
        let text = "---\nname: x\ndescription: & and *so* on\nuser: \"hi\" he said\ntools: *\ndisallowedTools:\n  - Bash\n  - {a: Write}\n---\nWork.";
        let document = parse(text, true).unwrap();
        let value = |key: &str| &document.fields.get(key).unwrap().value;
        assert_eq!(*value("name"), Value::Text("x".to_owned()));
        assert_eq!(*value("description"), Value::Text("& and *so* on".to_owned()));
        assert_eq!(*value("tools"), Value::Text("*".to_owned()));
        assert_eq!(*value("user"), Value::Unsupported);
        let field = |line, value| Spanned { line, value };
        let write = Value::Table(vec![("a".to_owned(), field(8, Value::Text("Write".to_owned())))]);
        let items = vec![field(7, Value::Text("Bash".to_owned())), field(8, write)];
        assert_eq!(*value("disallowedTools"), Value::List(items));
        assert_eq!(document.fields.get("tools").unwrap().line, 5);
        for broken in ["tools: [Read", "hooks: *x", "tools: Read\ntools: Bash"] {
            for description in ["*all*", "all", "one: two"] {
                let text = format!("---\ndescription: {description}\n{broken}\n---\nx");
                let document = parse(&text, true).unwrap();
                let key = broken.split(':').next().unwrap();
                assert_eq!(document.fields.get(key).unwrap().value, Value::Unsupported, "{text}");
                assert!(parse(&text, false).is_err());
            }
        }
        let text = "---\ndescription: one: two\npermissionMode: plan # only\n---\nx";
        let document = parse(text, true).unwrap();
        let mode = &document.fields.get("permissionMode").unwrap().value;
        assert_eq!(*mode, Value::Text("plan".to_owned()));
        assert!(parse("---\n- a\ndescription: *b\n---\nx", true).is_err());
    }

    #[test]
    fn values_nest_and_keep_their_lines() {
        let text = "---\nhooks:\n  Stop:\n    - matcher: x\n      hooks:\n        - {type: command}\n    - [~, a]\n? [a]\n: b\n---\nx";
        assert_eq!(
            parse(text, false).unwrap_err().to_string(),
            "a key of the front matter must be a word"
        );
        let document = parse(&text.replace("? [a]\n: b\n", "env: {[a]: b}\n"), true).unwrap();
        assert_eq!(document.fields.get("env").unwrap().value, Value::Unsupported);
        let field = |line, value| Spanned { line, value };
        let table =
            |name: &str, line, value| Value::Table(vec![(name.to_owned(), field(line, value))]);
        let command = table("type", 6, Value::Text("command".to_owned()));
        let Value::Table(mut group) = table("matcher", 4, Value::Text("x".to_owned())) else {
            panic!()
        };
        group.push(("hooks".to_owned(), field(5, Value::List(vec![field(6, command)]))));
        let texts = Value::List(vec![field(7, Value::Text("a".to_owned()))]);
        let stop = Value::List(vec![field(4, Value::Table(group)), field(7, texts)]);
        assert_eq!(document.fields.get("hooks").unwrap().value, table("Stop", 3, stop));
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
