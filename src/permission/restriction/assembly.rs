//! Texts that a line puts together before a shell runs them, and programs that come from arguments.

use super::value;
use crate::permission::script::{Script, SimpleCommand, Word};
use crate::permission::spelling::{Piece, Spelling, filled, spell, unquoted};
use crate::permission::wrapper::{self, base_name};

/// Programs that run their arguments as a script.
const EVALUATORS: &[&str] = &["eval", "trap", "alias"];

/// Programs that read a script from their input or a file, and with an option `-c` from an argument.
const SHELLS: &[&str] =
    &["bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "source", "."];

/// Whether a program that the line starts comes from the arguments of a function or a script, or is
/// the last word of the command before.
#[must_use]
pub fn starts_argument(script: &Script) -> bool {
    script.all_commands().into_iter().any(|command| {
        let (starts, _) = wrapper::starts(&command.words);
        let mut words = starts.into_iter().filter_map(|start| command.words.get(start));
        words.any(has_argument)
    })
}

/// Whether the word holds `$1`, `$@`, `$_` or the like: values that a line gives without an
/// assignment.
#[must_use]
pub fn has_argument(word: &Word) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !word.literal
        && word.raw.match_indices('$').any(|(at, _)| {
            if word.raw[..at].ends_with('\\') {
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

/// The shell of the line that may run a text in which a part is only known when it runs.
#[must_use]
pub fn runs_assembled(script: &Script) -> Option<&str> {
    let commands = script.all_commands();
    let is_any_assembled = || {
        let words = commands.iter().flat_map(|command| &command.words);
        words.chain(script.all_inputs()).any(is_assembled)
    };
    let mut words = commands.iter().flat_map(|command| &command.words);
    let is_given = !script.all_inputs().is_empty() || words.any(|word| word.raw.contains("<("));
    let runs = |command: &&SimpleCommand| {
        wrapper::views(command).into_iter().any(|words| {
            let Some((program, arguments)) = words.split_first() else { return false };
            let program = base_name(&program.text);
            let takes_text = |word: &Word| {
                word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.contains('c')
            };
            let is_shell = SHELLS.contains(&program);
            let is_text =
                EVALUATORS.contains(&program) || is_shell && arguments.iter().any(takes_text);
            is_text && arguments.iter().any(is_assembled)
                || is_shell && (command.is_fed || is_given) && is_any_assembled()
        })
    };
    commands.iter().copied().find(runs).map(|command| base_name(command.program()))
}

/// Whether a value, braces or a glob makes a part of the word. Of an output nothing is known, and
/// the command that puts it out is looked at by itself.
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

/// Whether a part of the line comes to the program's name by values of the line, by defaults or by
/// braces, wherever it stands. For lines whose commands are not all known.
#[must_use]
pub fn spells(line: &str, script: &Script, program: &str) -> bool {
    let values = value::values_of(script);
    let is_break = |c: char| c.is_whitespace() || ";|&()<>`".contains(c);
    let mut parts = line.split(is_break).filter(|part| part.contains(['$', '{']));
    parts.any(|part| {
        let raw = unquoted(part);
        let texts = std::iter::once(raw.clone()).chain(filled(&raw));
        let words = texts.map(|raw| Word { text: raw.clone(), raw, literal: false });
        words.into_iter().any(|word| value::comes_to(&word, program, &values))
    })
}
