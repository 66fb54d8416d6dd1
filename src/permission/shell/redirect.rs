//! Redirections: files that a line itself reads and writes.

use tree_sitter::Node;

use super::{Splitter, children, heredoc, input, named_children};
use crate::permission::script::Word;
use crate::protocol::BashVersion;

impl Splitter<'_> {
    /// A statement with its redirections. The grammar drops a lone `-` before a here-document.
    pub(super) fn redirected(&mut self, node: Node<'_>) {
        let mut end = node.start_byte();
        for child in children(node) {
            let gap = self.line.get(end..child.start_byte()).unwrap_or_default();
            let is_dash = gap.starts_with([' ', '\t']) && gap.trim_matches([' ', '\t']) == "-";
            match self.script.commands.last_mut() {
                Some(command) if is_dash && child.kind() == "heredoc_redirect" => {
                    let dash = || "-".to_owned();
                    command.words.push(Word { text: dash(), raw: dash(), literal: true });
                }
                _ => self.check_gap(node, end, child.start_byte()),
            }
            if child.is_named() {
                self.visit(child);
            }
            end = child.end_byte();
        }
        self.check_gap(node, end, node.end_byte());
    }

    pub(super) fn file_redirect(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        let operator = children(node).find(|child| !child.is_named());
        let operator = operator.map_or("", |child| self.text(child));
        let mut words = Vec::new();
        let mut is_input = true;
        for child in named_children(node) {
            if child.kind() != "file_descriptor" {
                words.push(self.word(child));
                continue;
            }
            is_input = self.text(child) == "0";
            if !is_standard_stream(self.text(child)) {
                // For bash a name is a word of the command, and another number may be one of our pipes.
                self.script.set_unclear("the command has a redirection that is not understood");
            }
        }
        let [target] = words.as_slice() else {
            // `> a b` writes to `a` and passes `b` to the program.
            if !matches!(operator, "<&-" | ">&-") || !words.is_empty() {
                self.script.set_unread("the command has words after a redirection");
            }
            // It is unclear which one is the file: count each as read and written.
            self.script.reads.extend(words.iter().cloned());
            self.script.writes.extend(words);
            return;
        };
        if matches!(operator, ">&" | "<&") {
            if target.text == "0" {
                // A file that is open for reading becomes an output, see below.
                self.script.set_unread("the command writes to its input");
            }
            let is_descriptor = target.text == "-" || is_standard_stream(&target.text);
            if !(target.literal && target.raw == target.text && is_descriptor) {
                // Bash removes quotes twice here, and accepts a stream number instead of a file. Which
                // file another number stands for is not followed.
                self.script.set_unread("the command has a redirection that is not understood");
                self.script.writes.push(target.clone());
            }
            return;
        }
        match (target.text.as_str(), operator) {
            ("/dev/stdout" | "/dev/stderr", "<") => {
                // A file that is open for writing becomes an input.
                self.script.set_unread("the command reads from an output");
                return;
            }
            ("/dev/null" | "/dev/stdout" | "/dev/stderr", _) => return,
            _ => {}
        }
        if !target.literal {
            let why = format!("the file of a redirection, {}, is not spelled out", target.raw);
            self.script.set_unclear(why);
        }
        if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            self.script.set_unclear("the command opens a network connection");
        }
        match operator {
            "<" => {
                self.script.reads.push(target.clone());
                // `/dev/stdout` and `/dev/stderr` open the file of an output again, for writing.
                if !is_input {
                    self.script.writes.push(target.clone());
                }
            }
            ">" | ">>" | "&>" | "&>>" | ">|" => self.script.writes.push(target.clone()),
            _ => {
                self.script.set_unclear("the command has a redirection that is not understood");
                self.script.reads.push(target.clone());
                self.script.writes.push(target.clone());
            }
        }
    }

    pub(super) fn heredoc(&mut self, node: Node<'_>) {
        let part = |kind: &str| named_children(node).find(|child| child.kind() == kind);
        let delimiter = part("heredoc_start").map_or("", |start| self.text(start));
        let is_expanded = !delimiter.contains(['\'', '"', '\\']);
        let body = self.text(part("heredoc_body").unwrap_or(node));
        self.script.inputs.extend(input::heredoc_words(body, is_expanded));
        self.note_version(body, BashVersion::SKIPS_DOCUMENTS);
        match heredoc::document(node, self.line) {
            Some(document) => {
                let text = self.line.get(document.clone()).unwrap_or_default();
                let is_quoted =
                    self.text(node).trim_start_matches(['<', '-']).starts_with(['\'', '"']);
                self.script.feeds_values |= !is_quoted && text.contains('$');
                self.documents.push(document);
            }
            None => {
                self.script.set_unclear("the command has a here-document that is not understood");
            }
        }
        for child in named_children(node) {
            match child.kind() {
                "heredoc_start" | "heredoc_end" | "heredoc_content" | "file_descriptor" => {}
                "heredoc_body" => self.parts(child),
                _ => self.visit(child),
            }
        }
    }
}

/// Whether the text is the number of standard input, output or error.
fn is_standard_stream(text: &str) -> bool {
    matches!(text, "0" | "1" | "2")
}
