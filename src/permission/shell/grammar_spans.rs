//! The quotations and expansions that the grammar finds, for comparison with the raw text.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node;

/// Quotations and expansions as the grammar finds them. Byte offsets.
#[derive(Default)]
pub struct GrammarSpans {
    /// Where expansions begin.
    pub expansions: HashSet<usize>,
    /// Quoted text and comments.
    pub quotations: HashSet<Range<usize>>,
}

impl GrammarSpans {
    /// Collects from all nodes outside of the documents.
    pub fn collect(root: Node<'_>, line: &str, documents: &[Range<usize>]) -> Self {
        let mut seen = Self::default();
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            if !documents.iter().any(|document| document.contains(&node.start_byte())) {
                seen.add(node, line);
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return seen;
                }
            }
        }
    }

    fn add(&mut self, node: Node<'_>, line: &str) {
        match node.kind() {
            "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                // In a string, the grammar includes the blanks before it.
                let text = &line[node.byte_range()];
                let blanks = text.len() - text.trim_start_matches([' ', '\t', '\n']).len();
                self.expansions.insert(node.start_byte() + blanks);
            }
            "string" | "raw_string" | "ansi_c_string" | "comment" => {
                self.quotations.insert(node.byte_range());
            }
            // A quoted delimiter of a document.
            "heredoc_start" if line[node.byte_range()].starts_with(['\'', '"']) => {
                self.quotations.insert(node.byte_range());
            }
            _ => {}
        }
    }
}
