//! Programs and arguments assembled from values of variables that the line itself sets.

use super::mention::occurrences;
use crate::permission::interpreter::interprets;
use crate::permission::program::base_name;
use crate::permission::script::{Script, SimpleCommand, Word, printf_sets};
use crate::permission::spelling::{Piece, Spelling, spell, unquoted};
use crate::permission::variables;
use crate::permission::wrapper;

/// Maximum texts that the values of variables make of one word; with more it may be any program.
const MAX_TEXTS: usize = 1024;

/// Programs that set the variables they are given to their input or output.
const READERS: [&str; 4] = ["mapfile", "printf", "read", "readarray"];

/// Programs whose arguments are assignments.
const DECLARERS: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// Values, each with the name of its variable.
pub type ValueList = Vec<(String, Vec<Piece>)>;

/// The values that the line gives to variables.
pub fn values_of(script: &Script) -> ValueList {
    let named = |(name, texts): (String, Vec<Vec<Piece>>)| {
        let words: Vec<_> = texts.iter().flat_map(|text| variables::words_of(text)).collect();
        texts.into_iter().chain(words).map(move |text| (name.clone(), text))
    };
    variables::variable_texts(script).into_iter().flat_map(named).collect()
}

/// Whether a program that the line starts can be this one, given the values that the line sets.
pub fn may_start(script: &Script, program: &str) -> bool {
    let values = values_of(script);
    let may_be = |word: &Word| {
        let spelled = spell(std::slice::from_ref(word)).into_iter();
        let texts: Vec<_> = spelled.map(Spelling::into_pieces).collect();
        // With custom separators, or in an expansion such as `${name#part}`, a part of a value is the name.
        let is_cut = word.raw.contains("${") && texts.iter().any(|it| it.contains(&Piece::Any));
        let takes_parts = is_cut || values.iter().any(|(name, _)| name == "IFS");
        let holds = || values.iter().any(|(_, value)| text_of(value).contains(program));
        takes_parts && holds() || texts.iter().any(|text| can_make(text, program, &values))
    };
    let commands = script.all_commands();
    let set = set_by(&commands);
    let programs = commands.iter().flat_map(|command| {
        let (starts, _) = wrapper::program_starts(&command.words);
        starts.into_iter().filter_map(|start| command.words.get(start))
    });
    let mut programs = programs.filter(|word| !word.literal);
    let is_open = |word: &Word| set.as_ref().is_none_or(|set| is_open(word, program, set));
    if programs.any(|word| may_be(word) || is_open(word)) {
        return true;
    }
    // A text that is run may be assembled too, and so may the input of such a program.
    let words = commands.iter().flat_map(|command| &command.words);
    let mut words = words.chain(script.all_inputs()).filter(|word| !word.literal);
    commands.iter().any(|command| runs(command, interprets))
        && words.any(|word| can_become(word, program, &values))
}

/// Whether the word contains the program's name once braces and values are expanded.
pub fn can_become(word: &Word, program: &str, values: &ValueList) -> bool {
    let mut texts = spell(std::slice::from_ref(word)).into_iter().map(Spelling::into_pieces);
    texts.any(|text| {
        let is_named = |text: &Vec<Piece>| occurrences(&text_of(text), program) > 0;
        substituted(&text, values).is_none_or(|texts| texts.iter().any(is_named))
    })
}

/// Whether values of the line may join to the program's name in an argument of the command.
pub fn may_pass(command: &SimpleCommand, program: &str, values: &ValueList) -> bool {
    let mut words = command.arguments().iter().filter(|word| !word.literal);
    words.any(|word| can_become(word, program, values))
}

/// Whether an argument of the program may contain one of the rule's words, or an option where the
/// rule has one: by a value that the line sets, by a default, or by a command's output.
pub fn may_give(script: &Script, program: &str, tokens: &[&str]) -> bool {
    let values = values_of(script);
    let commands = script.all_commands();
    let set = set_by(&commands);
    let has_option = tokens.iter().any(|token| token.starts_with('-'));
    let is_token = |word: &str| {
        tokens.contains(&word) || has_option && word.len() > 1 && word.starts_with('-')
    };
    let gives = |word: &&Word| {
        // Quoted, it is one word.
        let is_quoted = word.raw.starts_with('"');
        let is_meant = |text: &str| match is_quoted {
            true => is_token(text),
            false => text.split_whitespace().any(is_token),
        };
        let is_set = |piece: &Piece| matches!(piece, Piece::Variable(name) if values.iter().any(|(own, _)| own == name));
        // A command sets it to its input.
        let is_read = |piece: &Piece| match piece {
            Piece::Variable(name) => set.as_ref().is_none_or(|set| set.contains(name)),
            _ => false,
        };
        let mut texts = spell(std::slice::from_ref(*word)).into_iter().map(Spelling::into_pieces);
        // Quoted text is hardly one of the words, and often describes them.
        let in_output =
            |token: &&str| (token.starts_with('-') || !is_quoted) && word.raw.contains(*token);
        word.raw.contains(['(', '`']) && tokens.iter().any(in_output)
            || has_option && Word::has_positional(word)
            || texts.any(|text| {
                let made = |texts: Vec<Vec<Piece>>| texts.iter().any(|it| is_meant(&text_of(it)));
                has_option && text.iter().any(is_read)
                    || text.iter().any(is_set) && substituted(&text, &values).is_none_or(made)
            })
    };
    commands.iter().any(|command| {
        let (starts, _) = wrapper::program_starts(&command.words);
        starts.into_iter().filter_map(|start| command.words.get(start..)).any(|words| {
            words.split_first().is_some_and(|(name, arguments)| {
                base_name(&name.text) == program
                    && arguments.iter().filter(|word| !word.literal).any(|word| gives(&word))
            })
        })
    })
}

