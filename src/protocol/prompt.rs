//! Parses the text of prompts: slash commands, and sub-agents that are mentioned as `@agent-NAME`.

/// The text before the name of a sub-agent.
pub const AGENT_PREFIX: &str = "@agent-";

/// Splits a prompt into the name after the slash and the rest, if it looks like a command: `/usr/bin` does not.
pub fn split_command(prompt: &str) -> Option<(&str, &str)> {
    let line = prompt.trim().strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, arguments.trim()))
}

/// Returns the names after [`AGENT_PREFIX`] at the beginning of words, in order. A name that continues
/// like a path is a file, unless `is_known` accepts it: agent names in files of other programs may
/// hold dots.
pub fn mentioned_agents(text: &str, is_known: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(move |word| {
        let rest = word.strip_prefix(AGENT_PREFIX)?;
        let dotted = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let end = rest.find(|letter| !dotted(letter)).unwrap_or(rest.len());
        let dotted = rest[..end].trim_end_matches('.');
        if is_known(dotted) {
            return Some(dotted);
        }
        let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
        let end = rest.find(|letter| !inside(letter)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let mut behind = behind.chars();
        let path = matches!(behind.next(), Some('.' | '/')) && behind.next().is_some_and(inside);
        Some(name).filter(|name| !name.is_empty() && !path)
    })
}

/// Returns the files that a text mentions as `@path`, or as `@"path with blanks"`, at the beginning of
/// words: each as it is written, and the path.
pub fn mentioned_paths(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices('@').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let begins =
            before.is_none_or(|letter| letter.is_whitespace() || "([{\"'".contains(letter));
        let rest = &text[at + 1..];
        let (start, end) = match rest.strip_prefix('"') {
            Some(quoted) => (1, 1 + quoted.find(['"', '\n'])?),
            None => (0, rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        let path = &rest[start..end];
        let path = if start == 0 { path.trim_end_matches(TRAILING) } else { path };
        let mark = &text[at..at + 1 + start + path.len() + start];
        (begins && !path.is_empty()).then_some((mark, path))
    })
}

/// Punctuation behind a path in a sentence.
const TRAILING: [char; 9] = ['.', ',', ';', ':', '!', '?', ')', ']', '}'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_slash_alone_are_no_commands() {
        assert_eq!(
            split_command(" /compact  keep the\nnames "),
            Some(("compact", "keep the\nnames"))
        );
        assert_eq!(split_command("/team:review"), Some(("team:review", "")));
        for prompt in ["/usr/bin/env", "/", "/ cost", "// a comment", "cost", "see /cost", ""] {
            assert_eq!(split_command(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn a_path_ends_before_what_ends_a_sentence() {
        let text = "see @a.png, (@b/c.png)? \"@\"my shot.png\" me@d.png @ @e.png.";
        let found: Vec<_> = mentioned_paths(text).collect();
        let expected = [
            ("@a.png", "a.png"),
            ("@b/c.png", "b/c.png"),
            ("@\"my shot.png\"", "my shot.png"),
            ("@e.png", "e.png"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_a_word_that_begins_like_one_names_an_agent() {
        let text = "@agent-explore, see @agent-notes.md and me@agent-x (not @agent-plan). @agent-";
        assert_eq!(mentioned_agents(text, |_| false).collect::<Vec<_>>(), ["explore", "plan"]);
        let text = "@agent-v1.2 @agent-v1.2.md and @agent-v1.2.";
        assert_eq!(
            mentioned_agents(text, |name| name == "v1.2").collect::<Vec<_>>(),
            ["v1.2", "v1.2"]
        );
    }
}
