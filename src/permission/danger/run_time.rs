//! Words known only at run time, which may turn out to be dangerous options.

use std::path::PathBuf;

use super::{
    Danger, OPEN_WORDS, end_of_options, find, find_in_reading, form, is_listed, is_message,
    listed_name, literal_word, open, operand,
};
use crate::permission::program::base_name;
use crate::permission::script::Word;
use crate::permission::spelling::{Piece, Spelling, spell, unquoted};
use crate::permission::wrapper::{self, InnerCommand};

/// Whether words known only at run time may stand for a dangerous option: one written elsewhere in
/// the line, as in `x=--output=f; git diff $x`, or one of unknown origin.
pub fn is_smuggled(
    words: &[Word],
    line: &str,
    bases: &[PathBuf],
    is_named: impl Fn(&Danger) -> bool,
) -> bool {
    let start = match wrapper::inner_command(words) {
        InnerCommand::From(inner) => inner,
        InnerCommand::Nothing | InnerCommand::Unclear => 0,
    };
    let runner = base_name(words.first().map_or("", |word| &word.text));
    let Some(words) = words.get(start..).filter(|words| !words.is_empty()) else { return false };
    if start > 0 && runner == "xargs" && takes_options(words) {
        return true;
    }
    if words.iter().all(|word| word.literal) {
        return false;
    }
    is_written_elsewhere(words, line, &is_named) || is_in_variable(words, line, bases, &is_named)
}

/// Whether a word of a runner has text that comes from elsewhere, and may be the program.
pub fn has_unknown_program(words: &[Word], line: &str) -> bool {
    let is_unknown = |word: &Word| {
        !word.literal && word.raw.contains(['$', '`']) && !open::is_known(&word.raw, line)
    };
    words.first().is_some_and(takes_programs) && words.iter().skip(1).any(is_unknown)
}

/// Whether the word is the name of a program that starts any of those that its words name.
pub fn takes_programs(word: &Word) -> bool {
    let name = listed_name(&word.text);
    operand::is_runner(name) || operand::is_package_starter(name)
}

/// Whether a word after these may be an option of a program in the table, or a program.
fn takes_options(words: &[Word]) -> bool {
    let spelled = spell(words);
    let name = listed_name(&words[0].text);
    is_listed(name, &spelled) && end_of_options(name, &spelled) == spelled.len()
}

/// Whether the line contains, outside of the command, a dangerous option that an open word of the
/// command may stand for.
fn is_written_elsewhere(words: &[Word], line: &str, is_named: &impl Fn(&Danger) -> bool) -> bool {
    let Some(program) = words.first() else { return false };
    let line = unquoted(line);
    let pieces =
        line.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')'));
    let values = pieces.map(|piece| match piece.split_once('=') {
        Some((name, value)) if !name.starts_with('-') => value,
        _ => piece,
    });
    // After `--` a word is no option of the command, and says nothing about the same word elsewhere.
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let own: Vec<&str> = words[..end].iter().map(|word| word.text.as_str()).collect();
    let mut hidden =
        values.filter(|value| value.starts_with('-') && !own.contains(value)).peekable();
    if hidden.peek().is_none() {
        return false;
    }
    let sub_commands = words[1..].iter().filter(|word| !word.text.starts_with('-'));
    let mut all = vec![program.clone()];
    all.extend(sub_commands.cloned());
    let start = all.len();
    all.extend(hidden.map(literal_word));
    let is_hidden = |danger: &Danger| danger.place >= start && danger.option != OPEN_WORDS;
    // Wherever it is in the command, it is none of the rule's own words.
    let elsewhere = |danger: Danger| Danger { place: usize::MAX, ..danger };
    find(&all, &[]).into_iter().any(|danger| is_hidden(&danger) && !is_named(&elsewhere(danger)))
}

/// Whether a variable among the words of a program in the table may turn them into an option.
fn is_in_variable(
    words: &[Word],
    line: &str,
    bases: &[PathBuf],
    is_named: &impl Fn(&Danger) -> bool,
) -> bool {
    let spelled = spell(words);
    let name = listed_name(&words[0].text);
    let is_listed = is_listed(name, &spelled);
    let is_tar = matches!(name, "tar" | "bsdtar" | "gtar");
    let end = end_of_options(name, &spelled);
    // Braces make more words than are written; then all of them count.
    let end = if spelled.len() == words.len() { end } else { words.len() };
    // All variables together: one may hold the option and the next its value.
    let mut commands = vec![words[..1].to_vec()];
    let mut has_value = false;
    for (place, word) in words.iter().enumerate().skip(1) {
        let has_variable = !word.literal && word.raw.contains('$');
        let counts = place < end && has_variable && !is_message(name, &spelled, words, place);
        // The first word of tar holds its letters.
        if counts && place == 1 && is_tar && !open::is_known(&word.raw, line) {
            return true;
        }
        let alternatives = if counts { open::resolved(&word.raw, line) } else { None };
        if counts && alternatives.is_none() && (is_listed || ends_in_option(word)) {
            return true;
        }
        let Some(alternatives) = alternatives else {
            commands.iter_mut().for_each(|command| command.push(word.clone()));
            continue;
        };
        has_value = true;
        if commands.len() * alternatives.len() > MAX_COMMANDS {
            return is_listed || line.contains("--");
        }
        let with = |command: &Vec<Word>| -> Vec<Vec<Word>> {
            let texts =
                alternatives.iter().map(|texts| texts.iter().map(|text| literal_word(text)));
            texts.map(|own| command.iter().cloned().chain(own).collect()).collect()
        };
        commands = commands.iter().flat_map(with).collect();
    }
    let is_danger = |danger: &Danger| danger.option != OPEN_WORDS && !is_named(danger);
    // What no word shows is known of the command as it is written.
    has_value
        && commands.iter().any(|command| find_in_reading(command, bases).iter().any(is_danger))
}

/// Whether an option with a telling name follows a variable in the word, as in `$x--log-file=f`.
fn ends_in_option(word: &Word) -> bool {
    let is_char = |piece: &Piece| matches!(piece, Piece::Char(_));
    spell(std::slice::from_ref(word)).into_iter().any(|spelling| {
        let pieces = spelling.into_pieces();
        let ends = pieces.split(|piece| !is_char(piece)).skip(1);
        let mut ends = ends.map(|end| Spelling::Open(end.to_vec()).outline());
        ends.any(|end| end.starts_with("--") && form::telling_option(&end).is_some())
    })
}

/// Commands that the values of variables may make of one; with more, the user is asked.
const MAX_COMMANDS: usize = 64;
