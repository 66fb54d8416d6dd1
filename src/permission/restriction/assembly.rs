//! Texts that a line assembles before a shell runs them, and programs that come from arguments.

use super::value;
use crate::permission::script::{Script, Word};
use crate::permission::spelling::{Piece, Spelling, fill_defaults, spell, unquoted};
use crate::permission::wrapper::{self, base_name};

/// Programs that run their arguments as a script.
const EVALUATORS: &[&str] = &["eval", "trap", "alias"];

/// Programs that read a script from their input or a file, and with `-c` from an argument.
const SHELLS: &[&str] =
    &["bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "source", "."];

/// Whether a program that the line starts comes from the arguments of a function or a script, or is
/// the last word of the previous command.
pub fn starts_positional(script: &Script) -> bool {
    script.all_commands().into_iter().any(|command| {
        let (starts, _) = wrapper::program_starts(&command.words);
        let mut words = starts.into_iter().filter_map(|start| command.words.get(start));
        words.any(has_positional)
    })
}

/// Whether the word contains `$1`, `$@`, `$_` or the like: values that a line gives without an assignment.
pub fn has_positional(word: &Word) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !word.literal
        && word.raw.match_indices('$').any(|(at, _)| {
            let before = &word.raw[..at];
            if (before.len() - before.trim_end_matches('\\').len()) % 2 == 1 {
                return false;
            }
            let behind = &word.raw[at + 1..];
            let name = behind.strip_prefix('{').unwrap_or(behind).trim_start_matches(['!', '#']);
            let is_underscore =
                || name.strip_prefix('_').is_some_and(|it| !it.starts_with(is_letter));
            name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'))
                || is_underscore()
        })
}

/// The shell of the line that may run a text partly known only at run time.
pub fn shell_of_assembled_text(script: &Script) -> Option<&str> {
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

/// Whether a part of the line may become the program's name by values of the line, by defaults or
/// by braces, wherever it is. For lines whose commands are not all known.
pub fn spells(line: &str, script: &Script, program: &str) -> bool {
    let values = value::values_of(script);
    let is_break = |c: char| c.is_whitespace() || ";|&()<>`".contains(c);
    let mut parts = line.split(is_break).filter(|part| part.contains(['$', '{']));
    parts.any(|part| {
        let raw = unquoted(part);
        let texts = std::iter::once(raw.clone()).chain(fill_defaults(&raw));
        let words = texts.map(|raw| Word { text: raw.clone(), raw, literal: false });
        words.into_iter().any(|word| value::can_become(&word, program, &values))
    })
}
