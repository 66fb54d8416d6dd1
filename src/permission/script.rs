//! A parsed shell command line: what it runs, reads and writes, as far as that is known in advance.

use crate::protocol::BashVersion;

impl Word {
    /// Appends the adjacent text.
    pub fn join(&mut self, rest: &Self) {
        self.text.push_str(&rest.text);
        self.raw.push_str(&rest.raw);
        self.literal = false;
    }
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text that the program gets, without quotes. Expansions are unexpanded.
    pub text: String,
    /// As written in the line.
    pub raw: String,
    /// Whether `text` is certain: it has no variable, glob, brace, tilde or substitution.
    pub literal: bool,
}

impl Word {
    /// A word whose text is certain.
    #[cfg(test)]
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), raw: text.to_owned(), literal: true }
    }

    /// Whether the word contains `$1`, `$@`, `$_` or the like: values that a line gives without an assignment.
    pub fn has_positional(&self) -> bool {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !self.literal
            && self.raw.match_indices('$').any(|(at, _)| {
                let before = &self.raw[..at];
                if (before.len() - before.trim_end_matches('\\').len()) % 2 == 1 {
                    return false;
                }
                let behind = &self.raw[at + 1..];
                let name =
                    behind.strip_prefix('{').unwrap_or(behind).trim_start_matches(['!', '#']);
                let is_underscore =
                    || name.strip_prefix('_').is_some_and(|it| !it.starts_with(is_letter));
                name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'))
                    || is_underscore()
            })
    }
}

/// `NAME=value` before a command or on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    /// It cannot change which programs run or what they do to files.
    pub harmless: bool,
}

/// A value that a variable gets in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableValue {
    pub name: String,
    pub word: Word,
    /// It is appended to the previous value, as with `+=`.
    pub appends: bool,
    /// It is a word of a loop, where bash expands globs.
    pub is_listed: bool,
}

/// One program (or builtin) with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    pub assignments: Vec<Assignment>,
    /// The first word is the program; never empty.
    pub words: Vec<Word>,
    /// Its input is the output of a preceding command.
    pub is_fed: bool,
}

impl SimpleCommand {
    /// The program's name as written.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.as_str())
    }

    /// The arguments.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// All effects of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command, wherever in the line it is.
    pub commands: Vec<SimpleCommand>,
    /// Files that redirections create or change.
    pub writes: Vec<Word>,
    /// Files that redirections and tests read, and folders in which a loop looks for names.
    pub reads: Vec<Word>,
    /// Whether the line passes a value known only at run time to a command, other than as an argument.
    pub feeds_values: bool,
    /// Whether the value of a variable, or a user's home, decides which commands run, how often, or
    /// how long: the line's effects reveal it.
    pub tells_values: bool,
    /// Whether which commands run, or how often, depends on a value that is not in the line, or on files
    /// that are not of the project: no rule for the single commands covers that.
    pub decides_by_values: bool,
    /// Why a part is not examined, or is read differently than bash may read it.
    pub unread: Option<String>,
    /// An older bash might end a substitution in the line elsewhere.
    pub needs_bash: BashVersion,
    /// Words outside of commands that a variable may carry into one: values, and the words of a loop.
    pub values: Vec<VariableValue>,
    /// Words of here-documents and here-strings, which commands read as input.
    pub inputs: Vec<Word>,
    /// Why the line cannot be judged command by command; then only a rule for the whole line allows it.
    pub unclear: Option<String>,
    /// Whether a part of the line may run more than once.
    pub repeats: bool,
    /// Texts that commands of this line run as scripts (`bash -c`, `eval`): only restrictions examine them.
    pub nested: Vec<Script>,
}

impl Script {
    /// Records why a part of the line is not examined, or may be misread: it may contain any command.
    pub fn set_unread(&mut self, why: &str) {
        self.unread.get_or_insert_with(|| why.to_owned());
        self.set_unclear(why);
    }

    /// Records why the line cannot be judged; the first reason stays.
    pub fn set_unclear(&mut self, why: impl Into<String>) {
        self.unclear.get_or_insert_with(|| why.into());
    }

    /// Whether the line has an input known only at run time, and no command for which that is looked at:
    /// bash itself reads it, and an error tells how long it is.
    pub fn is_fed_without_command(&self) -> bool {
        self.feeds_values && self.commands.is_empty()
    }

    /// Whether the line is one command and nothing else: no input, no redirection, no value for it.
    pub fn is_one_command(&self) -> bool {
        let Self { commands, writes, reads, inputs, values, nested, feeds_values, .. } = self;
        let rest = [writes, reads, inputs];
        commands.len() == 1
            && rest.into_iter().all(Vec::is_empty)
            && values.is_empty()
            && nested.is_empty()
            && !feeds_values
    }

    /// Every command here and in the nested scripts.
    pub fn all_commands(&self) -> Vec<&SimpleCommand> {
        let mut all: Vec<&SimpleCommand> = self.commands.iter().collect();
        for script in &self.nested {
            all.extend(script.all_commands());
        }
        all
    }

    /// Why a part is not examined, here or in the nested scripts.
    pub fn unread_anywhere(&self) -> Option<&str> {
        let own = self.unread.as_deref();
        own.or_else(|| self.nested.iter().find_map(Self::unread_anywhere))
    }

    /// Every value here and in the nested scripts.
    pub fn all_values(&self) -> Vec<&VariableValue> {
        let nested = self.nested.iter().flat_map(Self::all_values);
        self.values.iter().chain(nested).collect()
    }

    /// Every input word here and in the nested scripts.
    pub fn all_inputs(&self) -> Vec<&Word> {
        let nested = self.nested.iter().flat_map(Self::all_inputs);
        self.inputs.iter().chain(nested).collect()
    }

    /// Every redirection target here and in the nested scripts: first those written, then those read.
    pub fn all_redirects(&self) -> (Vec<&Word>, Vec<&Word>) {
        let (mut writes, mut reads): (Vec<_>, Vec<_>) =
            (self.writes.iter().collect(), self.reads.iter().collect());
        for script in &self.nested {
            let (more_writes, more_reads) = script.all_redirects();
            writes.extend(more_writes);
            reads.extend(more_reads);
        }
        (writes, reads)
    }

    /// Whether a part of the line, or of a nested script, may run more than once.
    pub fn repeats_anywhere(&self) -> bool {
        self.repeats || self.nested.iter().any(Self::repeats_anywhere)
    }
}

/// Whether `printf` sets a variable: with `-v`, or by `%n` in its format. Any word may be the format.
pub fn printf_sets(arguments: &[Word]) -> bool {
    let is_count = |text: &str| {
        text.replace("%%", "").split('%').skip(1).any(|conversion| {
            let between = |c: char| c.is_ascii_digit() || " #+-.'*hjlLqtzZ".contains(c);
            conversion.trim_start_matches(between).starts_with('n')
        })
    };
    arguments.iter().any(|word| word.text.starts_with("-v") || is_count(&word.text))
}
