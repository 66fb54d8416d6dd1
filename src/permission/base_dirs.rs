//! The folders that a line's relative names may refer to.
//!
//! The shell starts in one folder, and the line may move it. All folders it may be in are kept,
//! because a `cd` can fail, run in a subshell or follow `||`:
//!
//! - at the start: the folder of the agent
//! - `cd NAME`, `pushd NAME`: also NAME from each of them; variables that the line sets, braces and
//!   globs are expanded
//! - `cd`, `cd ~`, `cd -`, `popd`, `pushd`, `pushd +1`: a variable or the stack says where; also the
//!   home, and a doubt
//! - in a loop or a function: the moves again, through existing folders, until no folder is new
//! - a name known only at run time, `CDPATH`, a `cd` run by another command, more folders than
//!   [`MAX_FOLDERS`]: it may be any other folder, which is a doubt

use super::program::base_name;
use std::path::{Component, Path, PathBuf};

use super::mentions::lookup::FileLookup;
use super::mentions::readings::expanded_commands;
use super::path::resolve;
use super::script::{Script, SimpleCommand, Word};
use super::wrapper;

/// Maximum folders kept for one line.
const MAX_FOLDERS: usize = 64;
/// Maximum letters in one word tried as an option that takes a folder.
const MAX_LETTERS: usize = 6;
/// Builtins that change the working directory.
const DIR_BUILTINS: [&str; 3] = ["cd", "pushd", "popd"];
/// Options of those that don't change the destination, except for `..` after a link.
const PLAIN_OPTIONS: [&str; 6] = ["-P", "-L", "-e", "-@", "-n", "--"];
/// Options by which a program changes its folder. Long ones may be abbreviated.
const FOLDER_OPTIONS: [&str; 12] = [
    "-C",
    "-D",
    "--chdir",
    "-chdir",
    "--cwd",
    "--dir",
    "--directory",
    "--prefix",
    "--wd",
    "--work-tree",
    "--workdir",
    "--working-directory",
];

/// The folders that a line may run in.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseDirs {
    /// Where the shell may be.
    pub shell: Vec<PathBuf>,
    /// The same, plus where options such as `-C` may take a program.
    pub all: Vec<PathBuf>,
    /// Whether the shell is in the first folder, or after a single plain `cd` in the second, and nowhere else.
    pub is_certain: bool,
    /// Whether the shell may be in a folder other than these.
    pub is_open: bool,
}

/// How a command changes the shell's working directory.
enum DirChange<'a> {
    To(&'a Word),
    /// To the home, or to where a variable says.
    Home,
    Unknown,
}

impl BaseDirs {
    /// All folders that a program may run in, at least one; `None` if it may run anywhere.
    pub fn known(&self) -> Option<&[PathBuf]> {
        (!self.is_open).then_some(&*self.all)
    }

    /// Follows the moves of a line that starts in `cwd`.
    pub fn from_script(script: &Script, cwd: &Path, home: Option<&Path>) -> Self {
        let commands = script.all_commands();
        let moves: Vec<DirChange<'_>> =
            commands.iter().flat_map(|command| dir_changes(command)).collect();
        let mut lookup = FileLookup::new(script, vec![cwd.to_owned()], home);
        let repeats = script.repeats_anywhere();
        let starts_any = |command: &&SimpleCommand| {
            command.words.first().is_some_and(|program| !program.literal)
        };
        // A program by the value of a variable may be `cd`.
        let mut is_open = sets_search_path(script, &commands) || commands.iter().any(starts_any);
        let mut again = false;
        loop {
            let before = lookup.bases.len();
            for step in &moves {
                is_open |= !follow(step, again, &mut lookup, home);
                // No other folder would be kept.
                if is_open && lookup.bases.len() >= MAX_FOLDERS {
                    break;
                }
            }
            if !repeats || is_open || lookup.bases.len() == before {
                break;
            }
            again = true;
        }
        let shell = lookup.bases.clone();
        // A variable, a glob or braces may give the option. If that is too many commands, every name is in
        // doubt anyway.
        let expanded = expanded_commands(script, &shell, home).unwrap_or_default();
        for command in commands.iter().copied().chain(&expanded) {
            is_open |= !enter_options(command, &mut lookup);
        }
        let is_certain = is_certain(script, &commands);
        let (shell, all) = (add_resolved(shell), add_resolved(lookup.bases));
        Self { shell, all, is_certain, is_open }
    }
}

