//! Masks keys in what is written for people or for the log.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A shorter value is no key, and masking it would mask ordinary words.
const SHORTEST_KEY: usize = 8;

const MASK: &str = "***";

/// The keys of a process. Clones know the same keys.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Vec<String>>>);

impl Redactor {
    /// Takes a key in. Blank and very short ones are left out.
    pub fn add(&self, key: &str) {
        let key = key.trim();
        if key.len() < SHORTEST_KEY {
            return;
        }
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !keys.iter().any(|known| known == key) {
            // A key may hold another one: the longer is masked first, or its rest would stay.
            let at = keys.partition_point(|known| known.len() >= key.len());
            keys.insert(at, key.to_owned());
        }
    }

    /// The text without keys; untouched, and not copied, when there are none in it.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut masked = Cow::Borrowed(text);
        for key in keys.iter().filter(|key| text.contains(key.as_str())) {
            masked = Cow::Owned(masked.replace(key.as_str(), MASK));
        }
        masked
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

#[cfg(test)]
mod tests {
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
}
