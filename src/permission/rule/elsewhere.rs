//! Commands that an allow rule names, run where the names mean something else.
//!
//! A rule names no folder. `Bash(./run.sh)` was written for the script of the project, and
//! `Bash(git commit:*)` for its repository and hooks: in a folder that was unpacked there, an agent
//! must not run something else by those names.

use std::path::{Path, PathBuf};

use crate::disk::{
    check_starts_nothing, check_within, check_without_repository, checkout_around, checkout_root,
    common_git_dir, has_dot_git, named_git_dirs, resolve,
};
use crate::permission::call_access::{CallAccess, ShellLine};
use crate::permission::path::PathTarget;
use crate::permission::pattern::CommandPattern;
use crate::permission::places::Places;
use crate::permission::program::base_name;
use crate::permission::read_only;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

/// Programs that run a file or folder given as an argument, by names without version numbers.
const INTERPRETERS: [&str; 16] = [
    "bun", "deno", "elixir", "groovy", "java", "lua", "node", "nodejs", "perl", "php", "pypy",
    "python", "ruby", "scala", "ts-node", "tsx",
];

/// Programs that run git in the folder where they start, besides those with git in their name.
const FRONT_ENDS: [&str; 13] = [
    "cz",
    "gh",
    "glab",
    "gt",
    "hub",
    "husky",
    "jj",
    "lefthook",
    "pre-commit",
    "prek",
    "repo",
    "stg",
    "tig",
];

/// Error for a command that may run anywhere.
const UNKNOWN_FOLDER: &str = "the folder it runs in is known only at run time";

/// The longest path of a folder in which a rule holds, in bytes: the system takes 4095 for a whole path.
const MAX_FOLDER: usize = 2048;

/// Error for an interpreter in another folder than the rule was written for.
const INTERPRETER_BELOW: &str = "an interpreter finds other programs by the same names there";

/// A hint how to make the rule apply.
const OWN_RULE_HINT: &str = "to allow it here, put the rule into the project's own settings";

/// How a rule matches a command.
#[derive(Clone, Copy)]
pub struct RuleMatch<'a> {
    pub pattern: &'a CommandPattern,
    /// It has the whole line, with all that says in which folder of the project the command runs.
    pub has_folder: bool,
    /// It is for all projects, and was not written with this one in mind.
    pub is_general: bool,
}

impl RuleMatch<'_> {
    /// How many words of the command the rule names.
    fn words(&self) -> usize {
        self.pattern.file_words()
    }

    /// Whether the rule has all words of the command, so its author knew the files that they name.
    fn is_whole(&self) -> bool {
        matches!(self.pattern, CommandPattern::Exact(_))
    }

    /// Whether a `*` in the rule stands for the names of files that its author did not know.
    fn has_star(&self) -> bool {
        matches!(self.pattern, CommandPattern::Wild(_))
    }
}

/// Why a rule means something else for this command than in the project.
pub fn elsewhere_reason(
    command: &SimpleCommand,
    named: RuleMatch<'_>,
    shell: &ShellLine,
    effects: &CallAccess,
    places: &Places,
) -> Option<String> {
    let tops = tops(effects, places);
    let known = shell.bases.known();
    if named.is_general && known.is_none() {
        return Some(UNKNOWN_FOLDER.to_owned());
    }
    let bases = known.unwrap_or_default();
    let is_at_top = !bases.is_empty() && bases.iter().all(|base| is_top(base, &tops));
    let is_other =
        |word: &Word| names_in(word).iter().any(|name| is_other_file(name, bases, &tops));
    if let Some(base) = bases.iter().find(|base| !is_plain(base)) {
        return Some(format!("programs may take the name of {} for text", places.show(base)));
    }
    let words = || command.words.iter().take(named.words()).filter(|_| !is_at_top);
    if let Some(word) = words().find(|word| is_other(word)) {
        return Some(format!("{} is not the project's own there", word.raw));
    }
    if !named.has_folder && !is_at_top && runs_files(command, named) {
        return Some(INTERPRETER_BELOW.to_owned());
    }
    if !named.has_folder
        && let Some(word) = words().find(|word| !is_plain_word(&word.text))
    {
        return Some(format!("{} is not a plain name, so it may name any file there", word.raw));
    }
    if let Some(word) = led_away_word(command, named, bases, &tops) {
        return Some(format!("a link of the project leads {} elsewhere", word.raw));
    }
    if bases.iter().any(|base| !base.is_dir()) && (names_git(command) || names_file(command, named))
    {
        return Some("the line itself creates the folder it runs in".to_owned());
    }
    let escape = match (named.is_general, named.is_whole()) {
        (true, _) => shell.any_link_escape(places),
        (false, true) => shell.link_escape(places),
        (false, false) => None,
    };
    if let Some(why) = escape {
        return Some(why.to_owned());
    }
    if named.is_general
        && let Some(why) = other_program(command, bases, places)
    {
        return Some(format!("{why} ({OWN_RULE_HINT})"));
    }
    let runs_git = names_git(command) || named.is_general && may_run_git(command);
    if !runs_git {
        return None;
    }
    if bases.is_empty() {
        return Some(UNKNOWN_FOLDER.to_owned());
    }
    let known = &shell.other_git[usize::from(named.is_general)];
    known.get_or_init(|| other_git(bases, &tops, named, places)).clone()
}

