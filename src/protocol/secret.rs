//! Wraps keys, and what may hold keys, so that no message, log or debug output can show one.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MASK: &str = "***";

/// A key or token, or a value that may hold one, such as the variables of a program. Debug output
/// is `***`.
#[derive(
    Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Secret<T = Arc<str>>(T);

impl Secret {
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
    fn a_secret_never_shows_itself() {
        let secret = Secret::new(" sk-one-two\n").unwrap();
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(secret.expose(), "sk-one-two");
        assert_eq!(secret.scrub("bad key sk-one-two!"), "bad key ***!");
        assert_eq!(Secret::new(" \n"), None);
    }
}
