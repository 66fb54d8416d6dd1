//! The menu that completes `/commands`, `@files` and `@agents` in the draft.

use super::Composer;

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

impl Composer {
    /// The completion possible at the cursor, if any.
    pub fn trigger(&self) -> Option<Trigger> {
        let head = &self.buffer.text()[..self.buffer.cursor()];
        if head.starts_with('/')
            && !head[1..].contains(|letter: char| letter.is_whitespace() || letter == '/')
        {
            let query = head[1..].to_owned();
            return Some(Trigger { kind: MenuKind::Command, start: 0, query });
        }
        let start = head
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + head[blank..].chars().next().map_or(1, char::len_utf8));
        if head.starts_with('!') {
            let start = start.max(1);
            let query = head[start..].to_owned();
            let asked = self.completing == Some(start);
            return asked.then_some(Trigger { kind: MenuKind::Path, start, query });
        }
        let word = &head[start..];
        let query = word.strip_prefix('@')?.to_owned();
        Some(Trigger { kind: MenuKind::Mention, start, query })
    }

    /// Starts completing the word at the cursor in a `!` command. Returns false when there is none.
    pub fn complete_path(&mut self) -> bool {
        let head = &self.buffer.text()[..self.buffer.cursor()];
        let word = head.rsplit(char::is_whitespace).next().unwrap_or_default();
        if !head.starts_with('!') || word.trim_start_matches('!').is_empty() {
            return false;
        }
        self.completing = Some((head.len() - word.len()).max(1));
        true
    }

    /// Replaces the opening character and the query with the selected row, and closes the menu.
    pub fn take_menu_item(&mut self) -> Option<MenuItem> {
        let menu = self.menu.take()?;
        let item = menu.items.get(menu.selected)?.clone();
        // The cursor has left the word.
        if menu.start > self.buffer.cursor() {
            return None;
        }
        self.buffer.replace_before(menu.start, &format!("{} ", item.insert));
        self.dismissed = None;
        Some(item)
    }

    /// Moves the selection in the menu, wrapping around.
    pub fn move_menu(&mut self, down: bool) {
        let Some(menu) = &mut self.menu else { return };
        let count = menu.items.len().max(1);
        menu.selected = if down { menu.selected + 1 } else { menu.selected + count - 1 } % count;
    }

    /// Closes the menu until something else can be completed.
    pub fn dismiss_menu(&mut self) {
        if let Some(menu) = self.menu.take() {
            self.dismissed = Some(menu.start);
        }
    }
}
