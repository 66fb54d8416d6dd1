//! The list of skills for models, limited in size.

use super::CommandDef;
use crate::markdown::format_listing;

/// Maximum length of a description, if there is room. Characters.
const DESCRIPTION_CHARS: usize = 300;

/// Maximum length of a description otherwise. Characters.
const SHORT_CHARS: usize = 80;

/// Maximum size of the list, in bytes.
const MAX_LIST_BYTES: usize = 8 * 1024;

/// Lists one skill per line: with its description, with the beginning of that, or by name only.
pub(super) fn list_skills(skills: &[&CommandDef]) -> String {
    let things = skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str()));
    format_listing(things, &[DESCRIPTION_CHARS, SHORT_CHARS], MAX_LIST_BYTES)
}
