//! The identity of a draft.

/// One draft: another one has other images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DraftId(u64);

impl DraftId {
    /// The draft after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
