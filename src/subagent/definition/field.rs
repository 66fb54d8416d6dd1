//! The keys of a definition and their values, from front matter or JSON.

use super::DefinitionError;
use super::source::DefinitionSource;
use crate::config::node::{Node, NodeValue};
pub(super) use crate::markdown::front_matter::{Document, Field, FieldList, FieldValue};

/// Converts a field for readers that also read settings files.
pub(super) fn node(field: &Field) -> Node {
    let value = match &field.value {
        FieldValue::Text(text) => NodeValue::Text(text.clone()),
        FieldValue::Bare(text) => NodeValue::Bare(text.clone()),
        FieldValue::List(texts) => {
            let item =
                |text: &String| Node { line: field.line, value: NodeValue::Text(text.clone()) };
            NodeValue::List(texts.iter().map(item).collect())
        }
        FieldValue::Items(items) => NodeValue::List(items.iter().map(node).collect()),
        FieldValue::Table(pairs) => NodeValue::Table(
            pairs.iter().map(|(name, field)| (name.clone(), node(field))).collect(),
        ),
        FieldValue::Other => NodeValue::Bare("null".to_owned()),
    };
    Node { line: field.line, value }
}

/// A key of a definition, present or not: every error names the place and the key.
#[derive(Clone, Copy)]
pub(super) struct DefinitionKey<'a> {
    pub source: &'a DefinitionSource,
    pub name: &'a str,
    pub field: Option<&'a Field>,
}

impl<'a> DefinitionKey<'a> {
    pub fn error(&self, message: impl Into<String>) -> DefinitionError {
        let line = self.field.and_then(|field| field.line);
        DefinitionError { place: self.source.clone(), line, message: message.into() }
    }

    fn type_error(&self, what: &str) -> DefinitionError {
        self.error(format!("`{}` must be {what}", self.name))
    }

    /// A text that is not blank; `None` if the key is absent.
    pub fn text(&self) -> Result<Option<String>, DefinitionError> {
        match self.field.map(|field| &field.value) {
            None => Ok(None),
            Some(FieldValue::Text(text)) if text.trim().is_empty() => {
                Err(self.error(format!("`{}` must not be empty", self.name)))
            }
            Some(FieldValue::Text(text)) => Ok(Some(text.trim().to_owned())),
            Some(_) => Err(self.type_error("a text")),
        }
    }

    /// A whole number of at least 1.
    pub fn count(&self) -> Result<Option<u32>, DefinitionError> {
        let Some(field) = self.field else { return Ok(None) };
        let number = field.value.scalar().and_then(|text| text.parse::<u32>().ok());
        match number.filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.type_error("a whole number of at least 1")),
        }
    }

    /// `true` or `false`; false if the key is absent.
    pub fn flag(&self) -> Result<bool, DefinitionError> {
        match self.field.map(|field| field.value.scalar()) {
            None | Some(Some("false")) => Ok(false),
            Some(Some("true")) => Ok(true),
            Some(_) => Err(self.type_error("true or false")),
        }
    }

    /// One of these words, each with its value.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<Option<T>, DefinitionError> {
        let Some(field) = self.field else { return Ok(None) };
        let word = field.value.scalar().unwrap_or_default();
        match words.iter().find(|(name, _)| *name == word) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
                Err(self.type_error(&format!("one of: {}", names.join(", "))))
            }
        }
    }

    /// A list of names. `Read, Grep` and `[Read, Grep]` are the same.
    pub fn list(&self) -> Result<Option<Vec<String>>, DefinitionError> {
        let texts = match self.field.map(|field| &field.value) {
            None => return Ok(None),
            Some(FieldValue::Text(text)) => std::slice::from_ref(text),
            Some(FieldValue::List(texts)) => texts,
            Some(_) => return Err(self.type_error("a list of names, such as Read, Grep")),
        };
        let mut names = Vec::new();
        for text in texts {
            let more = crate::config::list::parse(text)
                .map_err(|why| self.error(format!("`{}`: {why}", self.name)))?;
            names.extend(more);
        }
        Ok(Some(names))
    }

    /// The entries of a table, each with its scalar; `example` is one entry.
    pub fn table(
        &self,
        example: &str,
    ) -> Result<Vec<(DefinitionKey<'a>, &'a str)>, DefinitionError> {
        let pairs = match self.field.map(|field| &field.value) {
            None => return Ok(Vec::new()),
            Some(FieldValue::Table(pairs)) => pairs,
            Some(_) => return Err(self.type_error(&format!("a table, such as {{ {example} }}"))),
        };
        let entry = |(name, field): &'a (String, Field)| {
            let key = DefinitionKey { source: self.source, name, field: Some(field) };
            let wrong = || {
                let path = format!("{}.{}", self.name, name.escape_debug());
                key.error(format!("`{path}` must be one value, such as {example}"))
            };
            field.value.scalar().map(|text| (key, text)).ok_or_else(wrong)
        };
        pairs.iter().map(entry).collect()
    }
}
