//! Masks keys in text that leaves the process: to the user, the log, a model or a transcript.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde_json::Value;

/// Minimum length: masking shorter values would mask ordinary words.
const MIN_VALUE_LEN: usize = 8;

/// The same for text that a model works with. A placeholder such as `not-needed` appears in sources
/// and documents too, and a model that reads a mask there cannot edit the line.
const MIN_KEY_LEN: usize = 12;

const MASK: &str = "***";

/// The keys of a process. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<RedactedValues>>);

/// Both lists have the longest value first: a key may contain another one, whose rest would stay.
#[derive(Default)]
struct RedactedValues {
    /// Keys, and values that may be keys.
    all: Vec<String>,
    /// Certain keys.
    keys: Vec<String>,
}

impl Redactor {
    /// Adds a key. Ignores blank and very short ones.
    pub fn add(&self, key: &str) {
        let key = key.trim();
        let mut values = self.0.write();
        insert(&mut values.all, key, MIN_VALUE_LEN);
        insert(&mut values.keys, key, MIN_KEY_LEN);
    }

    /// Adds a value that may be a key or an ordinary word: only [`Redactor::mask`] masks it.
    pub fn suspect(&self, value: &str) {
        let mut values = self.0.write();
        insert(&mut values.all, value.trim(), MIN_VALUE_LEN);
    }

    /// Masks keys and suspected keys, for the user and the log. Returns text without any unchanged.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        masked(text, &self.0.read().all)
    }

    /// Masks only certain keys, for models and transcripts. Returns text without any unchanged.
    pub fn mask_keys<'a>(&self, text: &'a str) -> Cow<'a, str> {
        masked(text, &self.0.read().keys)
    }

    /// Masks certain keys in all texts of a JSON value, field names included. Returns a value
    /// without any unchanged.
    pub fn mask_json<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        let values = self.0.read();
        if !holds(value, &values.keys) {
            return Cow::Borrowed(value);
        }
        Cow::Owned(masked_json(value, &values.keys))
    }

    /// Masks certain keys in an owned text.
    pub fn without_keys(&self, text: String) -> String {
        if let Cow::Owned(masked) = self.mask_keys(&text) {
            return masked;
        }
        text
    }

    /// Creates a mask for text that arrives in pieces.
    pub fn stream(&self) -> MaskedStream {
        MaskedStream { redactor: self.clone(), held: Arc::default() }
    }
}

/// Masks keys in text that arrives in pieces, even a key split between two of them. Clones share the stream.
#[derive(Clone, Debug, Default)]
pub struct MaskedStream {
    redactor: Redactor,
    /// The end of the last piece, if a key may begin there.
    held: Arc<Mutex<String>>,
}

impl MaskedStream {
    /// Returns the text that can be shown now. Holds back text that may be the beginning of a key
    /// until the next piece.
    pub fn push(&self, piece: String) -> String {
        let mut held = self.held.lock();
        let text = if held.is_empty() { piece } else { std::mem::take(&mut *held) + &piece };
        let mut text = self.redactor.without_keys(text);
        let values = self.redactor.0.read();
        let open = values.keys.iter().map(|key| overlap(&text, key)).max().unwrap_or(0);
        *held = text.split_off(text.len() - open);
        text
    }
}

fn insert(values: &mut Vec<String>, value: &str, shortest: usize) {
    if value.len() >= shortest && !values.iter().any(|known| known == value) {
        let at = values.partition_point(|known| known.len() >= value.len());
        values.insert(at, value.to_owned());
    }
}

fn masked<'a>(text: &'a str, values: &[String]) -> Cow<'a, str> {
    let mut masked = Cow::Borrowed(text);
    for value in values.iter().filter(|value| text.contains(value.as_str())) {
        masked = Cow::Owned(masked.replace(value.as_str(), MASK));
    }
    masked
}

/// Whether a text in the value holds one of `keys`.
fn holds(value: &Value, keys: &[String]) -> bool {
    let text_holds = |text: &str| keys.iter().any(|key| text.contains(key.as_str()));
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text_holds(text),
        Value::Array(all) => all.iter().any(|value| holds(value, keys)),
        Value::Object(all) => {
            all.iter().any(|(name, value)| text_holds(name) || holds(value, keys))
        }
    }
}

fn masked_json(value: &Value, keys: &[String]) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => masked(text, keys).into(),
        Value::Array(all) => all.iter().map(|value| masked_json(value, keys)).collect(),
        Value::Object(all) => {
            let field = |(name, value)| (masked(name, keys).into_owned(), masked_json(value, keys));
            all.iter().map(|(name, value): (&String, _)| field((name.as_str(), value))).collect()
        }
    }
}

/// Returns how many bytes at the end of `text` are the beginning of `key`, but not all of it.
fn overlap(text: &str, key: &str) -> usize {
    let longest = text.len().min(key.len().saturating_sub(1));
    let begins = |len: &usize| text.as_bytes().ends_with(&key.as_bytes()[..*len]);
    // A key must not be cut inside a character.
    (1..=longest).rev().find(|len| key.is_char_boundary(*len) && begins(len)).unwrap_or(0)
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_masked_and_everything_else_is_left_alone() {
        let redactor = Redactor::default();
        redactor.add("sk-secret-1\n");
        redactor.add("short");
        assert_eq!(redactor.mask("a sk-secret-1 b short"), "a *** b short");
        redactor.add("Bearer sk-secret-1-and-more");
        assert_eq!(redactor.mask("a Bearer sk-secret-1-and-more b sk-secret-1"), "a *** b ***");
        assert!(matches!(redactor.mask("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_model_reads_is_masked_for_certain_and_long_keys_alone() {
        let redactor = Redactor::default();
        redactor.add("sk-0123456789");
        redactor.add("not-needed");
        redactor.suspect("/srv/the/project");
        let text = "sk-0123456789 not-needed /srv/the/project";
        assert_eq!(redactor.mask_keys(text), "*** not-needed /srv/the/project");
        assert_eq!(redactor.mask(text), "*** *** ***");
        assert!(matches!(redactor.mask_keys("not-needed"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_json_value_is_masked_in_all_its_texts_and_borrowed_where_there_is_no_key() {
        let redactor = Redactor::default();
        redactor.add("sk-01234\"6789");
        redactor.add("123456789012");
        let value = json!({"a sk-01234\"6789": [{"b": "x sk-01234\"6789"}, 123_456_789_012_u64]});
        let masked = json!({"a ***": [{"b": "x ***"}, 123_456_789_012_u64]});
        assert_eq!(*redactor.mask_json(&value), masked);
        assert!(matches!(redactor.mask_json(&masked), Cow::Borrowed(_)));
    }

    #[test]
    fn a_key_in_pieces_is_masked_wherever_it_is_cut() {
        let redactor = Redactor::default();
        let key = "sk-sk-schlüssel-0123";
        redactor.add(key);
        let text = format!("a s {key} sk- {key}{key}!\n");
        for size in 1..text.len() {
            let stream = redactor.stream();
            let mut shown = String::new();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                shown += &stream.push(piece.to_owned());
                rest = behind;
            }
            assert_eq!(shown, "a s *** sk- ******!\n", "in pieces of {size}");
        }
    }

    #[test]
    fn a_piece_that_begins_no_key_is_not_held_back() {
        let redactor = Redactor::default();
        assert_eq!(redactor.stream().push("sk-".to_owned()), "sk-", "there are no keys");
        redactor.add("sk-0123456789");
        assert_eq!(redactor.stream().push("ask\n".to_owned()), "ask\n");
        assert_eq!(redactor.stream().push("ask-0".to_owned()), "a");
    }
}
