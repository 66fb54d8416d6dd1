//! Reads JSON as values with lines.

use serde::de::IgnoredAny;

use super::{Spanned, Value, ValueError};

/// Parses JSON. The grammar is checked by the parser used for all JSON here; this only adds lines.
pub fn parse_json(text: &str) -> Result<Spanned<Value>, ValueError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let message = error.to_string();
        // The error's position is reported separately.
        let why = message.split(" at line ").next().unwrap_or_default();
        ValueError::new(error.line().max(1), format!("not valid JSON: {why}"))
    })?;
    JsonReader { text, at: 0, line: 1 }
        .value()
        .ok_or_else(|| ValueError::new(1, "not valid JSON: a text in it cannot be decoded"))
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
    fn value(&mut self) -> Option<Spanned<Value>> {
        let first = self.peek()?;
        let line = self.line;
        let value = match first {
            b'{' => Value::Table(self.entries()?),
            b'[' => Value::List(self.items()?),
            b'"' => Value::Text(self.string()?),
            _ => Value::Bare(self.bare_word()),
        };
        Some(Spanned { line, value })
    }

    fn entries(&mut self) -> Option<Vec<(String, Spanned<Value>)>> {
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

    fn items(&mut self) -> Option<Vec<Spanned<Value>>> {
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
    use serde_json::{Value as Json, json};

    use super::*;

    /// The same value without lines, as the parser of all JSON has it.
    fn plain(node: &Spanned<Value>) -> Json {
        match &node.value {
            Value::Text(text) => Json::from(text.as_str()),
            Value::Bare(text) => serde_json::from_str(text).unwrap(),
            Value::List(items) => items.iter().map(plain).collect(),
            Value::Unsupported => panic!("JSON has no such value"),
            Value::Table(entries) => {
                entries.iter().map(|(key, node)| (key.clone(), plain(node))).collect()
            }
        }
    }

    #[test]
    fn every_value_has_its_line() {
        let text = "\u{feff}{\r\n \"a\": [1,\n  \"x\\\"}\",\n {\"b\" : null}],\n\n\"c\": {}\n}";
        let node = parse_json(text).unwrap();
        assert_eq!(plain(&node), json!({ "a": [1, "x\"}", { "b": null }], "c": {} }));
        let items = node.get("a").unwrap().list().unwrap();
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(node.get("c").unwrap().line, 6);
        assert!(items[2].get("b").is_none(), "a null is absent");
    }

    #[test]
    fn broken_json_names_its_line_and_nesting_is_bounded() {
        let fault = parse_json("{\n\"a\": 1,\n}").unwrap_err();
        assert_eq!(
            (fault.line, fault.to_string().as_str()),
            (3, "not valid JSON: key must be a string")
        );
        assert_eq!(parse_json("").unwrap_err().line, 1);
        assert!(parse_json(&"[".repeat(200_000)).is_err());
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[ -~\u{e9}\n\"\\\\]{0,8}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::vec(("[a-c\"{}]{1,3}", inner), 0..4)
                    .prop_map(|entries| Json::Object(entries.into_iter().collect())),
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
