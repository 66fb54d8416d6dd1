//! Compares the words of one rule with the words of one command.

use super::restriction::Restriction;
use crate::permission::danger;
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

/// Git commands, and the letters that always give the rest of their word to an option as its value.
const GIT_LETTERS: &[(&str, &str)] = &[
    ("branch", "u"),
    ("checkout", "bB"),
    ("commit", "cCFmStu"),
    ("grep", "ABCefmO"),
    ("log show", "GLSUln"),
    ("merge", "FmsSX"),
    ("push", "o"),
    ("rebase", "CsSxX"),
    ("tag", "Fmnu"),
];

/// Letters after which a word of the command contains no more options.
fn letters_with_value(program: &str, sub_command: &str) -> &'static str {
    if program != "git" {
        return danger::letters_with_value(program);
    }
    let is_own = |names: &str| names.split_whitespace().any(|name| name == sub_command);
    let found = GIT_LETTERS.iter().find(|(names, _)| is_own(names));
    found.map_or("", |(_, letters)| letters)
}

/// Long options that have this letter in most programs that know them.
const LETTERS: &[(&str, &str)] = &[
    ("--all", "aA"),
    ("--amend", ""),
    ("--cap-add", ""),
    ("--delete", "dD"),
    ("--extract", "x"),
    ("--follow-tags", ""),
    ("--force", "f"),
    ("--force-with-lease", ""),
    ("--hard", ""),
    ("--in-place", "i"),
    ("--message", "m"),
    ("--mirror", ""),
    ("--name-only", ""),
    ("--no-edit", ""),
    ("--no-verify", "n"),
    ("--oneline", ""),
    ("--privileged", ""),
    ("--prune", "p"),
    ("--recursive", "rR"),
    ("--remove", "r"),
    ("--set-upstream", "u"),
    ("--stat", ""),
    ("--tags", "t"),
    ("--yes", "y"),
];

/// Long options that mean the same in every program, and have no letter that means anything else.
const UNRELATED: &str = "--color --help --no-color --quiet --silent --verbose --version";

/// Long options of git that mean the same.
const SYNONYMS: &[[&str; 2]] = &[["--cached", "--staged"]];

/// The options among the words of a command.
struct GivenOptions<'a> {
    words: &'a [&'a str],
    /// Whether lower and upper case letters mean the same.
    folds: bool,
    /// Letters that take the rest of their word as a value.
    values: &'static str,
}

impl GivenOptions<'_> {
    /// Whether they may amount to the option.
    fn has(&self, option: &str) -> bool {
        if let Some(wanted) = letters(option) {
            // A value may follow the letter at once, as in `-i.bak`.
            let is_joined = |word: &&str| wanted.len() == 1 && word.starts_with(option);
            return self.words.iter().any(is_joined)
                || wanted.chars().all(|letter| self.has_letter(letter));
        }
        // Most programs accept abbreviated long options.
        let is_beginning = |word: &&str| {
            let name = word.split('=').next().unwrap_or_default();
            name.len() > 2 && name.starts_with("--") && option.starts_with(name)
        };
        let letters = LETTERS.iter().find(|(name, _)| *name == option);
        self.words.iter().any(|word| fits(option, word) || is_beginning(word))
            || letters.is_some_and(|(_, any)| any.chars().any(|letter| self.stands_alone(letter)))
    }

    /// Whether an option in the other form, a letter or a long name, may be the option: which letter
    /// stands for which name, only the program knows.
    fn may_have(&self, option: &str) -> bool {
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let bare = |word: &str| name(word).trim_start_matches('-').to_owned();
        let is_long = |word: &&&str| word.len() > 2 && word.starts_with("--");
        let known = |long: &str| LETTERS.iter().find(|(it, _)| *it == long);
        if let Some(wanted) = letters(option).filter(|letters| letters.len() == 1) {
            return self.words.iter().filter(is_long).map(|word| name(word)).any(|long| {
                !UNRELATED.split_whitespace().any(|it| it == long)
                    && known(&long).is_none_or(|(_, letters)| letters.contains(&wanted))
            });
        }
        let has_same_name = self.words.iter().any(|word| {
            word.starts_with('-') && bare(word) == bare(option)
                || SYNONYMS.iter().any(|pair| pair.contains(&option) && pair.contains(word))
        });
        let has_letters = || self.words.iter().any(|word| letters(word).is_some());
        has_same_name || option.starts_with("--") && known(option).is_none() && has_letters()
    }

    fn has_letter(&self, wanted: char) -> bool {
        // `-D` of git is `-d -f`.
        let is_forced =
            || wanted.is_ascii_uppercase() && self.is_given(wanted.to_ascii_lowercase());
        self.is_given(wanted) || is_forced() && self.is_given('f')
    }

    /// Whether the letter is given, or a long option for it: in a rule of options only, any that begins with it.
    fn is_given(&self, wanted: char) -> bool {
        let is_long = |word: &&str| {
            let Some(name) = word.strip_prefix("--") else { return false };
            let stands_for = |(long, letters): &(&str, &str)| {
                !name.is_empty() && long.starts_with(*word) && letters.contains(wanted)
            };
            LETTERS.iter().any(stands_for) || self.folds && self.is(name.chars().next(), wanted)
        };
        self.stands_alone(wanted) || self.words.iter().any(is_long)
    }

    /// Whether the letter is given after a single dash.
    fn stands_alone(&self, wanted: char) -> bool {
        let mut given = self.words.iter().filter_map(|word| letters(word));
        given.any(|letters| {
            let flags = danger::flags(&letters, self.values);
            flags.chars().any(|letter| self.is(Some(letter), wanted))
        })
    }

    fn is(&self, given: Option<char>, wanted: char) -> bool {
        given.is_some_and(|given| {
            given == wanted || self.folds && given.eq_ignore_ascii_case(&wanted)
        })
    }
}

