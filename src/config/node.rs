//! Values of a file that is not ours, each with its line: what JSON and front matter become before
//! they are read.

use serde::de::IgnoredAny;

/// One value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Counted from 1; absent where there are no lines, as on the command line.
    pub line: Option<usize>,
    pub value: NodeValue,
}

/// What stands there.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    Text(String),
    /// A number, a truth value or a null, as it is written. Front matter knows only texts.
    Bare(String),
    List(Vec<Node>),
    /// Keys in the order of the file.
    Table(Vec<(String, Node)>),
}

/// What is wrong with a value, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub line: Option<usize>,
    pub message: String,
}

impl Node {
    /// The value of a key; of a key that is there twice the last one, as JSON readers have it. A
    /// null is absent.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let NodeValue::Table(entries) = &self.value else { return None };
        let (_, found) = entries.iter().rev().find(|(name, _)| name == key)?;
        (!found.is_null()).then_some(found)
    }

    /// The text of a scalar, however it is written.
    #[must_use]
    pub fn scalar(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) | NodeValue::Bare(text) => Some(text),
            NodeValue::List(_) | NodeValue::Table(_) => None,
        }
    }

    /// A text; `name` is what the error calls it.
    pub fn text(&self, name: &str) -> Result<&str, Misfit> {
        match &self.value {
            NodeValue::Text(text) => Ok(text),
            _ => Err(self.must_be(name, "a text in quotes")),
        }
    }

    /// A list.
    pub fn list(&self, name: &str) -> Result<&[Self], Misfit> {
        match &self.value {
            NodeValue::List(items) => Ok(items),
            _ => Err(self.must_be(name, "a list")),
        }
    }

    /// An object.
    pub fn table(&self, name: &str) -> Result<&[(String, Self)], Misfit> {
        match &self.value {
            NodeValue::Table(entries) => Ok(entries),
            _ => Err(self.must_be(name, "an object of keys and values")),
        }
    }

    /// An error at this value.
    #[must_use]
    pub fn misfit(&self, message: impl Into<String>) -> Misfit {
        Misfit { line: self.line, message: message.into() }
    }

    /// The error for a value of another kind.
    #[must_use]
    pub fn must_be(&self, name: &str, what: &str) -> Misfit {
        let kind = match &self.value {
            NodeValue::Text(_) => "a text",
            NodeValue::Bare(text) => text,
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "an object",
        };
        self.misfit(format!("`{name}` must be {what}, not {kind}"))
    }

    fn is_null(&self) -> bool {
        matches!(&self.value, NodeValue::Bare(text) if text == "null")
    }
}

/// Reads JSON. Its grammar is checked by the parser that reads all JSON here; this only adds the lines.
pub fn parse_json(text: &str) -> Result<Node, Misfit> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let message = error.to_string();
        // The position is told by the place of the error.
        let why = message.split(" at line ").next().unwrap_or_default();
        Misfit { line: Some(error.line().max(1)), message: format!("not valid JSON: {why}") }
    })?;
    Walk { text, at: 0, line: 1 }.value().ok_or_else(|| Misfit {
        line: Some(1),
        message: "not valid JSON: a text in it cannot be decoded".to_owned(),
    })
}

/// A walk over text that is known to be JSON, nested at most as deep as the parser allows.
struct Walk<'a> {
    text: &'a str,
    /// In bytes.
    at: usize,
    line: usize,
}

impl Walk<'_> {
    /// `None` only for a text that cannot be decoded, such as half of a pair of surrogates.
    fn value(&mut self) -> Option<Node> {
        let first = self.peek()?;
        let line = Some(self.line);
        let value = match first {
            b'{' => NodeValue::Table(self.entries()?),
            b'[' => NodeValue::List(self.items()?),
            b'"' => NodeValue::Text(self.string()?),
            _ => NodeValue::Bare(self.bare()),
        };
        Some(Node { line, value })
    }

    fn entries(&mut self) -> Option<Vec<(String, Node)>> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            match self.peek()? {
                b'}' => break,
                b'"' => {
                    let key = self.string()?;
                    // The colon.
                    self.peek()?;
                    self.at += 1;
                    entries.push((key, self.value()?));
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(entries)
    }

    fn items(&mut self) -> Option<Vec<Node>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.value()?),
            }
        }
        self.at += 1;
        Some(items)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while bytes.get(self.at).is_some_and(|byte| *byte != b'"') {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    fn bare(&mut self) -> String {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word.to_owned()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !byte.is_ascii_whitespace() {
                return Some(byte);
            }
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The same value without lines, as the parser of all JSON has it.
    fn plain(node: &Node) -> Value {
        match &node.value {
            NodeValue::Text(text) => Value::from(text.as_str()),
            NodeValue::Bare(text) => serde_json::from_str(text).unwrap(),
            NodeValue::List(items) => items.iter().map(plain).collect(),
            NodeValue::Table(entries) => {
                entries.iter().map(|(key, node)| (key.clone(), plain(node))).collect()
            }
        }
    }

    #[test]
    fn every_value_has_its_line() {
        let text = "\u{feff}{\r\n \"a\": [1,\n  \"x\\\"}\",\n {\"b\" : null}],\n\n\"c\": {}\n}";
        let node = parse_json(text).unwrap();
        assert_eq!(plain(&node), json!({ "a": [1, "x\"}", { "b": null }], "c": {} }));
        let items = node.get("a").unwrap().list("a").unwrap();
        assert_eq!(items.iter().map(|item| item.line.unwrap()).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(node.get("c").unwrap().line, Some(6));
        assert!(items[2].get("b").is_none(), "a null is absent");
    }

    #[test]
    fn broken_json_names_its_line_and_nesting_is_bounded() {
        let fault = parse_json("{\n\"a\": 1,\n}").unwrap_err();
        assert_eq!(
            (fault.line, fault.message.as_str()),
            (Some(3), "not valid JSON: key must be a string")
        );
        assert_eq!(parse_json("").unwrap_err().line, Some(1));
        assert!(parse_json(&"[".repeat(200_000)).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\u{e9}\n\"\\\\]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c\"{}]{1,3}", inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_the_parser_reads(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(plain(&parse_json(&text).unwrap()), value.clone());
            }
        }
    }
}
