//! Why a conversation is compacted.

/// Why a conversation is compacted.
pub enum CompactTrigger<'a> {
    /// The user asks for it, and may say what the summary must keep.
    Manual(Option<&'a str>),
    /// There is little room left.
    NearlyFull,
    /// The provider rejected it as too long.
    Refused,
}