/// The letters of `-abc`, with digits that are options among them: `-4f`.
fn letters(word: &str) -> Option<String> {
    let letters = word.strip_prefix('-')?;
    let is_cluster = letters.chars().all(|c| c.is_ascii_alphanumeric())
        && letters.contains(|c: char| c.is_ascii_alphabetic());
    is_cluster.then(|| letters.to_owned())
}

/// Whether the words name the same kind of thing: `secret`, `secrets`, `secret/x` and `pod,secret`.
fn same_noun(token: &str, word: &str) -> bool {
    let singular = |noun: &str| noun.strip_suffix('s').unwrap_or(noun).to_owned();
    let is_noun = |noun: &str| noun.len() > 2 && noun.chars().all(|c| c.is_ascii_alphabetic());
    let kinds = word.split('/').next().unwrap_or_default();
    is_noun(token)
        && kinds.split(',').any(|kind| is_noun(kind) && singular(kind) == singular(token))
}

/// Whether the text is written as a path: two plain words are names of their own, such as that of a
/// sub-command.
fn is_path(text: &str) -> bool {
    text.contains('/') || text.contains('.') && text.contains(char::is_alphanumeric)
}

/// Whether the word is, or may turn out to be, the file that the token names.
fn names_file(token: &str, word: &Spelling<'_>) -> bool {
    match word.exact() {
        Some(text) => same_file(token, text) != Restriction::No,
        None => may_be_file(token, word),
    }
}

/// Whether the word, whose folder is known only at run time, may be the file that the token names.
fn may_be_file(token: &str, word: &Spelling<'_>) -> bool {
    !word.beginning().starts_with('-') && may_end_as_file(token, word)
}

/// The same for a word that may begin with an option.
fn may_end_as_file(token: &str, word: &Spelling<'_>) -> bool {
    let is_file = !token.contains('*') && !token.starts_with('-');
    is_file && word.has_slash() && word.base().may_be(base_name(token))
}

/// Compares a word with the file that the token names, in another spelling of its path.
fn same_file(token: &str, word: &str) -> Restriction {
    let plain = |path: &str| {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.collect::<Vec<_>>().join("/")
    };
    let is_option = |word: &str| word.starts_with('-');
    if !(is_path(token) || word.contains('/'))
        || token.contains('*')
        || is_option(token)
        || is_option(word)
    {
        return Restriction::No;
    }
    match token.starts_with('/') == word.starts_with('/') && plain(token) == plain(word) {
        true => Restriction::Yes,
        false if base_name(token) == base_name(word) => {
            Restriction::Maybe(format!("`{word}` may be the same file as `{token}`"))
        }
        false => Restriction::No,
    }
}

/// Whether the word is the token, or the option that the token names with a value.
fn fits(token: &str, word: &str) -> bool {
    if token.contains('*') {
        return wild(token, word);
    }
    let value = || word.strip_prefix(token).is_some_and(|rest| rest.starts_with('='));
    word == token || token.starts_with("--") && value()
}

/// Whether `text` matches `pattern`, where `*` stands for any run of characters. Takes time linear
/// in the product of their lengths.
pub fn wild(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(place) => rest = &rest[place + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::wild;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("*", "anything", true),
        ] {
            assert_eq!(wild(pattern, text), expected, "{pattern} ~ {text}");
        }
    }
}
