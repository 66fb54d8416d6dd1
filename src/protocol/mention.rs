//! `@agent-NAME` in a prompt: the user asks for a sub-agent by its name.

/// The text before the name.
pub const PREFIX: &str = "@agent-";

/// Returns the names after [`PREFIX`] at the beginning of words, in order. A name that continues
/// like a path is a file, unless `is_known` accepts it: agent names in files of other programs may
/// hold dots.
pub fn agents(text: &str, is_known: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(move |word| {
        let rest = word.strip_prefix(PREFIX)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_that_begins_like_one_names_an_agent() {
        let text = "@agent-explore, see @agent-notes.md and me@agent-x (not @agent-plan). @agent-";
        assert_eq!(agents(text, |_| false).collect::<Vec<_>>(), ["explore", "plan"]);
        let text = "@agent-v1.2 @agent-v1.2.md and @agent-v1.2.";
        assert_eq!(agents(text, |name| name == "v1.2").collect::<Vec<_>>(), ["v1.2", "v1.2"]);
    }
}