/// The folders, followed by the targets of those that are links: programs search there.
fn add_resolved(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let real = folders.iter().filter_map(|folder| resolve(folder));
    let real: Vec<PathBuf> = real.filter(|real| !folders.contains(real)).collect();
    folders.extend(real);
    folders
}

/// Adds the possible destinations of the step; false if it may lead anywhere else.
fn follow(
    step: &DirChange<'_>,
    again: bool,
    lookup: &mut FileLookup<'_>,
    home: Option<&Path>,
) -> bool {
    match step {
        DirChange::Unknown => false,
        DirChange::Home => {
            add(home.map(Path::to_owned).into_iter().collect(), &mut lookup.bases);
            false
        }
        DirChange::To(word) => {
            let (mut folders, is_all) = lookup.folders(word);
            if again {
                folders.retain(|folder| folder.is_dir());
                folders = folders.iter().filter_map(|folder| resolve(folder)).collect();
            }
            add(folders, &mut lookup.bases) && is_all && !word.raw.starts_with('~')
        }
    }
}

/// Adds the folders named by values of options; false if there may be others.
fn enter_options(command: &SimpleCommand, lookup: &mut FileLookup<'_>) -> bool {
    let words = &command.words;
    let mut is_all = true;
    let enters = |word: &Word| base_name(&word.text) == "unshare";
    let letters = if words.iter().any(enters) { &['C', 'D', 'w'][..] } else { &['C', 'D'] };
    for (at, word) in words.iter().enumerate().skip(1) {
        // `tar czC sub`: the first word needs no dash.
        let is_bundle = at == 1 && base_name(command.program()).ends_with("tar");
        let option = match is_bundle && !word.text.starts_with('-') {
            true => format!("-{}", word.text),
            false => word.text.clone(),
        };
        let values = option_values(&option, letters, words.get(at + 1));
        is_all &= values.is_some();
        for value in values.into_iter().flatten() {
            let (mut folders, _) = lookup.folders(&value);
            folders.retain(|folder| folder.is_dir());
            is_all &= add(folders, &mut lookup.bases);
        }
    }
    is_all
}

/// The words that may be the value of an option with this text, or of one of the letters; `None` for too
/// many.
fn option_values(option: &str, folder_letters: &[char], next: Option<&Word>) -> Option<Vec<Word>> {
    let (name, joined) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let fits = |known: &&str| {
        *known == name || name.len() > 3 && name.starts_with("--") && known.starts_with(name)
    };
    let part = |text: &str| Word {
        text: text.to_owned(),
        raw: text.to_owned(),
        literal: !text.contains(['$', '`', '*', '?', '[', '{', '~']),
    };
    let mut values = Vec::new();
    // The letter may follow others, as in `-iC`.
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    for (at, _) in letters.unwrap_or_default().match_indices(folder_letters) {
        if values.len() >= MAX_LETTERS {
            return None;
        }
        match &letters.unwrap_or_default()[at + 1..] {
            "" => values.extend(next.cloned()),
            value => values.push(part(value)),
        }
    }
    if name.len() > 2 && FOLDER_OPTIONS.iter().any(fits) {
        values.extend(joined.map(part));
        values.extend(next.filter(|_| joined.is_none()).cloned());
    }
    Some(values)
}

