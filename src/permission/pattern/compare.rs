//! Compares the words of one rule with the words of one command.

use super::options::{GivenOptions, letters_with_value};
use super::restriction::Restriction;
use super::word::{fits, is_path, may_be_file, may_end_as_file, names_file, same_file, same_noun};
use crate::permission::program::{Program, base_name, is_git_command};
use crate::permission::script::Word;
use crate::permission::shell::has_other_expansion;
use crate::permission::spelling::{Spelling, spell};
use crate::permission::wrapper::package_name;

/// Compares the words of a rule with those of a command. `exact` rules end with their last word;
/// `appends` says that more words may follow than are in the line.
pub fn compare(rule: &str, exact: bool, words: &[Word], appends: bool) -> Restriction {
    let mut tokens = rule.split(' ').filter(|token| *token != "*");
    let Some(program) = tokens.next().filter(|program| !program.contains('*')) else {
        return Restriction::No;
    };
    // `git-push` is git's own name for `git push`.
    let joined = tokens.clone().next().map(|token| format!("{}-{token}", base_name(program)));
    if let Some(joined) = joined
        && words.first().is_some_and(|word| base_name(&word.text) == joined)
    {
        let rest: Vec<&str> = tokens.skip(1).collect();
        let rule = [&[joined.as_str()], rest.as_slice()].concat().join(" ");
        return compare(&rule, exact, words, appends);
    }
    let doubt = match same_program(program, words) {
        Restriction::No => return Restriction::No,
        Restriction::Maybe(why) => Some(why),
        Restriction::Yes => None,
    };
    let tokens: Vec<&str> = tokens.collect();
    let known = Program::named(program);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let comparison = Comparison {
        name: base_name(program),
        known,
        words: spell(words).into_iter().flat_map(|word| split_flag(known, word)).collect(),
        names_command: rule
            .split(' ')
            .nth(1)
            .is_some_and(|word| !word.starts_with('-') && word.chars().all(is_letter)),
        tokens,
        exact,
        appends,
    };
    match (comparison.run(), doubt) {
        (Restriction::Yes, Some(doubt)) => Restriction::Maybe(doubt),
        (found, _) => found,
    }
}

/// The word, or the two that the program makes of it.
fn split_flag<'w>(known: Option<&Program>, word: Spelling<'w>) -> Vec<Spelling<'w>> {
    let text = word.exact();
    match known.zip(text).and_then(|(known, text)| known.split_flag(text)) {
        Some((flag, value)) => {
            [flag, value].map(|part| Spelling::Plain(part.to_owned().into())).into()
        }
        None => vec![word],
    }
}

fn same_program(program: &str, words: &[Word]) -> Restriction {
    let spelled = spell(words.get(..1).unwrap_or_default());
    let Some(first) = spelled.first() else { return Restriction::No };
    let (name, base) = (base_name(program), first.base());
    match base.exact() {
        Some(text) if text != name => Restriction::No,
        Some(_) if program.contains('/') && first.exact() != Some(program) => {
            Restriction::Maybe(format!("`{name}` may be the same program by another path"))
        }
        Some(_) => Restriction::Yes,
        // A name that comes entirely from elsewhere is compared with nothing.
        None if base.may_be(name) && (!base.is_one_value() || is_computed(words)) => {
            Restriction::Maybe("which program runs is known only at run time".to_owned())
        }
        None => Restriction::No,
    }
}

/// Whether an expansion such as `${name:-text}` computes a part of the first word.
fn is_computed(words: &[Word]) -> bool {
    words.first().is_some_and(|word| has_other_expansion(&word.raw))
}

struct Comparison<'a> {
    name: &'a str,
    known: Option<&'static Program>,
    /// Including the program.
    words: Vec<Spelling<'a>>,
    /// Excluding the program.
    tokens: Vec<&'a str>,
    /// The rule's second word is the name of a sub-command.
    names_command: bool,
    exact: bool,
    appends: bool,
}

/// Git commands that run others, of git or not, named among their words.
const STARTERS: &[&str] = &[
    "bisect",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "hook",
    "rebase",
    "shell",
    "submodule",
];

