//! The keys of a definition, from front matter or JSON.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error as _};

use super::fields::ReturnMode;
use crate::config::list;
use crate::protocol::Secret;
use crate::spanned::{Scalar, Spanned, Value};

/// Variables by name.
type EnvKeys = Secret<BTreeMap<String, Spanned<Scalar>>>;

/// The keys of a definition as written, besides its prompt.
#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DefinitionKeys {
    pub name: Option<Spanned<Text>>,
    pub description: Option<Spanned<Text>>,
    pub tools: Option<Spanned<Names>>,
    pub disallowed_tools: Option<Spanned<Names>>,
    pub model: Option<Text>,
    pub provider: Option<Spanned<Text>>,
    pub max_turns: Option<Count>,
    pub budget: BTreeMap<String, Spanned<Scalar>>,
    /// Files of other tools may have other words here.
    pub permission_mode: Option<Spanned<Value>>,
    pub memory: Option<Spanned<Value>>,
    pub color: Option<Spanned<Text>>,
    pub background: bool,
    pub isolation: Option<Spanned<Value>>,
    pub env: Option<Spanned<EnvKeys>>,
    pub hooks: Option<Spanned<Value>>,
    #[serde(rename = "return")]
    pub returns: ReturnMode,
    pub mcp_servers: Option<Spanned<Value>>,
}

/// A text that is not blank, trimmed.
pub(super) struct Text(pub String);

/// A list of names. `Read, Grep` and `[Read, Grep]` are the same.
#[derive(Default)]
pub(super) struct Names(pub Vec<String>);

/// A whole number of at least 1.
pub(super) struct Count(pub u32);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(text) if text.trim().is_empty() => {
                Err(D::Error::custom("must not be empty"))
            }
            Value::Text(text) => Ok(Self(text.trim().to_owned())),
            _ => Err(D::Error::custom("must be a text")),
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let wrong = || D::Error::custom("must be a list of names, such as Read, Grep");
        let mut names = Vec::new();
        for text in value.texts().ok_or_else(wrong)? {
            let more = list::parse(text).map_err(|why| D::Error::custom(format!("has {why}")))?;
            names.extend(more);
        }
        Ok(Self(names))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number =
            Value::deserialize(deserializer)?.scalar().and_then(|text| text.trim().parse().ok());
        let wrong = || D::Error::custom("must be a whole number of at least 1");
        number.filter(|number| *number > 0).map(Self).ok_or_else(wrong)
    }
}