/// Whether all names of a folder's path are plain. A command finds its folder in `PWD`, which make expands
/// and recipes hand to a shell.
fn is_plain(base: &Path) -> bool {
    // Behind a longer one, files could not be looked up.
    let Some(text) = base.to_str().filter(|text| text.len() <= MAX_FOLDER) else { return false };
    // No program reads a letter or sign beyond ASCII as a command.
    let is_other = |c: char| !c.is_ascii() && !c.is_whitespace() && !c.is_control();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || is_other(c);
    let mut previous = None;
    text.chars().all(|c| match previous.replace(c) {
        // What follows a blank must be no option and no path of its own.
        Some(' ') => is_letter(c) || "_.".contains(c),
        // A name by itself must be no option.
        Some('/') if c == '-' => false,
        _ => is_letter(c) || " _.-+,@=~%:/".contains(c),
    }) && !text.ends_with(' ')
}

/// Why a program that a rule for all projects names may be another one in this project.
fn other_program(command: &SimpleCommand, bases: &[PathBuf], places: &Places) -> Option<String> {
    let mut programs = programs(command);
    let first = command.words.first()?;
    // Even one with an absolute path starts others.
    if places.has_start_file && (programs.len() > 1 || !read_only::is_builtin(&first.text)) {
        return Some("your BASH_ENV file may lead PATH into the project".to_owned());
    }
    if places.has_libraries_of_project(bases) {
        return Some(read_only::PROJECT_LIBRARY.to_owned());
    }
    programs.retain(|program| places.shadows_user_program(&program.text, bases));
    let program = programs.first()?;
    Some(format!("the project has a program {} that PATH finds before yours", program.raw))
}

/// Why a git command in one of `bases` may work on a repository other than the project's, or start
/// programs that one supplies.
fn other_git(
    bases: &[PathBuf],
    tops: &[PathBuf],
    named: RuleMatch<'_>,
    places: &Places,
) -> Option<String> {
    let home = places.home.as_deref();
    let own: Vec<PathBuf> = tops.iter().map(|top| checkout_root(top)).collect();
    if let Some(base) = bases.iter().find(|base| is_in_git_folder(base, &own)) {
        return Some(format!("{} is one of git's own folders", places.show(base)));
    }
    let mut roots = bases.iter().map(|base| checkout_root(base));
    if let Some(other) = roots.find(|root| is_other_repository(root, &own)) {
        return Some(format!(
            "{} is a repository of its own (--add-dir {} lets rules hold there)",
            places.show(&other),
            other.display()
        ));
    }
    if !named.is_general {
        let trusted = [tops, &own].concat();
        let within = |base: &PathBuf| check_within(base, home, &places.git, &trusted).err();
        let why = bases.iter().find_map(within)?;
        return Some(format!("{why} (--add-dir trusts it)"));
    }
    if places.has_programs_of_project(bases) {
        return Some("PATH leads into the project, where git may find programs".to_owned());
    }
    let check = |base: &PathBuf| match checkout_around(base) {
        Some(_) => check_starts_nothing(base, home, &places.git),
        None => check_without_repository(base, home, &places.git),
    };
    let why = bases.iter().find_map(|base| check(base).err())?;
    Some(format!("{why} ({OWN_RULE_HINT})"))
}

/// Whether the file of a redirect is the one that the line names: no link in the project leads elsewhere.
pub fn is_as_named(target: &PathTarget, bases: &[PathBuf]) -> bool {
    let below = bases.iter().find_map(|base| Some((base, target.written.strip_prefix(base).ok()?)));
    below.is_none_or(|(base, name)| {
        target.resolved.is_some() && target.resolved == resolve(base).map(|base| base.join(name))
    })
}