impl Comparison<'_> {
    fn run(&self) -> Restriction {
        let (found, at) = self.in_order();
        if found != Restriction::No {
            return found;
        }
        match self.alias(at) {
            Some(why) => Restriction::Maybe(why),
            None if self.is_other_command(at) => Restriction::No,
            None => self.anywhere(at),
        }
    }

    /// Goes through the words of the rule one by one, skipping known options; also returns the
    /// position of the sub-command.
    fn in_order(&self) -> (Restriction, usize) {
        let (mut at, mut doubt) = (1, None);
        let mut sub_command = None;
        for token in &self.tokens {
            if !token.starts_with('-') {
                at = self.past_options(at, token, &mut doubt);
            }
            let place = *sub_command.get_or_insert(at);
            match self.words.get(at) {
                None if self.appends => {
                    doubt = Some("it gets more words from its input".to_owned());
                }
                None => return (Restriction::No, place),
                Some(word) => match self.agree(token, word) {
                    Restriction::No => return (Restriction::No, place),
                    Restriction::Maybe(why) => doubt = Some(why),
                    Restriction::Yes => {}
                },
            }
            at += 1;
        }
        let place = sub_command.unwrap_or(at);
        let rest = self.words.get(at..).unwrap_or_default();
        if self.exact && !rest.is_empty() {
            if !rest.iter().all(Spelling::is_unknown) {
                return (Restriction::No, place);
            }
            doubt = Some("how many words it has is known only at run time".to_owned());
        }
        (doubt.map_or(Restriction::Yes, Restriction::Maybe), place)
    }

    /// The position of the first word from `at` on that is no known option.
    fn past_options(&self, mut at: usize, token: &str, doubt: &mut Option<String>) -> usize {
        while let Some(word) = self.words.get(at).and_then(Spelling::exact) {
            if word == token {
                break;
            }
            let words = match self.known.and_then(|known| known.global_option(word)) {
                Some(option) => option.words,
                None if word == "--" => 1,
                None => break,
            };
            let values = self.words.get(at + 1..at + words).unwrap_or_default();
            // A value that is no single word may contain the sub-command too.
            if values.iter().any(|value| value.exact().is_none())
                && self.words[at..].iter().any(|word| word.exact() == Some(token))
            {
                *doubt = Some("how many words it has is known only at run time".to_owned());
            }
            at += words;
        }
        at
    }

    fn agree(&self, token: &str, word: &Spelling<'_>) -> Restriction {
        let Some(text) = word.exact() else {
            let is_token = word.may_be(token) && !(token.starts_with('-') && word.is_unknown());
            return match is_token || may_be_file(token, word) {
                true => Restriction::Maybe(format!(
                    "whether `{token}` is among its arguments is known only at run time"
                )),
                false => Restriction::No,
            };
        };
        let main = |word| self.known.map_or(word, |known| known.main_name(word));
        if main(text) == main(token) || fits(token, text) {
            return Restriction::Yes;
        }
        if let found @ (Restriction::Yes | Restriction::Maybe(_)) = same_file(token, text) {
            return found;
        }
        if package_name(text) == token || same_noun(token, text) {
            return Restriction::Maybe(format!("`{text}` may mean the same as `{token}`"));
        }
        // git has no short forms of its commands; many others do.
        let is_short = text.len() > usize::from(token.starts_with("--")) * 2
            && token.starts_with(text)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
            && (self.name != "git" || text.starts_with("--"));
        match is_short {
            true => Restriction::Maybe(format!("`{text}` may be short for `{token}`")),
            false => Restriction::No,
        }
    }

    /// Why the sub-command at `at` may be an alias of any other.
    fn alias(&self, at: usize) -> Option<String> {
        let before = self.words.get(1..at).unwrap_or_default();
        let names_alias = |word: &Spelling<'_>| {
            word.exact().is_some_and(|text| text.to_ascii_lowercase().contains("alias."))
        };
        if before.iter().any(names_alias) {
            return Some(format!("it defines an alias for a command of {}", self.name));
        }
        if self.name != "git" || self.tokens.is_empty() {
            return None;
        }
        let sub_command = self.words.get(at)?;
        match sub_command.exact() {
            Some(text) if text.starts_with('-') || is_git_command(text) => None,
            Some(text) => {
                Some(format!("`{text}` is not a built-in git command and may be an alias"))
            }
            None => Some("which git command it runs is known only at run time".to_owned()),
        }
    }

    /// Whether git runs one of its own commands that is not the rule's and starts no other: then
    /// all later words are data.
    fn is_other_command(&self, at: usize) -> bool {
        let Some(known) = self.known.filter(|_| self.name == "git" && self.names_command) else {
            return false;
        };
        let is_plain = |text: &&str| is_git_command(text) && !STARTERS.contains(text);
        let own = self.words.get(at).and_then(Spelling::exact).filter(is_plain);
        let wanted = self.tokens.first();
        own.zip(wanted).is_some_and(|(own, wanted)| known.main_name(own) != known.main_name(wanted))
    }

    /// Looks for the words of the rule among all arguments, in their order. The sub-command is at `at`.
    fn anywhere(&self, at: usize) -> Restriction {
        let sub_command = self.words.get(at).and_then(Spelling::exact).unwrap_or_default();
        let starts = self.name == "git" && STARTERS.contains(&sub_command);
        // A command that runs others may have theirs after the mark.
        let end = self.words.iter().position(|word| !starts && word.exact() == Some("--"));
        let words = self.words.get(1..end.unwrap_or(self.words.len())).unwrap_or_default();
        if let Some(last) = self.tokens.last() {
            let mut tokens = self.tokens.iter().peekable();
            let mut final_word = None;
            for word in words {
                let Some(token) = tokens.peek() else { break };
                let is_open = sub_command == "for-each-repo" && word.may_be(token);
                let is_file = || is_path(token) && names_file(token, word);
                if is_open || word.exact().is_some_and(|text| fits(token, text)) || is_file() {
                    tokens.next();
                    final_word = Some(word);
                }
            }
            let at_end = !self.exact || final_word == words.last();
            if tokens.peek().is_none() && at_end {
                return Restriction::Maybe(format!("`{last}` is among its arguments"));
            }
        }
        self.in_other_spelling(words, sub_command)
    }

    /// Compares options by their meaning, in any order and spelling: `rm -r -f` as `rm -rf`, and
    /// `git push -f` as `git push --force`. The other words of the rule must be among the
    /// command's, in their order.
    fn in_other_spelling(&self, words: &[Spelling<'_>], sub_command: &str) -> Restriction {
        let is_option = |word: &str| word.starts_with('-') && word.len() > 1;
        let mut given: Vec<&str> = words.iter().filter_map(Spelling::exact).collect();
        // The first word of tar needs no dash.
        let bundle = given.first().filter(|word| self.name.ends_with("tar") && !is_option(word));
        let bundle = bundle.map(|word| format!("-{word}"));
        given.extend(bundle.as_deref());
        // `-fx`, `--file=x` and `--file x` for `-f x`: only the program knows which long option a letter stands for.
        let has_value = |option: &str, value: &str| {
            let is_given = given.iter().enumerate().any(|(at, word)| {
                let rest = word.strip_suffix(value).unwrap_or_default();
                let before = at.checked_sub(1).map_or("", |before| given[before]);
                let after_name = word.split_once('=').map(|(_, value)| value);
                let joined = word.strip_prefix(option).or(after_name);
                rest == option
                    || is_option(word) && rest.ends_with('=')
                    || (word == &value
                        || is_path(value) && same_file(value, word) != Restriction::No)
                        && is_option(before)
                    || is_option(word)
                        && joined.is_some_and(|joined| same_file(value, joined) != Restriction::No)
            });
            let is_open =
                |word: &Spelling<'_>| is_option(&word.beginning()) && may_end_as_file(value, word);
            is_given || words.iter().any(is_open)
        };
        let mut tokens: Vec<&str> = Vec::new();
        let mut left = self.tokens.as_slice();
        while let [token, rest @ ..] = left {
            left = match rest {
                // `-fx` and `--file=x` for `-f x`.
                [value, rest @ ..]
                    if is_option(token) && !is_option(value) && has_value(token, value) =>
                {
                    rest
                }
                _ => {
                    tokens.push(token);
                    rest
                }
            };
        }
        let has_values = tokens.len() < self.tokens.len();
        let (options, names): (Vec<&str>, Vec<&str>) =
            tokens.into_iter().partition(|token| is_option(token));
        let mut operands = given.iter().filter(|word| !is_option(word));
        let has_names = names.iter().all(|name| operands.any(|word| fits(name, word)));
        let values = letters_with_value(self.name, sub_command);
        let given = GivenOptions { words: &given, folds: names.is_empty(), values };
        // git also writes these as a mark before the name of a branch.
        let has_mark = |mark: char| {
            (self.name, sub_command) == ("git", "push")
                && given.words.iter().any(|it| it.starts_with(mark))
        };
        let has = |option: &&str| {
            given.has(option)
                || given.may_have(option)
                || (*option == "-f" || option.starts_with("--force")) && has_mark('+')
                || matches!(*option, "-d" | "--delete") && has_mark(':')
        };
        let is_certain = options.is_empty() && !has_values;
        if is_certain || !has_names || !options.iter().all(has) {
            return Restriction::No;
        }
        Restriction::Maybe(format!("its options may mean the same as `{}`", self.tokens.join(" ")))
    }
}
