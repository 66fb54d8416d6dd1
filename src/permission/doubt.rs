//! Why a line may contain any command: texts that it assembles before a shell runs them, and programs
//! that come from arguments.

use super::program::base_name;
use super::script::{Script, SimpleCommand, Word};
use super::spelling::{Piece, Spelling, spell};
use super::wrapper;

/// Programs that run their arguments as a script.
const EVALUATORS: &[&str] = &["eval", "trap", "alias"];

/// Programs that read a script from their input or a file, and with `-c` from an argument.
const SHELLS: &[&str] =
    &["bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "source", "."];

/// Why the line may contain any command, whatever the rule names.
pub fn doubt(script: &Script) -> Option<String> {
    if let Some(why) = script.unread_anywhere() {
        return Some(why.to_owned());
    }
    if starts_positional(script) {
        return Some(
            "which program `$1`, `$@` or `$_` starts is known only at run time".to_owned(),
        );
    }
    if let Some(shell) = shell_of_assembled_text(script) {
        return Some(format!("`{shell}` may run a text that is known only at run time"));
    }
    let mut commands = script.all_commands().into_iter();
    let why = "shopt may change which names a word matches";
    commands.any(changes_globs).then(|| why.to_owned())
}

/// Whether a program that the line starts comes from the arguments of a function or a script, or is
/// the last word of the previous command.
fn starts_positional(script: &Script) -> bool {
    script.all_commands().into_iter().any(|command| {
        let (starts, _) = wrapper::program_starts(&command.words);
        let mut words = starts.into_iter().filter_map(|start| command.words.get(start));
        words.any(Word::has_positional)
    })
}

/// The shell of the line that may run a text partly known only at run time.
fn shell_of_assembled_text(script: &Script) -> Option<&str> {
    let commands = script.all_commands();
    let is_any_assembled = || {
        let words = commands.iter().flat_map(|command| &command.words);
        words.chain(script.all_inputs()).any(is_assembled)
    };
    let has_input = !script.all_inputs().is_empty();
    commands.iter().find_map(|command| {
        let runs = |words: &&[Word]| {
            let Some((program, arguments)) = words.split_first() else { return false };
            let program = base_name(&program.text);
            let operands = arguments.iter().position(|word| !word.text.starts_with(['-', '+']));
            let (options, operands) = arguments.split_at(operands.unwrap_or(arguments.len()));
            let takes_text =
                options.iter().any(|word| !word.text.starts_with("--") && word.text.contains('c'));
            let is_shell = SHELLS.contains(&program);
            let is_text = EVALUATORS.contains(&program) || is_shell && takes_text;
            // A file that it names is its script, so it does not run its input.
            let is_file =
                |word: &Word| word.literal && word.text != "-" && !word.text.starts_with("/dev/");
            let is_stdin = options.iter().any(|word| word.text.contains('s'));
            let reads = is_shell && (is_stdin || !operands.first().is_some_and(is_file));
            let is_substitution = operands.first().is_some_and(|word| word.raw.contains("<("));
            let is_fed = command.is_fed || has_input || is_substitution;
            is_text && arguments.iter().any(is_assembled)
                || reads && !takes_text && is_fed && is_any_assembled()
        };
        let shell = wrapper::possible_commands(command).into_iter().find(runs)?;
        Some(base_name(&shell[0].text))
    })
}

/// Whether a part of the word comes from a value, braces or a glob. Command output is unknown, but
/// the command itself is checked separately.
fn is_assembled(word: &Word) -> bool {
    let is_part = |piece: &Piece| !matches!(piece, Piece::Char(_) | Piece::Any);
    let has_value = || {
        let mut signs = word.raw.match_indices('$');
        signs.any(|(at, _)| !word.raw[at + 1..].starts_with(['(', '\'', '"']))
    };
    !word.literal
        && (has_value() || {
            let spelled = spell(std::slice::from_ref(word));
            spelled.len() > 1
                || spelled.into_iter().flat_map(Spelling::into_pieces).any(|it| is_part(&it))
        })
}

/// Whether the command may change which files a glob in the line matches.
fn changes_globs(command: &SimpleCommand) -> bool {
    let is = |words: &&[Word]| {
        let program = words.first().map_or("", |word| base_name(&word.text));
        let is_option = |word: &&Word| word.text.starts_with(['-', '+']);
        let mut options = words.iter().skip(1).take_while(is_option);
        program == "shopt" || program == "bash" && options.any(|word| word.text.contains('O'))
    };
    wrapper::possible_commands(command).iter().any(is)
}