/// Whether the checkout has git files of its own, and not those of one of the `own` ones.
fn is_other_repository(root: &Path, own: &[PathBuf]) -> bool {
    let common = |root: &Path| resolve(&common_git_dir(root)?);
    let shares = || {
        let git = common(root);
        git.is_some() && own.iter().any(|own| common(own) == git)
    };
    has_dot_git(root) && !is_top(root, own) && !shares()
}

/// Whether the folder lies among git's own files, of the checkout around it or of one of `own`. Git
/// finds no checkout there, so `apply` would write hooks by their plain names.
fn is_in_git_folder(folder: &Path, own: &[PathBuf]) -> bool {
    let Some(folder) = resolve(folder) else { return true };
    let root = checkout_root(&folder);
    // Any other checkout may be there.
    let holds = |dir: &Path| folder.starts_with(dir) && !root.starts_with(dir);
    let first = folder.strip_prefix(&root).ok().and_then(|below| below.iter().next());
    let mut dirs = own.iter().map(|own| named_git_dirs(own));
    first.is_some_and(|name| name.eq_ignore_ascii_case(".git"))
        || dirs.any(|(own, common)| {
            let mut both = [Some(own), common].into_iter().flatten();
            both.any(|dir| resolve(&dir).is_none_or(|dir| holds(&dir)))
        })
}

/// Whether a line starts where the rules were written for, in a folder with a plain name.
pub fn starts_in_project(shell: &ShellLine, effects: &CallAccess, places: &Places) -> bool {
    let tops = tops(effects, places);
    shell.bases.shell.first().is_some_and(|start| is_plain(start) && is_top(start, &tops))
}

/// The folders for which rules are written: the working directories, the project and the agent's own folder.
fn tops(effects: &CallAccess, places: &Places) -> Vec<PathBuf> {
    let others = [&places.project, &effects.cwd].into_iter().filter_map(|dir| resolve(dir));
    // A folder that has since become a link is not the one that the rules were written for.
    let others = others.filter(|dir| places.is_of_session(dir));
    places.dirs.resolved().cloned().chain(others).collect()
}

fn is_top(folder: &Path, tops: &[PathBuf]) -> bool {
    resolve(folder).is_some_and(|folder| tops.contains(&folder))
}

/// Characters that may separate a name from the rest of a plain word.
const MARKS: [char; 9] = ['=', '@', ':', ',', '+', '%', '~', '^', '#'];

/// A word with more marks may hold any name.
const MAX_MARKS: usize = 16;

/// The relative names that a word may stand for: the word itself, and what is joined with an option or
/// marks in it, as in `-fa`, `-qfa`, `--file=a`, `@a` and `a::b`.
fn names_in(word: &Word) -> Vec<&str> {
    let text = word.text.as_str();
    if !word.literal || !is_plain_word(text) {
        return Vec::new();
    }
    let marks = || text.match_indices(MARKS).map(|(at, _)| at);
    // Which letter of several takes a value, only the program knows.
    let letters = text.char_indices().skip(2).map(|(at, _)| at);
    let is_option = text.starts_with('-');
    let letters = letters.filter(|_| is_option && !text.starts_with("--"));
    let starts = (!is_option).then_some(0).into_iter().chain(letters);
    let starts = starts.chain(marks().map(|at| at + 1));
    let ends = || marks().chain([text.len()]);
    let names = starts.flat_map(|start| ends().filter_map(move |end| text.get(start..end)));
    names.filter(|name| is_name(name)).collect()
}

/// Whether the word is a name, or several with marks between them: not a program, a pattern or a line of
/// a shell, which can name any file.
fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c) || MARKS.contains(&c);
    text.chars().all(is_plain) && text.matches(MARKS).count() <= MAX_MARKS
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains("://") && !Path::new(text).is_absolute()
}

/// Whether the relative name may stand for a file in one of `bases` other than the one that it names in a
/// folder of `tops`. Without `bases`, that may be any folder.
fn is_other_file(name: &str, bases: &[PathBuf], tops: &[PathBuf]) -> bool {
    if bases.is_empty() {
        let is_own = |top: &PathBuf| top.join(name).is_file();
        return name.contains('/') || tops.iter().any(is_own);
    }
    // Programs drop a slash behind the name of a file.
    let name: PathBuf = Path::new(name).components().collect();
    let own: Vec<PathBuf> = tops.iter().filter_map(|top| resolve(&top.join(&name))).collect();
    let is_other = |base: &PathBuf| {
        let file = base.join(&name);
        file.is_file() && !resolve(&file).is_some_and(|file| own.contains(&file))
    };
    bases.iter().any(is_other)
}

