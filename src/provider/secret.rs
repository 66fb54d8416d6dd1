//! Keys, wrapped so that no message, log or debug output can hold one.

use std::fmt;
use std::sync::Arc;

const MASK: &str = "***";

/// A key or token. Printing it gives `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Arc<str>);

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

impl fmt::Debug for Secret {
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
