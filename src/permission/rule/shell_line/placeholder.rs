//! The placeholders of xargs, find and the like, in whose place they put names and lines that they
//! read.

use std::borrow::Cow;

use crate::permission::program::base_name;
use crate::permission::script::{SimpleCommand, Word};
use crate::permission::wrapper;

/// Programs that append words of their input to the command they run.
pub const APPENDERS: &[&str] = &["xargs", "parallel", "find", "fd", "fdfind"];

/// The words of a command that `runner` starts, if that is one of these. A word with a placeholder
/// is known only at run time. The first one is the program.
pub fn open<'a>(runner: &[Word], words: &'a [Word]) -> Cow<'a, [Word]> {
    let Some(own) = own_placeholders(runner) else { return words.into() };
    let open = |word: &Word| match has_placeholder(&own, &word.raw, &word.text) {
        true => {
            // Nothing certain is left of it but that it may be a path.
            let raw = if is_path(&word.text) { "\"$x/$x\"" } else { "\"$x\"" };
            Word { raw: raw.to_owned(), literal: false, ..word.clone() }
        }
        false => word.clone(),
    };
    let (program, rest) = words.split_at(words.len().min(1));
    program.iter().cloned().chain(rest.iter().map(open)).collect()
}

/// Whether `runner` is one of these programs and puts text into the word.
pub fn is_in(runner: &[Word], word: &Word) -> bool {
    own_placeholders(runner).is_some_and(|own| has_placeholder(&own, &word.raw, &word.text))
}

/// Whether one of these programs puts text into a script that the command runs.
pub fn is_in_script(command: &SimpleCommand) -> bool {
    let Some(own) = own_placeholders(&command.words) else { return false };
    let (scripts, _) = wrapper::script_texts(command);
    let has = |text: &str| has_placeholder(&own, text, text);
    // It hands its words to a shell.
    let joins = |word: &Word| base_name(&word.text) == "parallel";
    scripts.iter().any(|text| has(text))
        || command.words.iter().any(joins)
            && command.words.iter().any(|it| it.text.contains(' ') && has(&it.text))
}

fn has_placeholder(own: &[&str], raw: &str, text: &str) -> bool {
    // Every text has the empty one.
    own.iter().any(|own| raw.contains(own) || text.contains(own))
        || inner_texts(raw).chain(inner_texts(text)).next().is_some()
}

/// The text between the braces of `{}`, `{/}`, `{//}`, `{.}`, `{1}`, `{name}` and the like. With a
/// comma or a blank they are none, other than in `{= … =}`.
fn inner_texts(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(at, _)| {
        let (inner, _) = text[at + 1..].split_once('}')?;
        let is_other = inner.contains(|c: char| c == ',' || c.is_whitespace());
        (!is_other || inner.starts_with('=')).then_some(inner)
    })
}

/// Whether there is a slash outside of the placeholders.
fn is_path(text: &str) -> bool {
    let within: usize = inner_texts(text).map(|inner| inner.matches('/').count()).sum();
    text.matches('/').count() > within
}

/// Options of parallel that name no placeholder, with the letters that take no value and those that
/// do.
const PARALLEL_OPTIONS: &str = "\
    --arg-file --bar --bg --colsep --compress --delay --dry-run --dryrun --eta --fg --group --halt --header --jobs \
    --joblog --keep-order --line-buffer --linebuffer --link --load --max-args --max-lines --max-procs --memfree \
    --nice --no-notice --no-run-if-empty --null --progress --quiet --quote --resume --retries --results --semaphore \
    --shuf --tag --timeout --trim --ungroup --verbose --wait --will-cite --xargs";
const PARALLEL_LETTERS: &str = "0gkmqrtuvXx";
const PARALLEL_VALUES: &str = "CELNPadjns";

/// The placeholders that the first of these programs among the words may be given; `None` if there is
/// none. An empty one stands for any word.
fn own_placeholders(words: &[Word]) -> Option<Vec<&str>> {
    let reads_input = |word: &Word| APPENDERS.contains(&base_name(&word.text));
    let at = words.iter().position(reads_input)?;
    let name = base_name(&words[at].text);
    if !matches!(name, "xargs" | "parallel") {
        return Some(Vec::new());
    }
    let options = words[at + 1..].iter().enumerate();
    let own = options.filter_map(|(after, word)| {
        let text = word.text.as_str();
        let next = || words.get(at + after + 2).map(|word| word.text.as_str());
        if let Some(long) = text.strip_prefix("--").filter(|_| name == "xargs") {
            return long.split_once('=').filter(|(name, _)| name.starts_with('r')).map(|it| it.1);
        }
        // Letters and numbers of other options may precede it.
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        let (before, own) = letters.split_once(['I', 'J', 'i'])?;
        let is_cluster = before.chars().all(|c| c.is_ascii_alphanumeric());
        let takes_next = || !letters[before.len()..].starts_with('i');
        match own {
            _ if !is_cluster => None,
            "" => takes_next().then(next).flatten(),
            own => Some(own),
        }
    });
    let mut own: Vec<&str> = own.filter(|own| !own.is_empty()).collect();
    // Parallel has many options by which it puts other text into a word.
    if name == "parallel" && !words[at + 1..].iter().all(|word| is_plain_option(&word.text)) {
        own.push("");
    }
    Some(own)
}

/// Whether the word of parallel is no option that may name a placeholder.
fn is_plain_option(text: &str) -> bool {
    let Some(letters) = text.strip_prefix('-') else { return true };
    if letters.starts_with('-') {
        let name = text.split('=').next().unwrap_or_default();
        return PARALLEL_OPTIONS.split_whitespace().any(|known| known == name);
    }
    let end = letters.find(|letter| PARALLEL_VALUES.contains(letter)).unwrap_or(letters.len());
    letters[..end].chars().all(|letter| PARALLEL_LETTERS.contains(letter) || letter == 'I')
}