/// Whether the predicate holds for the command, or for one that it may run.
fn runs(command: &SimpleCommand, is_it: impl Fn(&[Word]) -> bool) -> bool {
    wrapper::possible_commands(command).into_iter().any(is_it)
}

/// The variables that commands of the line set to values not in the line. `None` if these may be
/// any, or the positional ones.
fn set_by(commands: &[&SimpleCommand]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for command in commands {
        for words in wrapper::possible_commands(command) {
            let Some((program, arguments)) = words.split_first() else { continue };
            let program = base_name(&program.text);
            // The grammar does not see a quoted assignment as one.
            let is_plain = |word: &Word| word.literal && word.raw == word.text;
            let is_assignment = |word: &Word| is_plain(word) || !word.raw.contains(['=', '$']);
            match program {
                "set" if has_operands(arguments) => return None,
                "eval" if !arguments.iter().all(|word| word.literal) => return None,
                _ if DECLARERS.contains(&program) && !arguments.iter().all(is_assignment) => {
                    return None;
                }
                "printf" if !printf_sets(arguments) => {}
                _ if READERS.contains(&program) => {
                    if !arguments.iter().all(|word| word.literal) {
                        return None;
                    }
                    names.extend(["REPLY", "MAPFILE"].map(str::to_owned));
                    names.extend(
                        arguments.iter().map(|word| {
                            word.text.strip_prefix("-v").unwrap_or(&word.text).to_owned()
                        }),
                    );
                }
                _ => {}
            }
        }
    }
    Some(names)
}

/// Whether `set` gets more than options.
fn has_operands(arguments: &[Word]) -> bool {
    let mut is_value = false;
    arguments.iter().any(|word| {
        let is_option =
            word.text.len() > 1 && word.text != "--" && word.text.starts_with(['-', '+']);
        let takes_value = is_option && word.text.ends_with('o');
        let was_value = std::mem::replace(&mut is_value, takes_value);
        !is_option && !was_value
    })
}

/// Whether the word may be the program because of one of these variables.
fn is_open(word: &Word, program: &str, set: &[String]) -> bool {
    let is_set = |piece: &Piece| matches!(piece, Piece::Variable(name) if set.contains(name));
    let words = spell(std::slice::from_ref(word));
    words
        .into_iter()
        .any(|word| word.base().may_be(program) && word.into_pieces().iter().any(is_set))
}

/// Whether values in the word can make it the program's name.
fn can_make(word: &[Piece], program: &str, values: &ValueList) -> bool {
    let is_set = |piece: &Piece| matches!(piece, Piece::Variable(name) if values.iter().any(|(own, _)| own == name));
    let is_blank = |piece: &Piece| matches!(piece, Piece::Char(c) if c.is_whitespace());
    let is_name = |text: Vec<Piece>| {
        let first = text.split(is_blank).find(|part| !part.is_empty()).unwrap_or_default();
        let name = Spelling::Open(first.to_vec());
        let base = name.base();
        base.may_be(program) && !name.is_one_value()
    };
    word.iter().any(is_set)
        && substituted(word, values).is_none_or(|texts| texts.into_iter().any(is_name))
}

fn text_of(pieces: &[Piece]) -> String {
    let char = |piece: &Piece| if let Piece::Char(c) = piece { *c } else { '?' };
    pieces.iter().map(char).collect()
}

/// The value as bash takes it unquoted: a glob in it matches file names, and a backslash quotes.
fn globbed(value: &[Piece]) -> Vec<Piece> {
    let is_glob = |piece: &Piece| matches!(piece, Piece::Char('*' | '?' | '['));
    let has_glob = value.iter().any(is_glob);
    let kept = value.iter().filter(|piece| !(has_glob && **piece == Piece::Char('\\')));
    kept.map(|it| if is_glob(it) { Piece::Star } else { it.clone() }).collect()
}

/// The texts that the values make of one; `None` if they are too many.
fn substituted(text: &[Piece], values: &ValueList) -> Option<Vec<Vec<Piece>>> {
    let mut texts: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in text {
        let own: Vec<&[Piece]> = match piece {
            Piece::Variable(name) => {
                let own = values.iter().filter(|(own, _)| own == name);
                own.map(|(_, value)| value.as_slice()).collect()
            }
            _ => Vec::new(),
        };
        if own.is_empty() {
            texts.iter_mut().for_each(|text| text.push(piece.clone()));
            continue;
        }
        if texts.len() * own.len() > MAX_TEXTS {
            return None;
        }
        let with = |text: &Vec<Piece>| -> Vec<Vec<Piece>> {
            own.iter().map(|value| [text.as_slice(), &globbed(value)].concat()).collect()
        };
        texts = texts.iter().flat_map(with).collect();
    }
    Some(texts)
}

/// Whether a part of the line may become the program's name by values of the line or by braces,
/// wherever it is. For lines whose commands are not all known.
pub fn spells(line: &str, script: &Script, program: &str) -> bool {
    let values = values_of(script);
    let is_break = |c: char| c.is_whitespace() || ";|&()<>`".contains(c);
    let mut parts = line.split(is_break).filter(|part| part.contains(['$', '{']));
    parts.any(|part| {
        let raw = unquoted(part);
        can_become(&Word { text: raw.clone(), raw, literal: false }, program, &values)
    })
}
