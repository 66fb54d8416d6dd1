//! Expands a `/name` at the start of a prompt.

use super::def::{CommandDef, CommandOrigin};
use super::set::CommandSet;

/// Maximum size of a text, in bytes, up to which arguments are inserted: many placeholders for long
/// arguments would fill the memory.
const MAX_EXPANDED: usize = 1 << 20;

/// The text that the model reads besides `/name …` itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// Notices for the user, one line each.
    pub notices: Vec<String>,
}

impl CommandSet {
    /// Expands a prompt that begins with `/name`; `None` if it is an ordinary prompt. The error is
    /// one line for the user: the file of this name is broken.
    pub fn expand(&self, prompt: &str) -> Option<Result<Expansion, String>> {
        let (name, arguments) = split_prompt(prompt)?;
        if let Some(custom) = self.find_callable(name) {
            return Some(Ok(expand_command(custom, arguments)));
        }
        let (_, why) = self.refused().find(|(refused, _)| *refused == name)?;
        Some(Err(format!("{why}. Nothing was sent.")))
    }
}

/// Returns the name after the slash, and the rest.
fn split_prompt(prompt: &str) -> Option<(&str, &str)> {
    let line = prompt.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!name.is_empty()).then(|| (name, arguments.trim()))
}

fn expand_command(custom: &CommandDef, arguments: &str) -> Expansion {
    let CommandDef { name, origin: place, .. } = custom;
    let head = match place {
        CommandOrigin::BuiltIn => format!("[The command /{name} says:]"),
        CommandOrigin::File(path) => format!("[/{name}, from {}, says:]", path.display()),
    };
    let mut text = format!("{head}\n\n{}", custom.text(arguments));
    let mut notices = Vec::new();
    if !custom.ignored_keys.is_empty() {
        notices.push(format!("/{name}: ignored in {place}: {}", custom.ignored_keys.join(", ")));
    }
    if runs_commands(&custom.body) {
        text.push_str("\n\n[The shell commands written as !`…` above were not run. If you need their output, run them yourself before you continue.]");
        notices.push(format!("/{name}: its !`…` commands are not run automatically; the model may run them if your permission rules allow it"));
    }
    Expansion { text, notices }
}

impl CommandDef {
    /// Returns the text with the arguments inserted, or appended if it has no placeholder.
    pub fn text(&self, arguments: &str) -> String {
        let (mut text, placed) = fill_arguments(&self.body, arguments);
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

    /// Returns the folder of a skill.
    fn folder(&self) -> Option<String> {
        match &self.origin {
            CommandOrigin::File(path) if path.ends_with("SKILL.md") => {
                path.parent().map(|folder| folder.display().to_string())
            }
            _ => None,
        }
    }
}

/// Replaces `$ARGUMENTS` and `$1` to `$9`, and returns whether there were any. Inserted text is not
/// expanded again, and nothing more is inserted beyond the size limit.
fn fill_arguments(body: &str, arguments: &str) -> (String, bool) {
    let single = split_words(arguments);
    let (mut text, mut placed, mut rest) = (String::new(), false, body);
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let number = after.chars().next().and_then(|digit| digit.to_digit(10));
        let longer = after.chars().nth(1).is_some_and(|next| next.is_ascii_digit());
        if text.len() + arguments.len() > MAX_EXPANDED {
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

/// Splits a line into words. Quotes keep a word together and are removed.
fn split_words(line: &str) -> Vec<String> {
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

/// Whether a text contains a command that other programs run before sending it.
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
            let custom = CommandDef {
                name: String::new(),
                description: String::new(),
                argument_hint: None,
                body: body.to_owned(),
                origin: CommandOrigin::BuiltIn,
                user_only: true,
                model_only: false,
                ignored_keys: Vec::new(),
            };
            assert_eq!(custom.text(arguments), expected);
        }
    }

    #[test]
    fn many_places_for_long_arguments_stay_within_bounds() {
        let (text, placed) = fill_arguments(&"$ARGUMENTS ".repeat(20_000), &"x".repeat(100_000));
        assert!(placed && text.len() < MAX_EXPANDED + 300_000, "{}", text.len());
        assert!(text.starts_with("xx") && text.ends_with(" $ARGUMENTS "));
    }

    #[test]
    fn only_a_word_that_begins_so_is_a_command_to_run() {
        let found = ["- !`git status`", "a!`x`", "!`open", "`!`", "!`a\nb`"].map(runs_commands);
        assert_eq!(found, [true, false, false, false, false]);
    }

    #[test]
    fn a_slash_alone_is_no_name() {
        assert_eq!(split_prompt(" /fix  a b "), Some(("fix", "a b")));
        assert_eq!(split_prompt("/ fix"), None);
        assert_eq!(split_prompt("fix"), None);
    }
}
