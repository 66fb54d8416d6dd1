//! Text with slots that the real results of tools fill.
//!
//! | slot | becomes |
//! |---|---|
//! | `{{name}}` | the whole text of the result `name`, trimmed |
//! | `{{name ~ regex}}` | the first match: its first group, or all of it if there is no group |
//! | `{{count name ~ regex}}` | the number of matches |
//! | `{{list name ~ regex => $1 in $2}}` | each different match in the given form, joined by commas |
//! | `{{lines name ~ regex => - $1}}` | the same, one per line |
//! | `… ?? words}}` at the end of any of them | these words if nothing is found |
//!
//! `^` and `$` match at the ends of a line. A slot that finds nothing and has no fallback leaves the
//! whole template unfilled: its reply is not played, so a script cannot claim something that did not
//! happen.

use std::collections::BTreeMap;

use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

/// Results of the calls of one conversation, by their names in the scenario.
pub type ScriptedResults<'a> = BTreeMap<&'a str, ScriptedResult>;

/// The result of one call.
#[derive(Clone, Debug)]
pub struct ScriptedResult {
    pub text: String,
    pub failed: bool,
}

/// A pattern whose `^` and `$` match at the ends of a line.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct LinePattern(Regex);

impl LinePattern {
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl TryFrom<String> for LinePattern {
    type Error = regex::Error;

    fn try_from(source: String) -> Result<Self, Self::Error> {
        RegexBuilder::new(&source).multi_line(true).build().map(Self)
    }
}

/// A text with slots, checked when parsed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug)]
enum TemplatePart {
    Text(String),
    Slot(TemplateSlot),
}

#[derive(Clone, Debug)]
struct TemplateSlot {
    name: String,
    take: SlotSelector,
    fallback: Option<String>,
}

#[derive(Clone, Debug)]
enum SlotSelector {
    Whole,
    First(LinePattern),
    Count(LinePattern),
    Each { pattern: LinePattern, form: String, joint: &'static str },
}

/// The error of an invalid template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("`{{{{` has no `}}}}` after it; close the slot")]
    Open,
    #[error("`{{{{{0}}}}}` lacks `~` and a pattern; write {{{{name ~ regex}}}}")]
    NoPattern(String),
    #[error(
        "`{{{{{0}}}}}` lacks `=>` and the form of each match; write {{{{lines name ~ regex => $1}}}}"
    )]
    NoForm(String),
    #[error("`{0}` is not the name of a result; use the call's `as`")]
    Name(String),
    #[error(transparent)]
    Pattern(#[from] regex::Error),
}

impl Template {
    /// Returns the text with all slots filled; `None` if one finds nothing and has no fallback.
    pub fn fill(&self, results: &ScriptedResults<'_>) -> Option<String> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Slot(slot) => filled.push_str(&slot.fill(results)?),
            }
        }
        Some(filled)
    }

    /// Returns the results that the slots name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePart::Text(_) => None,
            TemplatePart::Slot(slot) => Some(slot.name.as_str()),
        })
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(source: String) -> Result<Self, Self::Error> {
        let mut pieces = Vec::new();
        let mut rest = source.as_str();
        while let Some((text, after)) = rest.split_once("{{") {
            let (slot, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
            pieces.push(TemplatePart::Text(text.to_owned()));
            pieces.push(TemplatePart::Slot(TemplateSlot::parse(slot)?));
            rest = after;
        }
        pieces.push(TemplatePart::Text(rest.to_owned()));
        Ok(Self(pieces))
    }
}

