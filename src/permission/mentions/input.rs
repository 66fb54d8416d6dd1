//! Commands that may take file names from their input rather than from their words.

use super::lists::is_list_option;
use crate::permission::interpreter::{interprets, takes_data};
use crate::permission::program::base_name;
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::shell::words_of_string;
use crate::permission::wrapper;
use crate::permission::writers::{self, WriteEffect};

/// Programs that take words of their input as arguments or settings, whatever they run.
const TAKERS: &str = "xargs parallel curl wget";

/// Whether a command of the line may open a file that its input names. Most commands that take data
/// only show their input.
pub fn is_read(script: &Script) -> bool {
    let commands = script.all_commands();
    let is_output = |word: &Word| word.raw.contains("$(") || word.raw.contains('`');
    commands.iter().any(|command| takes_names(command))
        || script.all_values().iter().any(|value| is_output(&value.word))
}

/// The words that the line prints, if one of its commands reads the output of others.
pub fn printed(script: &Script) -> Vec<Word> {
    let commands = script.all_commands();
    let is_substituted = |word: &Word| word.raw.contains("<(") || word.raw.contains(">(");
    let is_fed =
        |command: &&SimpleCommand| command.is_fed || command.words.iter().any(is_substituted);
    if !commands.iter().any(is_fed) {
        return Vec::new();
    }
    let prints = |command: &&&SimpleCommand| {
        let (starts, _) = wrapper::program_starts(&command.words);
        let mut programs = starts.iter().filter_map(|start| command.words.get(*start));
        programs.any(|word| matches!(base_name(&word.text), "echo" | "printf"))
    };
    let arguments = commands.iter().filter(prints).flat_map(|command| command.arguments());
    // Both turn these into blanks and line ends.
    let blanks = |text: &str| text.replace("\\n", "\n").replace("\\t", "\t");
    let words = arguments.flat_map(|word| {
        let (text, raw) = (blanks(&word.text), blanks(&word.raw));
        words_of_string(&Word { text, raw, literal: word.literal })
    });
    words.collect()
}

/// Whether a command of the line may change a file that its input names.
pub fn is_changed(script: &Script) -> bool {
    script.all_commands().into_iter().any(|command| {
        let starts = wrapper::program_starts(&command.words).0.into_iter();
        let mut programs = starts.filter_map(|start| command.words.get(start));
        let is_shell = programs.any(|word| wrapper::evaluates(base_name(&word.text)));
        takes_names(command) && (is_shell || writers::write_effect(command) != WriteEffect::No)
    })
}

fn takes_names(command: &SimpleCommand) -> bool {
    let is_taker = |word: &Word| TAKERS.split_whitespace().any(|it| it == base_name(&word.text));
    let (starts, _) = wrapper::program_starts(&command.words);
    let mut programs = starts.iter().filter_map(|start| command.words.get(*start));
    let sums = matches!(base_name(command.program()), "du" | "sort" | "wc");
    let is_list = |word: &Word| is_list_option(&word.text) || sums && word.text.starts_with("--f");
    let is_output = |(at, word): (usize, &Word)| {
        (word.raw.contains("$(") || word.raw.contains('`')) && !is_message(command, at)
    };
    let prints = matches!(base_name(command.program()), "echo" | "printf");
    let runs = |start: &usize| command.words.get(*start..).is_some_and(interprets);
    programs.any(is_taker)
        || command.words.iter().any(is_list)
        || !prints && command.words.iter().enumerate().any(is_output)
        || !takes_data(&command.words)
        || starts.iter().any(runs)
}

/// Whether the word at this position is message text, such as that of a commit, and no file.
pub fn is_message(command: &SimpleCommand, at: usize) -> bool {
    let text = |at: usize| command.words.get(at).map_or("", |word| word.text.as_str());
    let (program, before) = (base_name(command.program()), at.checked_sub(1).map_or("", text));
    let is_short =
        |letter| before.starts_with('-') && !before.starts_with("--") && before.ends_with(letter);
    match (program, text(1)) {
        ("git", "commit" | "merge" | "notes" | "stash" | "tag") => {
            before == "--message" || is_short('m') || text(at).starts_with("--message=")
        }
        ("gh", _) => {
            matches!(before, "--title" | "--body" | "--notes") || is_short('t') || is_short('b')
        }
        _ => false,
    }
}
