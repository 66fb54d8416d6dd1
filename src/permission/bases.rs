//! The folders in which a line's relative names may be meant.
//!
//! The shell stands in one folder, and what a line says moves it. All folders in which it may stand
//! are kept, because a `cd` can fail, and can stand in a subshell or behind `||`:
//!
//! - at the start: the folder of the agent
//! - `cd NAME`, `pushd NAME`: besides those, NAME from each of them; variables that the line sets,
//!   braces and globs are looked up
//! - `cd`, `cd ~`: besides those, the home
//! - `cd -`, `popd`, `pushd`, `pushd +1`: back to one of those, if there was a move before
//! - in a loop or a function: the moves again, through folders that exist, until no folder is new
//! - a name that is only known at run time, `CDPATH`, a `cd` that something else runs, more folders than
//!   [`MAX_FOLDERS`]: there may be any other, which is a doubt

use std::path::{Component, Path, PathBuf};

use super::mentions::Lookup;
use super::path::resolve;
use super::script::{Script, SimpleCommand, Word};
use super::wrapper;

/// Folders that are kept for one line.
const MAX_FOLDERS: usize = 64;
/// Letters in one word that may be the option of a folder.
const MAX_LETTERS: usize = 6;
/// Builtins that change the folder.
const MOVERS: [&str; 3] = ["cd", "pushd", "popd"];
/// Options of those that do not change where they lead, but for `..` behind a link.
const PLAIN_OPTIONS: [&str; 6] = ["-P", "-L", "-e", "-@", "-n", "--"];
/// Options by which a program changes its folder. Long ones may be cut short.
const FOLDER_OPTIONS: [&str; 11] = [
    "-C",
    "-D",
    "--chdir",
    "-chdir",
    "--cwd",
    "--dir",
    "--directory",
    "--prefix",
    "--work-tree",
    "--workdir",
    "--working-directory",
];

/// The folders in which a line runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bases {
    /// Where the shell may stand.
    pub shell: Vec<PathBuf>,
    /// The same, and where options such as `-C` may take a program.
    pub all: Vec<PathBuf>,
    /// Whether the shell stands in the first folder, or after a single plain `cd` in the second,
    /// and nowhere else.
    pub is_certain: bool,
    /// Whether the shell may stand in another folder than these.
    pub is_open: bool,
}

/// What a command does to the folder of the shell.
enum Move<'a> {
    To(&'a Word),
    Home,
    Back,
    Unknown,
}

impl Bases {
    /// All folders in which a program may run, at least one; `None` where that may be any.
    #[must_use]
    pub fn known(&self) -> Option<&[PathBuf]> {
        (!self.is_open).then_some(&*self.all)
    }

