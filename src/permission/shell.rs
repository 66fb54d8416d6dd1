//! Parses a shell line with a real grammar, so that each command in it is judged on its own.
//!
//! The grammar and bash do not agree on everything. Anything the two might read differently makes
//! the whole line unclear, and an unclear line needs approval: node kinds are listed one by one,
//! and there may be only blanks between two nodes.

use super::program::base_name;
use std::ops::Range;

use tree_sitter::{Node, Parser};

use super::script::{Script, SimpleCommand, VariableValue, Word};
use super::wrapper;
use crate::protocol::BashVersion;
use grammar_spans::GrammarSpans;

pub(super) mod ansi_c;
mod assignment;
mod decision;
mod expansion;
mod grammar_spans;
mod heredoc;
mod input;
mod redirect;
mod substitution;
mod word;

pub use expansion::has_other_expansion;

/// Longer lines need approval and are not parsed.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum commands and redirections of a line, and of all texts that it runs as scripts: each is
/// looked up on the disk.
const MAX_COMMANDS: usize = 1000;
/// Deeper nesting needs approval.
const MAX_DEPTH: usize = 60;
/// Maximum bytes of the texts in one script that are run as scripts. A text may be in several of them.
const MAX_TEXTS: usize = 8 * 1024;
/// Maximum depth of scripts in arguments of scripts.
const MAX_NESTING: usize = 3;
/// Keywords of bash: as programs, the two readings differ.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "function", "in", "{", "}", "!", "[[", "]]",
];

/// Parses a line.
pub fn split(line: &str) -> Script {
    let mut script = split_nested(line, 0);
    let (writes, reads) = script.all_redirects();
    if script.all_commands().len() + writes.len() + reads.len() > MAX_COMMANDS {
        script.set_unread("the line has too many commands to check");
        script.nested.clear();
        script.commands.truncate(MAX_COMMANDS);
        script.writes.truncate(MAX_COMMANDS);
        script.reads.truncate(MAX_COMMANDS);
    }
    script
}

fn split_nested(line: &str, nesting: usize) -> Script {
    let mut script = Script::default();
    if line.len() > MAX_BYTES {
        script.set_unread("the command is too long to be judged");
        return script;
    }
    if line
        .chars()
        .any(|c| (c.is_control() || c.is_whitespace()) && !matches!(c, ' ' | '\t' | '\n'))
    {
        script.set_unread("the command has control characters or unusual blanks in it");
    }
    if line.contains(char::REPLACEMENT_CHARACTER) {
        script.set_unread("the command has a sign in it that stands for bytes that are no text");
    }
    let mut parser = Parser::new();
    let tree = match parser.set_language(&tree_sitter_bash::LANGUAGE.into()) {
        Ok(()) => parser.parse(line, None),
        Err(_) => None,
    };
    let Some(tree) = tree else {
        script.set_unread("the command cannot be parsed");
        return script;
    };
    if tree.root_node().has_error() {
        script.set_unread("the command has a syntax error, or syntax that is not understood");
    }
    let mut splitter = Splitter::new(line, script);
    splitter.visit(tree.root_node());
    splitter.check_substitutions(tree.root_node());
    let Splitter { mut script, documents, strings, .. } = splitter;
    let mut texts = Vec::new();
    let mut is_all = true;
    let evaluates = |command: &SimpleCommand| {
        let is_one = |words: &[Word]| {
            words.first().is_some_and(|word| wrapper::evaluates(base_name(&word.text)))
        };
        wrapper::possible_commands(command).into_iter().any(is_one)
    };
    if script.commands.iter().any(evaluates) {
        // The program may read one of these as its script.
        let documents = documents.into_iter().filter_map(|document| line.get(document));
        texts.extend(documents.map(str::to_owned).chain(strings));
    }
    let mut given = Vec::new();
    for command in &script.commands {
        let (found, all) = wrapper::script_texts(command);
        if !found.is_empty() {
            given.extend(command.arguments().iter().filter_map(assignment::given_value));
        }
        texts.extend(found);
        is_all &= all;
    }
    if line.contains("\\\n") {
        // Bash removes these before it splits words; the grammar takes them for blanks.
        texts.push(line.replace("\\\n", ""));
    }
    let mut room = MAX_TEXTS.max(line.len());
    let fits = |text: &String| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    let found = texts.len();
    texts.retain(fits);
    is_all &= texts.len() == found;
    // An unexamined text may contain any command.
    if !is_all || nesting >= MAX_NESTING && !texts.is_empty() {
        script.set_unread("the command runs too many texts as scripts to check");
    }
    if nesting < MAX_NESTING {
        script.nested = texts.iter().map(|text| split_nested(text, nesting + 1)).collect();
        if let Some(first) = script.nested.first_mut() {
            first.values.splice(..0, given);
        }
    }
    script
}

