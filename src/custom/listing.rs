//! The skills as models are told of them: short, however many there are.

use super::Custom;
use crate::markdown::listing;

/// How much of a description stands in the list, when there is room. Characters.
const DESCRIPTION: usize = 300;

/// The same when there is little room.
const SHORT: usize = 80;

/// The list is never longer. Bytes.
const LIMIT: usize = 8 * 1024;

/// One line a skill: with its description, with the beginning of that, or by its name alone.
pub(super) fn of(skills: &[&Custom]) -> String {
    let things = skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str()));
    listing(things, &[DESCRIPTION, SHORT], LIMIT)
}