/// Adds folders without duplicates, also in lexical form where `..` in one may mean another folder;
/// false if there are too many.
fn add(folders: Vec<PathBuf>, all: &mut Vec<PathBuf>) -> bool {
    for folder in folders {
        let has_parent = folder.components().any(|part| part == Component::ParentDir);
        let by_text = has_parent.then(|| normalize_text(&folder));
        for folder in [Some(folder), by_text].into_iter().flatten() {
            if all.contains(&folder) {
                continue;
            }
            if all.len() >= MAX_FOLDERS {
                return false;
            }
            all.push(folder);
        }
    }
    true
}

/// The path with `..` removed lexically, as if there were no links.
fn normalize_text(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The moves of the command and of those it runs.
fn dir_changes(command: &SimpleCommand) -> Vec<DirChange<'_>> {
    let (starts, _) = wrapper::program_starts(&command.words);
    let runs = starts.into_iter().filter_map(|start| command.words.get(start..));
    let moves: Vec<DirChange<'_>> = runs.filter_map(parse_change).collect();
    if moves.is_empty() && runs_mover(command) { vec![DirChange::Unknown] } else { moves }
}

fn parse_change(words: &[Word]) -> Option<DirChange<'_>> {
    let (program, arguments) = words.split_first()?;
    let program = DIR_BUILTINS.iter().find(|mover| **mover == program.text)?;
    let is_option = |word: &&Word| word.literal && PLAIN_OPTIONS.contains(&word.text.as_str());
    let options = arguments.iter().take_while(is_option).count();
    let is_on_stack = |word: &Word| {
        let number = word.text.strip_prefix(['+', '-']);
        word.literal && (word.text == "-" || *program != "cd" && number.is_some())
    };
    Some(match (*program, &arguments[options..]) {
        ("cd", []) => DirChange::Home,
        ("popd", _) | (_, []) => DirChange::Unknown,
        (_, [word]) if is_on_stack(word) => DirChange::Unknown,
        (_, [word]) => DirChange::To(word),
        _ => DirChange::Unknown,
    })
}

/// Whether the command may run one of [`DIR_BUILTINS`], as `builtin cd` does.
fn runs_mover(command: &SimpleCommand) -> bool {
    let is_mover =
        |words: &[Word]| words.first().is_some_and(|word| DIR_BUILTINS.contains(&&*word.text));
    let tails = wrapper::possible_commands(command).into_iter().skip(1);
    command.program() == "builtin" && is_mover(command.arguments())
        || tails.into_iter().any(is_mover)
}

/// Whether the line sets `CDPATH`, which makes `cd` go elsewhere than its argument says.
fn sets_search_path(script: &Script, commands: &[&SimpleCommand]) -> bool {
    let is_it = |name: &str| name == "CDPATH";
    let sets = |command: &&SimpleCommand| {
        command.assignments.iter().any(|it| is_it(&it.name))
            || command
                .words
                .iter()
                .any(|word| is_it(&word.text) || word.text.starts_with("CDPATH="))
    };
    script.all_values().iter().any(|value| is_it(&value.name)) || commands.iter().any(sets)
}

/// Whether there is at most one move, run once, whose destination its text alone decides.
fn is_certain(script: &Script, commands: &[&SimpleCommand]) -> bool {
    let (movers, others): (Vec<_>, Vec<_>) =
        commands.iter().partition(|command| DIR_BUILTINS.contains(&command.program()));
    let is_plain_move = |command: &&SimpleCommand| match command.arguments() {
        [word] => word.literal && is_plain(&word.text),
        _ => false,
    };
    // A move that runs twice goes twice as far.
    let is_once = movers.is_empty() || movers.len() == 1 && !script.repeats_anywhere();
    is_once && movers.iter().all(is_plain_move) && !others.iter().any(|it| runs_mover(it))
}

/// Whether a `cd` with this argument goes where its text says: no option, no stack entry, and no
/// `..` after a name, which may be a link.
fn is_plain(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let behind_a_name = parts.find(|part| matches!(part, Component::Normal(_))).is_some()
        && parts.any(|part| part == Component::ParentDir);
    !text.starts_with(['-', '+']) && !behind_a_name
}

#[cfg(test)]
mod tests;
