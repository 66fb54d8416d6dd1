//! `@agent-NAME` in a prompt: how the person asks for a sub-agent by its name.

/// What stands before the name.
pub const PREFIX: &str = "@agent-";

/// The names that stand behind [`PREFIX`] at the beginning of words, in order. What goes on like a path names a file.
pub fn agents(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(|word| {
        let rest = word.strip_prefix(PREFIX)?;
        let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
        let end = rest.find(|letter| !inside(letter)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let mut behind = behind.chars();
        let path = matches!(behind.next(), Some('.' | '/')) && behind.next().is_some_and(inside);
        Some(name).filter(|name| !name.is_empty() && !path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_that_begins_like_one_names_an_agent() {
        let text = "@agent-explore, see @agent-notes.md and me@agent-x (not @agent-plan). @agent-";
        assert_eq!(agents(text).collect::<Vec<_>>(), ["explore", "plan"]);
    }
}
