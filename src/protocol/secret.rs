//! The types of keys, and of configuration that may hold some. Neither shows its value in debug
//! output; a key cannot be displayed or serialized either.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MASK: &str = "***";

/// A key or token for a provider, never empty. Debug output is `***`, and only
/// [`expose`](Self::expose) returns the key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Wraps a key without surrounding white space; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Masks every occurrence of the key in `text`: servers often quote what they reject.
    pub fn scrub(&self, text: &str) -> String {
        text.replace(&*self.0, MASK)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A value from the configuration that may hold a key, such as the variables of a program. Debug
/// output is `***`; otherwise it is used like the value.
#[derive(
    Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Secret<T>(T);

impl<T> Deref for Secret<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<A, T: FromIterator<A>> FromIterator<A> for Secret<T> {
    fn from_iter<I: IntoIterator<Item = A>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows_itself() {
        let key = ApiKey::new(" sk-one-two\n").unwrap();
        assert_eq!(format!("{key:?}"), "***");
        assert_eq!(key.expose(), "sk-one-two");
        assert_eq!(key.scrub("bad key sk-one-two!"), "bad key ***!");
        assert_eq!(ApiKey::new(" \n"), None);
        assert_eq!(format!("{:?}", Secret::from("sk-one-two".to_owned())), "***");
    }
}