    /// Follows the moves of a line that starts in `cwd`.
    #[must_use]
    pub fn of(script: &Script, cwd: &Path, home: Option<&Path>) -> Self {
        let commands = script.all_commands();
        let moves: Vec<Move<'_>> = commands.iter().flat_map(|command| moves(command)).collect();
        let mut lookup = Lookup::new(script, vec![cwd.to_owned()], home);
        let repeats = script.repeats_anywhere();
        let mut is_open = sets_search_path(script, &commands);
        let mut again = false;
        loop {
            let before = lookup.bases.len();
            for (at, step) in moves.iter().enumerate() {
                is_open |= !follow(step, at > 0, again, &mut lookup, home);
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
        for command in &commands {
            is_open |= !enter_options(command, &mut lookup);
        }
        let is_certain = is_certain(script, &commands, home);
        let (shell, all) = (with_real(shell), with_real(lookup.bases));
        Self { shell, all, is_certain, is_open }
    }
}

/// The folders, and behind them where those lead that are links: programs look around them there.
fn with_real(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let real = folders.iter().filter_map(|folder| resolve(folder));
    let real: Vec<PathBuf> = real.filter(|real| !folders.contains(real)).collect();
    folders.extend(real);
    folders
}

/// Adds where the step may lead; false where it may lead elsewhere.
fn follow(
    step: &Move<'_>,
    has_moved: bool,
    again: bool,
    lookup: &mut Lookup<'_>,
    home: Option<&Path>,
) -> bool {
    match step {
        Move::Unknown => false,
        Move::Back => has_moved,
        Move::Home => home.is_some_and(|home| add(vec![home.to_owned()], &mut lookup.bases)),
        Move::To(word) => {
            let (mut folders, is_all) = lookup.folders(word);
            if again {
                folders.retain(|folder| folder.is_dir());
                folders = folders.iter().filter_map(|folder| resolve(folder)).collect();
            }
            is_all && add(folders, &mut lookup.bases)
        }
    }
}

/// Adds the folders with the values of options that name one; false where there are too many.
fn enter_options(command: &SimpleCommand, lookup: &mut Lookup<'_>) -> bool {
    let words = &command.words;
    let mut is_all = true;
    for (at, word) in words.iter().enumerate().skip(1) {
        // `tar czC sub`: the first word needs no dash.
        let is_bundle = at == 1 && wrapper::base_name(command.program()).ends_with("tar");
        let option = match is_bundle && !word.text.starts_with('-') {
            true => format!("-{}", word.text),
            false => word.text.clone(),
        };
        for value in option_values(&option, words.get(at + 1)) {
            let (mut folders, _) = lookup.folders(&value);
            folders.retain(|folder| folder.is_dir());
            is_all &= add(folders, &mut lookup.bases);
        }
    }
    is_all
}

/// The words that an option of this text may have as its value.
fn option_values(option: &str, next: Option<&Word>) -> Vec<Word> {
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
    // The letter may stand behind others, as in `-iC`.
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    for (at, _) in letters.unwrap_or_default().match_indices(['C', 'D']).take(MAX_LETTERS) {
        match &letters.unwrap_or_default()[at + 1..] {
            "" => values.extend(next.cloned()),
            value => values.push(part(value)),
        }
    }
    if name.len() > 2 && FOLDER_OPTIONS.iter().any(fits) {
        values.extend(joined.map(part));
        values.extend(next.filter(|_| joined.is_none()).cloned());
    }
    values
}

/// Adds folders, each once, and by its text alone where `..` in it may mean another one; false
/// where there are too many.
fn add(folders: Vec<PathBuf>, all: &mut Vec<PathBuf>) -> bool {
    for folder in folders {
        let has_parent = folder.components().any(|part| part == Component::ParentDir);
        let by_text = has_parent.then(|| by_text(&folder));
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

/// The path without `..`, as if there were no links.
fn by_text(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The moves of the command, and of those that it runs.
fn moves(command: &SimpleCommand) -> Vec<Move<'_>> {
    let (starts, _) = wrapper::starts(&command.words);
    let runs = starts.into_iter().filter_map(|start| command.words.get(start..));
    let moves: Vec<Move<'_>> = runs.filter_map(read).collect();
    if moves.is_empty() && runs_mover(command) { vec![Move::Unknown] } else { moves }
}

fn read(words: &[Word]) -> Option<Move<'_>> {
    let (program, arguments) = words.split_first()?;
    let program = MOVERS.iter().find(|mover| **mover == program.text)?;
    let is_option = |word: &&Word| word.literal && PLAIN_OPTIONS.contains(&word.text.as_str());
    let options = arguments.iter().take_while(is_option).count();
    let is_on_stack = |word: &Word| {
        let number = word.text.strip_prefix(['+', '-']);
        word.literal && (word.text == "-" || *program != "cd" && number.is_some())
    };
    Some(match (*program, &arguments[options..]) {
        ("popd", _) => Move::Back,
        ("cd", []) => Move::Home,
        (_, []) => Move::Back,
        (_, [word]) if is_on_stack(word) => Move::Back,
        (_, [word]) => Move::To(word),
        _ => Move::Unknown,
    })
}

/// Whether the command may run one of [`MOVERS`], as `builtin cd` does.
fn runs_mover(command: &SimpleCommand) -> bool {
    let is_mover = |words: &[Word]| words.first().is_some_and(|word| MOVERS.contains(&&*word.text));
    let tails = wrapper::views(command).into_iter().skip(1);
    command.program() == "builtin" && is_mover(command.arguments())
        || tails.into_iter().any(is_mover)
}

/// Whether the line sets `CDPATH`, by which a `cd` goes elsewhere than its name says.
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

/// Whether there is at most one move, it is done once, and its text alone says where it leads.
fn is_certain(script: &Script, commands: &[&SimpleCommand], home: Option<&Path>) -> bool {
    let (movers, others): (Vec<_>, Vec<_>) =
        commands.iter().partition(|command| MOVERS.contains(&command.program()));
    let is_plain_move = |command: &&SimpleCommand| match command.arguments() {
        [] => command.program() == "cd" && home.is_some(),
        [word] => word.literal && is_plain(&word.text),
        _ => false,
    };
    // What is done twice goes twice as far.
    let is_once = movers.is_empty() || movers.len() == 1 && !script.repeats_anywhere();
    is_once && movers.iter().all(is_plain_move) && !others.iter().any(|it| runs_mover(it))
}

/// Whether a `cd` with this argument goes to where its text says: no option, no place on the stack,
/// and no `..` behind a name, which may be that of a link.
fn is_plain(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let behind_a_name = parts.find(|part| matches!(part, Component::Normal(_))).is_some()
        && parts.any(|part| part == Component::ParentDir);
    !text.starts_with(['-', '+']) && !behind_a_name
}

#[cfg(test)]
mod tests;