struct Splitter<'a> {
    line: &'a str,
    script: Script,
    depth: usize,
    /// Visited substitutions, and accepted arithmetic, which begins like one.
    substitutions: usize,
    /// Variables whose values the running time of the line may reveal.
    told: Vec<String>,
    /// Variables whose values decide what runs, or how often.
    decisive: Vec<String>,
    /// Where the parentheses of accepted arithmetic open. Byte offsets in the line.
    arithmetic: Vec<usize>,
    /// The number of substitutions around the visited node.
    within_substitutions: usize,
    /// The text of here-documents, judged separately. Byte ranges of the line.
    documents: Vec<Range<usize>>,
    /// Here-strings.
    strings: Vec<String>,
    in_loop: bool,
}

impl<'a> Splitter<'a> {
    fn new(line: &'a str, script: Script) -> Self {
        let documents = Vec::new();
        Self {
            line,
            script,
            depth: 0,
            substitutions: 0,
            told: Vec::new(),
            decisive: Vec::new(),
            arithmetic: Vec::new(),
            within_substitutions: 0,
            documents,
            strings: Vec::new(),
            in_loop: false,
        }
    }

    /// Compares the visited nodes with a reading of the raw text. The grammar has no node for some
    /// of the things that bash runs.
    fn check_substitutions(&mut self, root: Node<'_>) {
        self.documents.sort_by_key(|document| document.start);
        let raw = substitution::read(self.line, &self.documents);
        if raw.has_backquote {
            self.script.set_unread("the command has backquotes; use `$(…)` instead");
        }
        if raw.has_joint {
            self.script.set_unclear("the command has a line that ends within a word");
        }
        if !raw.doubles.iter().all(|double| self.arithmetic.contains(double)) {
            self.script.set_unclear("the command has `((` in it, which may begin arithmetic");
        }
        let is_literal = |name: &String| {
            let mut values =
                self.script.values.iter().filter(|value| value.name == *name).peekable();
            // Another one may have a value from outside, before the line or a part of it sets it.
            assignment::is_private(name)
                && values.peek().is_some_and(|first| !first.appends)
                && values.all(|it| it.word.literal)
        };
        // The running time reveals something about a value that is not in the line.
        self.script.tells_values |= !self.told.iter().all(is_literal);
        let is_glob = |value: &&VariableValue| value.word.text.contains(decision::GLOB_SIGNS);
        let names_files = self
            .script
            .values
            .iter()
            .filter(is_glob)
            .any(|value| self.decisive.contains(&value.name));
        self.script.decides_by_values |= names_files || !self.decisive.iter().all(is_literal);
        let seen = GrammarSpans::collect(root, self.line, &self.documents);
        if raw.has_brackets || !raw.dollars.iter().all(|at| seen.expansions.contains(at)) {
            self.script.set_unread("the command has an expansion that is not understood");
        }
        if raw.quotations != seen.quotations {
            self.script.set_unread("where a quotation in the command ends is unclear");
        }
        if raw.has_named_redirect {
            self.script.set_unclear("the command may have a redirection that sets a variable");
        }
        if raw.count != self.substitutions {
            self.script.set_unread("the command has a substitution that is not understood");
        }
    }

    /// Records that older versions of bash may end a substitution at a sign in this part of it.
    /// Before version 4 it ends at the first unquoted `)`, and up to 5.1 the shell does not parse
    /// the text it skips.
    fn note_version(&mut self, part: &str, needed: BashVersion) {
        let has_signs = || part.contains(['(', ')', '\'', '"', '`', '\\']);
        if self.within_substitutions > 0 && has_signs() {
            self.script.needs_bash = self.script.needs_bash.max(needed);
        }
    }

    /// Collects the effects of the node and those below it.
    fn visit(&mut self, node: Node<'_>) {
        if self.depth >= MAX_DEPTH {
            self.script.set_unread("the command is nested too deeply");
            return;
        }
        self.depth += 1;
        self.visit_kind(node);
        self.depth -= 1;
    }

