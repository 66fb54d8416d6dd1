//! `@` in the draft: agents and files that fit, and names of agents that nobody has.

use crate::protocol::mention;
use crate::tui::composer::MenuItem;
use crate::tui::host::HostRequest;
use crate::tui::model::Model;
use crate::tui::msg::Effect;
use crate::tui::text::{one_line, truncate};

/// What stands before an agent's name.
const PREFIX: &str = "agent-";

/// Asks for the definitions: once, and anew with each fresh `@`, since files may have come.
pub fn look_up(model: &mut Model, query: &str, effects: &mut Vec<Effect>) {
    if model.definitions.is_none() || query.is_empty() {
        effects.push(Effect::Ask(HostRequest::Agents));
        model.definitions.get_or_insert_default();
    }
}

/// The menu's rows: agents, the best fit first, then the files that the host has found.
pub fn items(model: &Model, query: &str, paths: &[String]) -> Vec<MenuItem> {
    let mut agents: Vec<_> = model
        .definitions
        .iter()
        .flatten()
        .filter_map(|agent| {
            let detail = truncate(&one_line(&agent.description), 60).into_owned();
            let insert = format!("@{PREFIX}{}", agent.name);
            Some((rank(&agent.name, query)?, MenuItem { insert, detail }))
        })
        .collect();
    agents.sort_by_key(|(rank, _)| *rank);
    let files = paths.iter().map(|path| file(format!("@{path}")));
    agents.into_iter().map(|(_, item)| item).chain(files).collect()
}

/// The row of a file.
#[must_use]
pub fn file(insert: String) -> MenuItem {
    MenuItem { insert, detail: String::new() }
}

/// How well an agent's name fits, 0 is best: as its beginning, as a part, or letter by letter in order.
fn rank(name: &str, query: &str) -> Option<u8> {
    let (name, query) = (name.to_lowercase(), query.to_lowercase());
    if PREFIX.starts_with(&query) {
        return Some(0);
    }
    let query = query.strip_prefix(PREFIX).unwrap_or(&query);
    let mut rest = name.chars();
    match name.find(query) {
        Some(0) => Some(0),
        Some(_) => Some(1),
        None => query.chars().all(|letter| rest.any(|other| other == letter)).then_some(2),
    }
}

/// Says so when the text names an agent that there is not. The definitions are asked for anew then.
pub fn refuses(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let known = model.definitions.as_deref().unwrap_or_default();
    if known.is_empty() {
        return false;
    }
    let is_known = |name: &str| known.iter().any(|agent| agent.name == name);
    let Some(name) = mention::agents(text, is_known).find(|name| !is_known(name)) else {
        return false;
    };
    model.say(format!("no agent {name}: /agents lists them"));
    effects.push(Effect::Ask(HostRequest::Agents));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_from_its_beginning_in_part_or_letter_by_letter() {
        assert_eq!(rank("explore", ""), Some(0));
        assert_eq!(rank("explore", "agent-ex"), Some(0));
        assert_eq!(rank("explore", "plo"), Some(1));
        assert_eq!(rank("general-purpose", "gpp"), Some(2));
        assert_eq!(rank("explore", "src"), None);
    }
}
