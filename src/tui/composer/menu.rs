//! The menu that completes `/commands`, `@files` and `@agents` in the draft, and where it can open.

/// Maximum number of visible rows.
pub const MENU_ROWS: usize = 10;

/// The kind of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuKind {
    Command,
    Mention,
    /// A file in a `!` command, after Tab.
    Path,
}

/// The open menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    pub kind: MenuKind,
    /// Byte position of the character that opened it.
    pub start: usize,
    /// The text typed after that character.
    pub query: String,
    pub items: Vec<MenuItem>,
    /// Whether there may be more files than it has.
    pub has_more: bool,
    pub selected: usize,
}

/// One row of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuItem {
    /// The text that replaces the opening character and the query, without a space.
    pub insert: String,
    pub detail: String,
}

/// A place in the draft where completion is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub kind: MenuKind,
    pub start: usize,
    pub query: String,
}