    fn visit_kind(&mut self, node: Node<'_>) {
        self.script.repeats |= matches!(
            node.kind(),
            "while_statement"
                | "for_statement"
                | "c_style_for_statement"
                | "select_statement"
                | "function_definition"
        );
        match node.kind() {
            "pipeline" => self.pipeline(node),
            "program" | "list" | "subshell" | "compound_statement" | "do_group"
            | "if_statement" | "elif_clause" | "else_clause" | "negated_command" => {
                self.check_gaps(node);
                self.check_opening(node);
                self.visit_children(node);
            }
            "redirected_statement" => self.redirected(node),
            "command_substitution" | "process_substitution" => {
                self.substitutions += 1;
                self.within_substitutions += 1;
                // As a name it begins a statement for a shell that does not parse it.
                if self.text(node).contains("case") {
                    self.note_version(self.text(node), BashVersion::PARSES);
                }
                self.check_gaps(node);
                self.visit_children(node);
                self.within_substitutions -= 1;
            }
            "while_statement" => {
                self.script.set_unclear("the command has a loop that may never end");
                self.visit_children(node);
            }
            "command" => self.command(node),
            "file_redirect" => self.file_redirect(node),
            "heredoc_redirect" => self.heredoc(node),
            "herestring_redirect" => {
                self.check_gaps(node);
                for child in named_children(node) {
                    let word = self.word(child);
                    self.script.feeds_values |= !word.literal;
                    self.script.inputs.extend(input::here_string_words(&word));
                    self.strings.push(word.text);
                }
            }
            "variable_assignment" => self.own_assignment(node),
            "variable_assignments" => {
                self.check_gaps(node);
                self.visit_children(node);
            }
            "declaration_command" => self.declaration(node),
            "for_statement" => self.for_loop(node),
            "case_statement" => self.case(node),
            "test_command" => self.test(node),
            "comment" => self.comment(node),
            kind => {
                if node.is_named() {
                    let what = kind.replace('_', " ");
                    self.script.set_unclear(format!("its {what} is not understood"));
                    self.visit_children(node);
                }
            }
        }
    }

    /// Checks `!` and `{`, which are words of their own only before a blank.
    fn check_opening(&mut self, node: Node<'_>) {
        let text = self.text(node);
        let is_alone = |mark: char| {
            text.strip_prefix(mark).is_none_or(|rest| rest.starts_with([' ', '\t', '\n']))
        };
        match node.kind() {
            "compound_statement" if !is_alone('{') => {
                self.script.set_unread("whether a brace groups commands is unclear");
            }
            "negated_command" if !is_alone('!') => {
                self.script.set_unread("whether a `!` negates a command is unclear");
            }
            _ => {}
        }
    }

    /// Marks commands after the first one of a pipe, which read the output of those before them.
    fn pipeline(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        let mut first_fed = None;
        for child in children(node).filter(Node::is_named) {
            self.visit(child);
            first_fed.get_or_insert(self.script.commands.len());
        }
        let fed = self.script.commands.get_mut(first_fed.unwrap_or_default()..);
        fed.into_iter().flatten().for_each(|command| command.is_fed = true);
    }

    fn visit_children(&mut self, node: Node<'_>) {
        for child in children(node) {
            if child.is_named() {
                self.visit(child);
            }
        }
    }

