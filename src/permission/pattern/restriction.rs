//! The outcome of comparing a deny or ask rule with a call.

/// The outcome of comparing a deny or ask rule with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restriction {
    No,
    /// It may apply, and why that is uncertain.
    Maybe(String),
    Yes,
}

impl Restriction {
    /// Converts a certain outcome.
    pub fn certain(meant: bool) -> Self {
        if meant { Self::Yes } else { Self::No }
    }

    /// The strongest outcome; of equals the first.
    pub fn strongest(all: impl IntoIterator<Item = Self>) -> Self {
        let mut strongest = Self::No;
        for one in all {
            match one {
                Self::Yes => return one,
                Self::Maybe(_) if strongest == Self::No => strongest = one,
                _ => {}
            }
        }
        strongest
    }
}
