//! The words of `for` and `case`, which decide whether and how often a line's commands run.

use tree_sitter::Node;

use super::{Splitter, expansion, named_children};
use crate::permission::script::Word;
use crate::protocol::BashVersion;

/// The characters with which bash begins to search files. It reads no others, as nobody set `extglob`.
pub(super) const GLOB_SIGNS: [char; 3] = ['*', '?', '['];

impl Splitter<'_> {
    /// A word that decides what runs, or how often. That reveals the value of each variable in it.
    pub(super) fn decisive_word(&mut self, node: Node<'_>) -> Word {
        let word = self.word(node);
        let names_home = word.raw.starts_with('~');
        self.script.tells_values |= !word.literal && (names_home || has_variable(&word.raw));
        word
    }

    /// Notes what the number of words that bash makes of this one depends on: values, or which files
    /// there are in a folder.
    pub(super) fn note_count(&mut self, word: &Word) {
        if word.literal {
            return;
        }
        let raw = &*word.raw;
        // With other quotes, nothing counts as quoted.
        let open: String = match raw.contains(['\\', '\'']) {
            true => raw.to_owned(),
            false => raw.split('"').step_by(2).collect(),
        };
        let is_glob = open.contains(GLOB_SIGNS);
        if is_glob {
            self.note_folder(word);
        }
        if is_glob || has_variable(&open) {
            self.decisive.extend(expansion::variables(raw));
        }
    }

    /// Notes that the line tells which files there are in the folder that the glob searches.
    fn note_folder(&mut self, word: &Word) {
        let (folder, name) = word.text.rsplit_once('/').unwrap_or((".", &word.text));
        // A folder that a glob finds may be a link that leads elsewhere.
        let is_fixed = !folder.is_empty() && !folder.contains(GLOB_SIGNS);
        let is_plain = !word.raw.contains(['$', '`', '~', '\\']) && !name.is_empty();
        if !is_fixed || !is_plain || folder.contains("..") {
            self.script.decides_by_values = true;
            return;
        }
        let (text, raw) = (folder.to_owned(), folder.to_owned());
        self.script.reads.push(Word { text, raw, literal: true });
    }

    /// A word that `case` compares: its value decides which commands run.
    fn compared_word(&mut self, node: Node<'_>) {
        let word = self.decisive_word(node);
        self.script.decides_by_values |= !word.literal && word.raw.starts_with('~');
        self.decisive.extend(expansion::variables(&word.raw));
    }

    pub(super) fn case(&mut self, node: Node<'_>) {
        self.note_version(self.text(node), BashVersion::PARSES);
        self.check_gaps(node);
        for child in named_children(node) {
            if child.kind() != "case_item" {
                self.compared_word(child);
                continue;
            }
            self.check_gaps(child);
            let mut cursor = child.walk();
            let values: Vec<_> = child
                .children_by_field_name("value", &mut cursor)
                .map(|value| value.id())
                .collect();
            for part in named_children(child) {
                if values.contains(&part.id()) {
                    self.compared_word(part);
                } else {
                    self.visit(part);
                }
            }
        }
    }
}

fn has_variable(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| !text[at + 1..].starts_with('('))
}
