//! Words that a compiler passes on to the preprocessor, the assembler, the linker or one of its own stages.

use super::word::CompilerWord;
use crate::permission::spelling::Spelling;

/// Prefixes of a word with a list of such words, and options before a single one.
const LISTS: &[&str] = &["-Wl,", "-Wa,", "-Wp,"];
const SINGLE: &[&str] = &["-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm"];

/// Options that write a file named by the next word, wherever that is.
const OUTPUTS: &[&str] = &[
    "-Map",
    "-MD",
    "-MF",
    "-MMD",
    "-dependency-file",
    "-o",
    "-out-implib",
    "-output",
    "-plugin-save-temps",
    "-reproduce",
];

/// Options, with one dash, that only read or mention what they name, and those that precede an input.
const READ: &[&str] = &[
    "-Bdynamic",
    "-Bstatic",
    "-I",
    "-L",
    "-R",
    "-T",
    "-as-needed",
    "-copy-dt-needed-entries",
    "-default-script",
    "-defsym",
    "-dynamic-linker",
    "-dynamic-list",
    "-end-group",
    "-force_load",
    "-framework",
    "-gc-sections",
    "-h",
    "-just-symbols",
    "-no-as-needed",
    "-no-whole-archive",
    "-rpath",
    "-rpath-link",
    "-script",
    "-soname",
    "-start-group",
    "-sysroot",
    "-u",
    "-version-script",
    "-whole-archive",
    "-wrap",
    "-z",
];

/// Letters with a joined value that is only read.
const READ_LETTERS: &[&str] = &["-I", "-L", "-R", "-T", "-l", "-D", "-U"];

impl CompilerWord<'_> {
    /// The danger in a word that is passed on; `None` if the word is not passed on.
    pub(super) fn passed_through(&self, text: &str) -> Option<Option<String>> {
        if let Some(list) = listed(text) {
            let mut before = self.last_passed_through(self.before.len());
            let mut found = None;
            let mut words = list.split(',').peekable();
            while let Some(word) = words.next() {
                let is_last = words.peek().is_none();
                found = found.or_else(|| self.part(word, before.as_deref(), is_last));
                before = Some(word.to_owned());
            }
            return Some(found);
        }
        if SINGLE.contains(&self.previous()) {
            let before = self.last_passed_through(self.before.len() - 1);
            return Some(self.part(text, before.as_deref(), false));
        }
        None
    }

    /// The last word that was passed on before this position.
    fn last_passed_through(&self, end: usize) -> Option<String> {
        let places = (1..end).rev();
        let text = |place: usize| self.before.get(place).map(Spelling::outline);
        places.into_iter().find_map(|place| {
            let word = text(place)?;
            match listed(&word) {
                Some(list) => list.rsplit(',').next().map(str::to_owned),
                None => SINGLE.contains(&text(place - 1)?.as_str()).then_some(word),
            }
        })
    }

    /// The danger in one word, preceded by `before`. An option at the end of a list may have its
    /// value in any later word.
    fn part(&self, word: &str, before: Option<&str>, is_last: bool) -> Option<String> {
        if let Some(option) = loads(word) {
            return Some(option.to_owned());
        }
        let Some(name) = one_dash(word) else {
            let option = before.and_then(one_dash).filter(|option| !option.contains('='))?;
            let is_danger = !READ.contains(&option) && self.is_no_output(word);
            return is_danger.then(|| option.to_owned());
        };
        if let Some((option, value)) = name.split_once('=') {
            let is_read =
                READ.contains(&option) || READ_LETTERS.iter().any(|it| name.starts_with(it));
            return (!is_read && self.has_no_output(value)).then(|| option.to_owned());
        }
        if is_last && OUTPUTS.iter().any(|option| is_begun(name, option)) {
            return Some(name.to_owned());
        }
        let joined = ["-o", "-MF"].into_iter().find_map(|option| word.strip_prefix(option));
        if joined.is_some_and(|value| !value.is_empty() && self.is_no_output(value)) {
            return Some(name[..2].to_owned());
        }
        let is_read = READ_LETTERS.iter().any(|it| name.starts_with(it));
        (name.contains('/') && !is_read).then(|| name.to_owned())
    }
}

/// The words passed on in one such as `-Wl,-z,now`.
pub fn listed(word: &str) -> Option<&str> {
    LISTS.iter().find_map(|mark| word.strip_prefix(mark))
}

/// The option with one dash instead of two.
fn one_dash(word: &str) -> Option<&str> {
    word.starts_with('-').then(|| if word.starts_with("--") { &word[1..] } else { word })
}

/// Linker options that load a plugin or start a script.
const LOADERS: [&str; 5] =
    ["-c", "-error-handling-script", "-load-pass-plugin", "-mri-script", "-plugin"];

/// Whether the name is the option or an abbreviation of it, which linkers accept.
fn is_begun(name: &str, option: &str) -> bool {
    name == option || name.len() > 2 && option.starts_with(name)
}

/// A linker option that loads a plugin or an option file, or starts a script.
fn loads(word: &str) -> Option<&'static str> {
    if word.starts_with('@') {
        return Some("@");
    }
    let name = one_dash(word)?.split('=').next().unwrap_or_default();
    LOADERS.iter().copied().find(|option| is_begun(name, option))
}