/// Whether the word is a relative name that links lead out of `tops`.
fn leads_out(word: &Word, bases: &[PathBuf], tops: &[PathBuf]) -> bool {
    let is_name = is_name(&word.text) && !word.text.starts_with('-') && word.literal;
    let mut entries = bases.iter().flat_map(|base| entries_on(base, Path::new(&word.text)));
    is_name && entries.any(|entry| !is_within(&entry, tops))
}

/// Whether the absolute path of a file in one of `tops` passes a link there, however it comes there.
fn path_is_led_away(path: &Path, tops: &[PathBuf]) -> bool {
    let mut entries =
        path.is_absolute().then(|| entries_on(Path::new(""), path)).into_iter().flatten();
    entries.any(|entry| is_within(&entry, tops)) && entries.any(|entry| is_led_away(&entry, tops))
}

/// Whether the relative name passes a link, or leads out of `tops`.
fn name_is_led_away(name: &str, bases: &[PathBuf], tops: &[PathBuf]) -> bool {
    let mut entries = bases.iter().flat_map(|base| entries_on(base, Path::new(name)));
    entries.any(|entry| is_led_away(&entry, tops))
}

fn is_led_away(entry: &Path, tops: &[PathBuf]) -> bool {
    entry.is_symlink() || !is_within(entry, tops)
}

/// The files, folders and links through which the path leads from the folder, whatever separates their names.
fn entries_on(folder: &Path, path: &Path) -> impl Iterator<Item = PathBuf> {
    let mut entry = folder.to_owned();
    let steps = path.components().map(move |part| {
        entry.push(part);
        entry.clone()
    });
    steps.filter(|entry| entry.symlink_metadata().is_ok())
}

fn is_within(entry: &Path, tops: &[PathBuf]) -> bool {
    resolve(entry).is_some_and(|real| tops.iter().any(|top| real.starts_with(top)))
}

/// The first word of the rule that links lead to another file than the one that it names.
fn led_away_word<'a>(
    command: &'a SimpleCommand,
    named: RuleMatch<'_>,
    bases: &[PathBuf],
    tops: &[PathBuf],
) -> Option<&'a Word> {
    let counts = runs_files(command, named) && !named.is_whole();
    let star_is_led_away = |word: &Word| {
        names_in(word).into_iter().any(|name| name_is_led_away(name, bases, tops))
            || path_is_led_away(Path::new(&word.text), tops)
    };
    // The program itself may be a link, as in a virtual environment.
    let mut words = command.words.iter().take(named.words()).skip(1);
    words.find(|word| {
        named.has_star() && star_is_led_away(word) || counts && leads_out(word, bases, tops)
    })
}

/// Whether a word of the rule says where a file is.
fn names_file(command: &SimpleCommand, named: RuleMatch<'_>) -> bool {
    let mut words = command.words.iter().take(named.words());
    runs_files(command, named)
        || words.any(|word| word.text.contains('/') && !word.text.starts_with('/'))
}

/// Whether the rule names an interpreter, also behind a program that starts it, as in `uv run python -m x`. It may
/// resolve a word in its own way: a folder, or a file without its extension.
fn runs_files(command: &SimpleCommand, named: RuleMatch<'_>) -> bool {
    let is_version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let is_interpreter =
        |word: &Word| INTERPRETERS.contains(&base_name(&word.text).trim_end_matches(is_version));
    command.words.iter().take(named.words()).any(is_interpreter)
}

/// The words by which the command starts programs.
fn programs(command: &SimpleCommand) -> Vec<&Word> {
    wrapper::possible_commands(command).into_iter().filter_map(|words| words.first()).collect()
}

/// Whether the command runs git or a program that uses it, or passes its name on to another program, which may run it.
fn names_git(command: &SimpleCommand) -> bool {
    let is_git = |text: &str| {
        let name = base_name(text);
        name == "git" || name.starts_with("git-")
    };
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || "._-/".contains(c));
    let programs = programs(command);
    let mut names = programs.iter().map(|word| base_name(&word.text));
    names.any(|name| is_git(name) || FRONT_ENDS.contains(&name))
        || !command.words.first().is_some_and(|word| read_only::is_reader(&word.text))
            && command.words.iter().any(|word| word.text.split(is_part).any(is_git))
}

/// Whether the command may run git in a script, or by a name known only at run time.
fn may_run_git(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter();
    words.any(|word| word.text.contains("git") || word.raw.contains("git"))
        || command.words.first().is_some_and(|word| !word.literal)
}

#[cfg(test)]
mod tests;