impl TemplateSlot {
    fn parse(source: &str) -> Result<Self, TemplateError> {
        let (body, fallback) = match source.rsplit_once(" ?? ") {
            Some((body, words)) => (body, Some(words.to_owned())),
            None => (source, None),
        };
        let (head, pattern) = match body.split_once(" ~ ") {
            Some((head, pattern)) => (head.trim(), Some(pattern.trim())),
            None => (body.trim(), None),
        };
        let (verb, name) = head.split_once(' ').unwrap_or(("", head));
        let no_pattern = || TemplateError::NoPattern(source.to_owned());
        let take = match (verb, pattern) {
            ("", None) => SlotSelector::Whole,
            ("", Some(pattern)) => SlotSelector::First(LinePattern::try_from(pattern.to_owned())?),
            ("count", _) => SlotSelector::Count(LinePattern::try_from(
                pattern.ok_or_else(no_pattern)?.to_owned(),
            )?),
            ("list" | "lines", _) => {
                let (pattern, form) = pattern
                    .ok_or_else(no_pattern)?
                    .rsplit_once(" => ")
                    .ok_or_else(|| TemplateError::NoForm(source.to_owned()))?;
                SlotSelector::Each {
                    pattern: LinePattern::try_from(pattern.trim().to_owned())?,
                    form: form.to_owned(),
                    joint: if verb == "list" { ", " } else { "\n" },
                }
            }
            _ => return Err(TemplateError::Name(head.to_owned())),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(TemplateError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), take, fallback })
    }

    fn fill(&self, results: &ScriptedResults<'_>) -> Option<String> {
        let found = results.get(self.name.as_str()).and_then(|result| self.take.from(&result.text));
        found.or_else(|| self.fallback.clone())
    }
}

impl SlotSelector {
    fn from(&self, text: &str) -> Option<String> {
        match self {
            Self::Whole => Some(text.trim().to_owned()),
            Self::First(pattern) => {
                let captures = pattern.0.captures(text)?;
                let found = captures.get(1).or_else(|| captures.get(0))?;
                Some(found.as_str().trim().to_owned())
            }
            Self::Count(pattern) => Some(pattern.0.find_iter(text).count().to_string()),
            Self::Each { pattern, form, joint } => {
                let mut all: Vec<String> = Vec::new();
                for captures in pattern.0.captures_iter(text) {
                    let one = expand(&captures, form);
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
                (!all.is_empty()).then(|| all.join(joint))
            }
        }
    }
}

fn expand(captures: &Captures<'_>, form: &str) -> String {
    let mut one = String::new();
    captures.expand(form, &mut one);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, result: &str) -> Option<String> {
        let result = ScriptedResult { text: result.to_owned(), failed: false };
        Template::try_from(template.to_owned())
            .unwrap()
            .fill(&ScriptedResults::from([("run", result)]))
    }

    fn refusal(template: &str) -> String {
        Template::try_from(template.to_owned()).unwrap_err().to_string()
    }

    #[test]
    fn slots_take_what_the_result_says() {
        let result = "a.sh:3:x\nb.sh:9:y\na.sh:3:x\n\n5 passed\n";
        for (template, expected) in [
            ("all: {{run ~ (\\d+) passed}} of them", "all: 5 of them"),
            ("{{run ~ ^b.*$}}", "b.sh:9:y"),
            ("{{count run ~ ^\\w+\\.sh}} lines", "3 lines"),
            ("{{list run ~ ^(\\w+\\.sh):(\\d+) => $1 line $2}}", "a.sh line 3, b.sh line 9"),
            ("{{lines run ~ ^(\\w+)\\.sh => - $1}}", "- a\n- b"),
        ] {
            assert_eq!(fill(template, result).as_deref(), Some(expected), "{template}");
        }
    }

    #[test]
    fn a_slot_that_finds_nothing_has_other_words_or_fills_nothing() {
        assert_eq!(
            fill("{{run ~ (\\d+) passed ?? no count}}", "oops").as_deref(),
            Some("no count")
        );
        assert_eq!(fill("{{run ~ (\\d+) passed}}", "oops"), None);
        assert_eq!(fill("{{other}}", "oops"), None);
    }

    #[test]
    fn a_broken_slot_is_refused_with_the_reason() {
        assert!(refusal("{{run").contains("close the slot"));
        assert!(refusal("{{count run}}").contains("lacks `~`"));
        assert!(refusal("{{lines run ~ x}}").contains("lacks `=>`"));
        assert!(refusal("{{big run}}").contains("not the name of a result"));
        assert!(refusal("{{run ~ (}}").contains("unclosed group"));
    }
}