    /// `NAME=value program argument… redirection…`.
    fn command(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        let mut command = SimpleCommand::default();
        let mut end = None;
        for child in children(node) {
            let is_separate = end != Some(child.start_byte());
            end = Some(child.end_byte());
            match child.kind() {
                "variable_assignment" => command.assignments.push(self.assignment(child)),
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" | "comment" => {
                    self.visit(child);
                }
                "subshell" => {
                    self.script.set_unread("the command has parentheses among its arguments");
                    self.visit(child);
                }
                _ => {
                    let word = match child.named_child(0) {
                        Some(name) if child.kind() == "command_name" => self.word(name),
                        _ => self.word(child),
                    };
                    match command.words.last_mut().filter(|_| !is_separate) {
                        // The grammar takes an escape after an expansion for another word.
                        Some(last) => last.join(&word),
                        None => command.words.push(word),
                    }
                }
            }
        }
        match command.words.first() {
            Some(name) if !name.literal || name.text.is_empty() => {
                self.script.set_unclear("which program runs is known only at run time");
            }
            Some(name) if RESERVED.contains(&name.raw.as_str()) => {
                self.script.set_unread("the command has syntax that is not understood");
            }
            Some(_) => {}
            None => self.script.set_unclear("the command has no program"),
        }
        let (starts, _) = wrapper::program_starts(&command.words);
        let mut started = starts.into_iter().filter_map(|start| command.words.get(start));
        if started.any(|word| !word.literal) {
            self.script.set_unclear("which program runs is known only at run time");
        }
        if assignment::sets_variables(&command) {
            self.script.set_unclear(format!("{} may set a variable", command.program()));
        }
        self.script.commands.push(command);
    }

    /// `for name in words; do …; done`, which ends after its words.
    fn for_loop(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        if self.in_loop || !self.text(node).starts_with("for") {
            self.script
                .set_unclear("the command has a loop in a loop, or one that waits for input");
        }
        let mut variable = "";
        let (mut is_known, mut runs) = (true, false);
        for child in named_children(node) {
            match child.kind() {
                "variable_name" => {
                    let name = self.text(child);
                    variable = name;
                    if !assignment::is_private(name) {
                        self.script.set_unclear(format!("the command sets {name}"));
                    }
                }
                "do_group" => {
                    let outer = std::mem::replace(&mut self.in_loop, true);
                    let before = self.script.commands.len();
                    self.visit(child);
                    runs = self.script.commands.len() > before;
                    self.in_loop = outer;
                }
                "comment" => self.visit(child),
                _ => {
                    let word = self.decisive_word(child);
                    self.note_count(&word);
                    self.script.feeds_values |= !word.literal;
                    is_known &= word.literal;
                    self.script.values.push(VariableValue {
                        name: variable.to_owned(),
                        word: word.clone(),
                        appends: false,
                        is_listed: true,
                    });
                    if word.raw.contains('{') {
                        self.script
                            .set_unclear("how often the loop runs is known only at run time");
                    }
                }
            }
        }
        if !is_known && !runs {
            self.script.set_unclear("the loop does no more than tell which files there are");
        }
    }

    /// `[ … ]` and `[[ … ]]`: free of effects only without expansions and arithmetic.
    fn test(&mut self, node: Node<'_>) {
        // For bash a line end ends the command, but the grammar reads on.
        let words: Vec<&str> =
            self.text(node).split([' ', '\t']).filter(|it| !it.is_empty()).collect();
        let words = match words.as_slice() {
            ["[", words @ .., "]"] | ["[[", words @ .., "]]"] => words,
            _ => &[],
        };
        let words = match words {
            ["!", rest @ ..] => rest,
            all => all,
        };
        let plain = |word: &str| {
            word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
        };
        let harmless = match words {
            [operator, operand] => {
                let (text, raw) = ((*operand).to_owned(), (*operand).to_owned());
                self.script.reads.push(Word { text, raw, literal: true });
                plain(operand)
                    && matches!(*operator, "-e" | "-f" | "-d" | "-s" | "-r" | "-w" | "-x" | "-L")
            }
            _ => false,
        };
        if !harmless {
            self.script.set_unclear("the command has a test in it that may run something");
            self.visit_children(node);
        }
    }

    fn comment(&mut self, node: Node<'_>) {
        self.note_version(self.text(node), BashVersion::PARSES);
        let before = self.line[..node.start_byte()].chars().next_back();
        if !before.is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | ')')) {
            self.script.set_unread("whether a part of the command is a comment is unclear");
        }
    }

    /// Checks that there are only blanks between neighbors of one node and at its ends, and that
    /// words do not touch: the grammar takes some words of bash for two.
    fn check_gaps(&mut self, node: Node<'_>) {
        let is_all = node.kind() == "program";
        let mut end = if is_all { 0 } else { node.start_byte() };
        let mut follows_word = false;
        for child in children(node) {
            let is_word = child.is_named() || child.kind() == "$";
            let touches = follows_word && is_word && end == child.start_byte();
            if touches && !child.kind().ends_with("_redirect") {
                self.script.set_unread("where one word ends and the next begins is unclear");
            }
            follows_word = is_word;
            self.check_gap(node, end, child.start_byte());
            end = child.end_byte();
        }
        self.check_gap(node, end, if is_all { self.line.len() } else { node.end_byte() });
    }

    /// Checks that there is nothing between the parts of one word.
    fn check_contiguous(&mut self, node: Node<'_>) {
        let mut end = node.start_byte();
        for child in children(node) {
            if child.start_byte() != end || child.kind() == "comment" {
                self.script.set_unread("where one word ends and the next begins is unclear");
            }
            end = child.end_byte();
        }
    }

    fn check_gap(&mut self, node: Node<'_>, start: usize, end: usize) {
        let gap = self.line.get(start..end).unwrap_or("?");
        // Within these, bash would end the command at a line end.
        let in_line = matches!(
            node.kind(),
            "command"
                | "declaration_command"
                | "file_redirect"
                | "herestring_redirect"
                | "negated_command"
                | "redirected_statement"
                | "variable_assignment"
                | "variable_assignments"
        );
        // Bash drops a backslash with its line end, which joins the words around it.
        let joined = gap.replace("\\\n", "");
        let blank = |c: char| matches!(c, ' ' | '\t') || c == '\n' && !in_line;
        if !joined.chars().all(blank) || gap.starts_with('\\') {
            self.script.set_unread("where one word ends and the next begins is unclear");
        }
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.line.get(node.byte_range()).unwrap_or_default()
    }
}

/// All children. A cursor visits them in linear time, unlike access by index.
fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> + use<'_> {
    node.children(&mut node.walk()).collect::<Vec<_>>().into_iter()
}

fn named_children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> + use<'_> {
    children(node).filter(Node::is_named)
}

#[cfg(test)]
mod tests;
