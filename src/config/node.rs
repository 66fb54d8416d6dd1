//! Values from JSON and front matter, each with its line.

use serde::de::IgnoredAny;

/// One value and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Counted from 1; absent if there are no lines, as on the command line.
    pub line: Option<usize>,
    pub value: NodeValue,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    Text(String),
    /// A number, boolean or null, as written. Front matter has only texts.
    Bare(String),
    List(Vec<Node>),
    /// Keys in the order of the file.
    Table(Vec<(String, Node)>),
}

/// An invalid value, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    pub line: Option<usize>,
    pub message: String,
}

impl Node {
    /// Returns the value of a key; if the key occurs twice, the last one, as JSON parsers do. A null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let NodeValue::Table(entries) = &self.value else { return None };
        let (_, found) = entries.iter().rev().find(|(name, _)| name == key)?;
        (!found.is_null()).then_some(found)
    }

    /// Returns the text of a scalar, quoted or not.
    pub fn scalar(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) | NodeValue::Bare(text) => Some(text),
            NodeValue::List(_) | NodeValue::Table(_) => None,
        }
    }

    /// Returns the text; errors refer to the value as `name`.
    pub fn text(&self, name: &str) -> Result<&str, ValueError> {
        match &self.value {
            NodeValue::Text(text) => Ok(text),
            _ => Err(self.type_error(name, "a quoted string")),
        }
    }

    /// Returns the items of a list.
    pub fn list(&self, name: &str) -> Result<&[Self], ValueError> {
        match &self.value {
            NodeValue::List(items) => Ok(items),
            _ => Err(self.type_error(name, "a list")),
        }
    }

    /// Returns the entries of an object.
    pub fn table(&self, name: &str) -> Result<&[(String, Self)], ValueError> {
        match &self.value {
            NodeValue::Table(entries) => Ok(entries),
            _ => Err(self.type_error(name, "an object of keys and values")),
        }
    }

    /// Creates an error at this value.
    pub fn error(&self, message: impl Into<String>) -> ValueError {
        ValueError { line: self.line, message: message.into() }
    }

    /// Creates the error for a value of the wrong type.
    pub fn type_error(&self, name: &str, what: &str) -> ValueError {
        let kind = match &self.value {
            NodeValue::Text(_) => "a string",
            NodeValue::Bare(text) => text,
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "an object",
        };
        self.error(format!("`{name}` must be {what}, not {kind}"))
    }

    fn is_null(&self) -> bool {
        matches!(&self.value, NodeValue::Bare(text) if text == "null")
    }
}

/// Parses JSON. The grammar is checked by the parser used for all JSON here; this only adds lines.
pub fn parse_json(text: &str) -> Result<Node, ValueError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let message = error.to_string();
        // The error's position is reported separately.
        let why = message.split(" at line ").next().unwrap_or_default();
        ValueError { line: Some(error.line().max(1)), message: format!("not valid JSON: {why}") }
    })?;
    JsonReader { text, at: 0, line: 1 }.value().ok_or_else(|| ValueError {
        line: Some(1),
        message: "not valid JSON: a text in it cannot be decoded".to_owned(),
    })
}

/// A reader of valid JSON, nested no deeper than the parser allows.
struct JsonReader<'a> {
    text: &'a str,
    /// In bytes.
    at: usize,
    line: usize,
}

impl JsonReader<'_> {
    /// Returns `None` only for a string that cannot be decoded, such as an unpaired surrogate.
    fn value(&mut self) -> Option<Node> {
        let first = self.peek()?;
        let line = Some(self.line);
        let value = match first {
            b'{' => NodeValue::Table(self.entries()?),
            b'[' => NodeValue::List(self.items()?),
            b'"' => NodeValue::Text(self.string()?),
            _ => NodeValue::Bare(self.bare_word()),
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

    fn bare_word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}');
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word.to_owned()
    }

    /// Returns the next non-whitespace byte.
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
