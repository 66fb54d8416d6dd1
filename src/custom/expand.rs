//! What a `/name` in a prompt stands for.

use super::{Custom, Customs, Place, Problem};

/// A longer text gets no more arguments: many places for long ones would fill the memory. Bytes.
const MAX_FILLED: usize = 1 << 20;

/// What the model reads besides `/name …` itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// What the person must know of it, one line each.
    pub notices: Vec<String>,
}

impl Customs {
    /// What a prompt that begins with `/name` means; `None` when it is a prompt like any other. The
    /// error is one line for the person: the file of this name is broken.
    #[must_use]
    pub fn expand(&self, prompt: &str) -> Option<Result<Expansion, String>> {
        let (name, arguments) = parts(prompt)?;
        if let Some(custom) = self.called(name) {
            return Some(Ok(expansion(custom, arguments)));
        }
        let refused = |problem: &Problem| match problem {
            Problem::Refused { name: of, error } if of == name => Some(error.to_string()),
            _ => None,
        };
        let why = self.problems().iter().find_map(refused).filter(|_| !self.is_reserved(name))?;
        Some(Err(format!("{why}. Nothing was sent.")))
    }
}

/// The name behind the slash, and what follows it.
fn parts(prompt: &str) -> Option<(&str, &str)> {
    let line = prompt.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!name.is_empty()).then(|| (name, arguments.trim()))
}

fn expansion(custom: &Custom, arguments: &str) -> Expansion {
    let Custom { name, place, .. } = custom;
    let head = match place {
        Place::BuiltIn => format!("[The command /{name} says:]"),
        Place::File(path) => format!("[/{name}, from {}, says:]", path.display()),
    };
    let mut text = format!("{head}\n\n{}", custom.text(arguments));
    let mut notices = Vec::new();
    if !custom.passed_over.is_empty() {
        notices
            .push(format!("/{name}: {} in {place} does not count", custom.passed_over.join(", ")));
    }
    if runs_commands(&custom.body) {
        text.push_str("\n\n[What is written as !`…` above are shell commands that were not run. Where their output matters, run them yourself before you go on.]");
        notices.push(format!("/{name}: its !`…` commands do not run by themselves; the model may run them, as your permission rules allow"));
    }
    Expansion { text, notices }
}

impl Custom {
    /// The text with the arguments in their places, and behind it where it has no place for them.
    #[must_use]
    pub fn text(&self, arguments: &str) -> String {
        let (mut text, placed) = filled(&self.body, arguments);
        if !placed && !arguments.trim().is_empty() {
            text.push_str(&format!("\n\nARGUMENTS: {arguments}"));
        }
        match self.folder() {
            Some(folder) => {
                let text = text.replace("${CLAUDE_SKILL_DIR}", &folder);
                format!("Base directory of this skill, for the files it names: {folder}\n\n{text}")
            }
            None => text,
        }
    }

    /// The folder of a skill.
    fn folder(&self) -> Option<String> {
        match &self.place {
            Place::File(path) if path.ends_with("SKILL.md") => {
                path.parent().map(|folder| folder.display().to_string())
            }
            _ => None,
        }
    }
}

/// `$ARGUMENTS` and `$1` to `$9` replaced; whether there was any. What is put in is not looked at
/// again, and nothing more is put in once there is too much.
fn filled(body: &str, arguments: &str) -> (String, bool) {
    let single = words(arguments);
    let (mut text, mut placed, mut rest) = (String::new(), false, body);
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let number = after.chars().next().and_then(|digit| digit.to_digit(10));
        let longer = after.chars().nth(1).is_some_and(|next| next.is_ascii_digit());
        if text.len() + arguments.len() > MAX_FILLED {
            text.push('$');
            rest = after;
        } else if let Some(after) = after.strip_prefix("ARGUMENTS") {
            text.push_str(arguments);
            (placed, rest) = (true, after);
        } else if let Some(number @ 1..=9) = number.filter(|_| !longer) {
            text.push_str(single.get(number as usize - 1).map_or("", String::as_str));
            (placed, rest) = (true, &after[1..]);
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    (text, placed)
}

/// The words of a line. Quotes hold one together, and are not part of it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            None if matches!(letter, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Whether a text has a command in it that other programs run before they send it.
fn runs_commands(body: &str) -> bool {
    body.match_indices("!`").any(|(at, _)| {
        let begins = body[..at].chars().next_back().is_none_or(char::is_whitespace);
        begins && body[at + 2..].lines().next().is_some_and(|line| line.contains('`'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_take_their_places_once_and_quotes_hold_words_together() {
        let table = [
            ("fix $1 in $2", "a b", "fix a in b"),
            ("fix $ARGUMENTS!", "$1 two", "fix $1 two!"),
            ("$1|$2|$9", "'one two' \"th\"ree", "one two|three|"),
            ("costs $10 and $0, $x $", "a", "costs $10 and $0, $x $\n\nARGUMENTS: a"),
            ("it's $1", "it's fine", "it's its fine"),
            ("plain", "", "plain"),
        ];
        for (body, arguments, expected) in table {
            let custom = Custom {
                name: String::new(),
                description: String::new(),
                argument_hint: None,
                body: body.to_owned(),
                place: Place::BuiltIn,
                only_person: true,
                only_model: false,
                passed_over: Vec::new(),
            };
            assert_eq!(custom.text(arguments), expected);
        }
    }

    #[test]
    fn many_places_for_long_arguments_stay_within_bounds() {
        let (text, placed) = filled(&"$ARGUMENTS ".repeat(20_000), &"x".repeat(100_000));
        assert!(placed && text.len() < MAX_FILLED + 300_000, "{}", text.len());
        assert!(text.starts_with("xx") && text.ends_with(" $ARGUMENTS "));
    }

    #[test]
    fn only_a_word_that_begins_so_is_a_command_to_run() {
        let found = ["- !`git status`", "a!`x`", "!`open", "`!`", "!`a\nb`"].map(runs_commands);
        assert_eq!(found, [true, false, false, false, false]);
    }

    #[test]
    fn a_slash_alone_is_no_name() {
        assert_eq!(parts(" /fix  a b "), Some(("fix", "a b")));
        assert_eq!(parts("/ fix"), None);
        assert_eq!(parts("fix"), None);
    }
}
