//! The reader: a whole transcript in one column over the body, with plain keys and search.

pub mod draw;
pub mod update;

use crate::protocol::AgentPath;
use crate::tui::composer::TextBuffer;
use crate::tui::keymap::{Action, KeyContext, Keymap};
use crate::tui::transcript::{ItemId, Scroll, SearchDirection, SearchHit};

/// A whole transcript in one column, with plain keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Reader {
    pub path: AgentPath,
    pub scroll: Scroll,
    /// The search text while it is being typed.
    pub typing: Option<TextBuffer>,
    pub query: String,
    /// The item that a key jumped to; reset by scrolling.
    pub at: Option<ItemId>,
    /// Direction of a pending search, until a frame has performed it.
    pub seek: Option<SearchDirection>,
    /// The current match of the search; reset by scrolling.
    pub hit: Option<SearchHit>,
}

impl Reader {
    /// Hints for the keys, most important first.
    pub fn hint(&self, keymap: &Keymap) -> Vec<String> {
        if self.typing.is_some() {
            let searches = keymap.hint(KeyContext::Prompt, Action::Submit, "searches");
            return searches.into_iter().chain(["Esc closes".to_owned()]).collect();
        }
        let hint = |action, words| keymap.hint(KeyContext::Reader, action, words);
        let labels = |actions: &[Action]| keymap.labels(KeyContext::Reader, actions);
        let moves: Vec<String> = [
            [Action::Down, Action::Up],
            [Action::PageDown, Action::PageUp],
            [Action::Home, Action::End],
        ]
        .iter()
        .filter_map(|pair| labels(pair))
        .collect();
        let finds = labels(&[Action::FindNext, Action::FindPrevious]);
        let search = hint(Action::Search, "search");
        let search = search.into_iter().chain(finds).collect::<Vec<_>>().join(", ");
        let marks = labels(&[Action::MarkPrevious, Action::MarkNext]);
        let pieces = [
            Some(moves.join(", ")).filter(|words| !words.is_empty()),
            Some(search).filter(|words| !words.is_empty()),
            Some("Esc back".to_owned()),
            marks.map(|keys| {
                format!("{keys} {}", if self.path.is_root() { "prompts" } else { "calls" })
            }),
            hint(Action::Expand, "fold"),
            hint(Action::Copy, "copy"),
            hint(Action::Next, "next agent"),
        ];
        pieces.into_iter().flatten().collect()
    }
}
