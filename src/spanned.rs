//! Values that people write in JSON and front matter, each with its line. Types that derive
//! `Deserialize` are read from them, and errors name the line and the keys down to the value.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};

mod de;
pub mod json;

/// A value and its line. As a field of a type that is deserialized, it gets the line too.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename = "$Spanned")]
pub struct Spanned<T> {
    /// Counted from 1. In front matter, the value of a key has the line of the key.
    pub line: usize,
    pub value: T,
}

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// A number, boolean or null of JSON, as written. Front matter has only texts.
    Bare(String),
    List(Vec<Spanned<Value>>),
    /// Keys in the order of the file. JSON may repeat a key; the last one counts.
    Table(Vec<(String, Spanned<Value>)>),
    /// An alias, a table with other keys than texts, or what is no YAML: never a valid value.
    Unsupported,
}

impl Value {
    /// Returns the text of a scalar, quoted or not.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bare(text) => Some(text),
            Self::List(_) | Self::Table(_) | Self::Unsupported => None,
        }
    }

    /// Returns the items of a list of texts, or a text as the only one.
    pub fn texts(&self) -> Option<Vec<&str>> {
        match self {
            Self::Text(text) => Some(vec![text]),
            Self::List(items) => {
                let texts = items.iter().map(|item| match &item.value {
                    Self::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                texts.collect()
            }
            Self::Bare(_) | Self::Table(_) | Self::Unsupported => None,
        }
    }

    /// Says that the value has the wrong type. Leaves out texts, which may be keys.
    fn type_error(&self, expected: &str) -> String {
        let kind = match self {
            Self::Text(_) => "a string",
            Self::Bare(text) => text,
            Self::List(_) => "a list",
            Self::Table(_) => "an object",
            Self::Unsupported => "an alias",
        };
        format!("must be {expected}, not {kind}")
    }
}

impl Spanned<Value> {
    /// Returns the value of a key. A null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        let (_, found) = entries.iter().rev().find(|(name, _)| name == key)?;
        (!found.is_null()).then_some(found)
    }

    /// Returns the text of a scalar, quoted or not.
    pub fn scalar(&self) -> Option<&str> {
        self.value.scalar()
    }

    /// Returns the items of a list.
    pub fn list(&self) -> Result<&[Self], ValueError> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.type_error("a list")),
        }
    }

    /// Returns the entries of a table.
    pub fn table(&self) -> Result<&[(String, Self)], ValueError> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.type_error("an object of keys and values")),
        }
    }

    /// Deserializes the value.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(self).map_err(|error| error.at(self.line))
    }

    /// Deserializes the value of some keys of a table; the others count as absent.
    pub fn read_keys<T: DeserializeOwned>(&self, keys: &[&str]) -> Result<T, ValueError> {
        let entries = self.table()?.iter();
        let kept = entries.filter(|(key, _)| keys.contains(&key.as_str())).cloned().collect();
        Self { line: self.line, value: Value::Table(kept) }.read()
    }

    /// Creates an error about this value, which continues a sentence that begins with its key.
    pub fn error(&self, message: impl Into<String>) -> ValueError {
        ValueError { line: self.line, ..ValueError::custom(message.into()) }
    }

    /// Creates the error for a value of the wrong type.
    pub fn type_error(&self, expected: &str) -> ValueError {
        self.error(self.value.type_error(expected))
    }

    /// Whether it is the null of JSON.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Bare(text) if text == "null")
    }
}

/// An invalid value: its line, its path, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// 0 until the deserializer knows it.
    pub line: usize,
    /// The keys above the value, joined by dots.
    path: String,
    /// Whether the value is an entry of the list at this path.
    is_entry: bool,
    message: String,
}

impl ValueError {
    /// Creates an error about a whole text.
    pub fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, ..Self::custom(message.into()) }
    }

    /// Adds the key above the value.
    pub fn below(mut self, key: &str) -> Self {
        let key = key.escape_debug();
        self.path = match self.path.as_str() {
            "" => key.to_string(),
            path => format!("{key}.{path}"),
        };
        self
    }

    /// Marks the value as an entry of a list.
    pub fn in_list(mut self) -> Self {
        self.is_entry |= self.path.is_empty();
        self
    }

    /// Sets the line, unless a value inside has set its own.
    fn at(mut self, line: usize) -> Self {
        self.line = if self.line == 0 { line } else { self.line };
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.is_entry) {
            ("", true) => f.write_str("an entry ")?,
            ("", false) => {}
            (path, true) => write!(f, "an entry of `{path}` ")?,
            (path, false) => write!(f, "`{path}` ")?,
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

/// A text, or a number or boolean taken as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scalar(pub String);

/// Deserializes a text that is not blank.
pub fn non_blank<'de, D: Deserializer<'de>, T: From<String>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.trim().is_empty() {
        true => Err(D::Error::custom("must not be empty")),
        false => Ok(text.into()),
    }
}
