//! What decides which commands of a line run, and how often: the words of `for` and `case`.

use tree_sitter::Node;

use super::{Splitter, expansion, named_children};
use crate::permission::script::Word;
use crate::protocol::BashVersion;

impl Splitter<'_> {
    /// A word that decides what runs, or how often. That reveals the value of each variable in it.
    pub(super) fn decisive_word(&mut self, node: Node<'_>) -> Word {
        let word = self.word(node);
        let names_home = word.raw.starts_with('~');
        self.script.tells_values |= !word.literal && (names_home || has_variable(&word.raw));
        word
    }

    /// Notes what the number of words that bash makes of this one depends on: values, or files that are
    /// not of the project.
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
        let is_glob = open.contains(['*', '?', '[']);
        if is_glob || has_variable(&open) {
            self.decisive.extend(expansion::variables(raw));
        }
        let is_elsewhere = raw.starts_with(['/', '~']) || raw.contains("..");
        self.script.decides_by_values |= is_glob && is_elsewhere;
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
