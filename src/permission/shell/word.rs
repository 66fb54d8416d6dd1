//! Words: what a program will get, and whether that is certain.

use tree_sitter::Node;

use super::{Splitter, ansi_c, children, expansion, named_children};
use crate::permission::script::Word;

impl Splitter<'_> {
    /// Decodes a word, and visits the commands inside it.
    pub(super) fn word(&mut self, node: Node<'_>) -> Word {
        let raw = self.text(node).to_owned();
        let (text, literal) = match node.kind() {
            "word" | "number" | "extglob_pattern" | "regex" if node.child_count() == 0 => {
                self.unquoted(&raw)
            }
            "raw_string" => match raw.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
                Some(inner) if !inner.contains('\'') => (inner.to_owned(), true),
                _ => self.odd_word(&raw),
            },
            "string" => self.string(node, &raw),
            "concatenation" => self.concatenation(node, &raw),
            "ansi_c_string" => match ansi_c::decode(&raw) {
                Some(text) => (text, false),
                None => {
                    self.script.set_unread("a quotation in the command is not understood");
                    (raw.clone(), false)
                }
            },
            "simple_expansion" => {
                self.check_contiguous(node);
                (raw.clone(), false)
            }
            "expansion" => {
                self.expansion(node, &raw);
                (raw.clone(), false)
            }
            "arithmetic_expansion" => {
                self.arithmetic(node, &raw);
                (raw.clone(), false)
            }
            "command_substitution" | "process_substitution" => {
                self.visit(node);
                (raw.clone(), false)
            }
            "brace_expression" => {
                self.parts(node);
                (raw.clone(), false)
            }
            _ if !node.is_named() && matches!(raw.as_str(), "==" | "=~" | "$") => {
                (raw.clone(), true)
            }
            _ => {
                self.parts(node);
                self.odd_word(&raw)
            }
        };
        Word { text, raw, literal }
    }

    /// Visits every command inside, at any depth.
    pub(super) fn parts(&mut self, node: Node<'_>) {
        if self.depth >= super::MAX_DEPTH {
            self.script.set_unread("the command is nested too deeply");
            return;
        }
        self.depth += 1;
        for child in named_children(node) {
            match child.kind() {
                "command_substitution" | "process_substitution" => self.visit(child),
                "expansion" => {
                    let raw = self.text(child).to_owned();
                    self.expansion(child, &raw);
                }
                "arithmetic_expansion" | "simple_expansion" => {
                    self.word(child);
                }
                _ => self.parts(child),
            }
        }
        self.depth -= 1;
    }

    fn expansion(&mut self, node: Node<'_>, raw: &str) {
        self.parts(node);
        if !expansion::is_plain(raw) {
            let why = "the command has an expansion other than `$name`, `${name}` and `${#name}`";
            self.script.set_unclear(why);
        }
    }

    fn arithmetic(&mut self, node: Node<'_>, raw: &str) {
        self.parts(node);
        // It begins like a substitution.
        self.substitutions += 1;
        match expansion::is_plain_arithmetic(raw) {
            // After the `$`.
            true => self.arithmetic.push(node.start_byte() + 1),
            false => self.script.set_unclear("the command has arithmetic in it"),
        }
    }

    fn unquoted(&mut self, raw: &str) -> (String, bool) {
        let mut text = String::new();
        let mut literal = !raw.starts_with('~');
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(escaped) => text.push(escaped),
                    None => return self.odd_word(raw),
                },
                '\'' | '"' | '`' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | ' ' | '\t' | '\n' => {
                    return self.odd_word(raw);
                }
                _ => {
                    // A tilde after `=` or `:` may expand as well.
                    literal &= !matches!(c, '$' | '*' | '?' | '[' | '{' | '}');
                    literal &= !(c == '~' && text.ends_with(['=', ':']));
                    text.push(c);
                }
            }
        }
        (text, literal)
    }

    fn string(&mut self, node: Node<'_>, raw: &str) -> (String, bool) {
        self.parts(node);
        let Some(inner) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return self.odd_word(raw);
        };
        if raw.len() < 2 {
            return self.odd_word(raw);
        }
        let mut literal = !named_children(node).any(|child| child.kind() != "string_content");
        let mut text = String::new();
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => text.push(c),
                    Some(other) => text.extend(['\\', other]),
                    None => return self.odd_word(raw),
                },
                '"' if literal => return self.odd_word(raw),
                '`' | '$' => {
                    literal = false;
                    text.push(c);
                }
                _ => text.push(c),
            }
        }
        (text, literal)
    }

    fn concatenation(&mut self, node: Node<'_>, raw: &str) -> (String, bool) {
        self.check_contiguous(node);
        let mut text = String::new();
        let mut literal = true;
        for child in children(node) {
            let part = self.word(child);
            // Bash takes a dollar before a quote for part of the quotation.
            if part.raw.ends_with('$') && child.end_byte() < node.end_byte() {
                self.script.set_unread("where a quotation begins is unclear");
            }
            text.push_str(&part.text);
            literal &= part.literal;
        }
        // `{}` is no brace expansion, and find and xargs need it.
        literal |= raw == "{}";
        (text, literal)
    }

    fn odd_word(&mut self, raw: &str) -> (String, bool) {
        self.script.set_unread("where one word ends and the next begins is unclear");
        (raw.to_owned(), false)
    }
}
