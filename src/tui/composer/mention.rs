//! `@` in the draft: matching agents and files, and unknown agent names.

use std::path::Path;

use crate::protocol::prompt::{mentioned_agents, mentioned_paths};
use crate::protocol::{printable_line, shell_path};
use crate::tui::composer::MenuItem;
use crate::tui::host::HostRequest;
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::text::{one_line, truncate};

/// The prefix of an agent's name.
const AGENT_PREFIX: &str = "agent-";

/// Requests the definitions: once, and again with each new `@`, since files may have been added.
pub fn look_up(model: &mut TuiModel, query: &str, effects: &mut Vec<ScreenEffect>) {
    if model.definitions.is_none() || query.is_empty() {
        effects.push(ScreenEffect::Ask(HostRequest::Agents(Vec::new())));
        model.definitions.get_or_insert_default();
    }
}

/// The menu rows: agents, best match first, then the files found by the host.
pub fn items(model: &TuiModel, query: &str, paths: &[String]) -> Vec<MenuItem> {
    let mut agents: Vec<_> = model
        .definitions
        .iter()
        .flatten()
        .filter_map(|agent| {
            let detail = truncate(&one_line(&agent.description), 60).into_owned();
            let insert = format!("@{AGENT_PREFIX}{}", agent.name);
            Some((rank(&agent.name, query)?, MenuItem { insert, detail }))
        })
        .collect();
    agents.sort_by_key(|(rank, _)| *rank);
    // The prompt would show another name.
    let visible = paths.iter().filter(|path| printable_line(path) == **path);
    let files = visible.filter_map(|path| mention_of(path)).map(file_item);
    agents.into_iter().map(|(_, item)| item).chain(files).collect()
}

/// The text that mentions a file, and nothing else that a part of its name may look like.
fn mention_of(path: &str) -> Option<String> {
    // The project may have a folder by the name that means the user's home.
    let path = if path.starts_with('~') { &format!("./{path}") } else { path };
    let names_it = |mention: &String| {
        mentioned_paths(mention).eq([(mention.as_str(), path)])
            && mentioned_agents(mention, |_| false).next().is_none()
    };
    [format!("@{path}"), format!("@\"{path}\"")].into_iter().find(names_it)
}

/// The menu row of a file for a shell command: one word, whatever the name holds, and no option.
pub fn shell_item(path: &str) -> MenuItem {
    let path = if path.starts_with('-') { Path::new(".").join(path) } else { path.into() };
    file_item(shell_path(&path))
}

fn file_item(insert: String) -> MenuItem {
    MenuItem { insert, detail: String::new() }
}

/// Ranks how an agent's name matches: 0 as a prefix, 1 as a substring, 2 as a subsequence.
fn rank(name: &str, query: &str) -> Option<u8> {
    let (name, query) = (name.to_lowercase(), query.to_lowercase());
    if AGENT_PREFIX.starts_with(&query) {
        return Some(0);
    }
    let query = query.strip_prefix(AGENT_PREFIX).unwrap_or(&query);
    let mut rest = name.chars();
    match name.find(query) {
        Some(0) => Some(0),
        Some(_) => Some(1),
        None => query.chars().all(|letter| rest.any(|other| other == letter)).then_some(2),
    }
}

/// Rejects a draft in which the user names an unknown agent, and requests the definitions again.
pub fn reject_unknown(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) -> bool {
    let parts = model.composer.buffer.agent_mentions();
    let parts = parts.unwrap_or_else(|| vec![text.to_owned()]);
    let known = model.definitions.as_deref().unwrap_or_default();
    if known.is_empty() {
        return false;
    }
    let is_known = |name: &str| known.iter().any(|agent| agent.name == name);
    let unknown = |part: &String| {
        let name = mentioned_agents(part, is_known).find(|name| !is_known(name));
        name.map(str::to_owned)
    };
    let Some(name) = parts.iter().find_map(unknown) else { return false };
    model.say_while(NoticeCause::Draft, format!("no agent {name}: /agents lists them"));
    effects.push(ScreenEffect::Ask(HostRequest::Agents(Vec::new())));
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

    #[test]
    fn a_file_is_mentioned_as_a_whole_or_not_at_all() {
        for (path, mention) in [
            ("src/a.rs", Some("@src/a.rs")),
            ("a b.txt", Some("@\"a b.txt\"")),
            ("a@b.txt", Some("@a@b.txt")),
            ("end.", Some("@\"end.\"")),
            ("brief @~/secret.png for all.md", None),
            ("x(@~/secret.png", None),
            ("zz @agent-explore b.txt", None),
            ("a\"b c", None),
            ("~/secret.png", Some("@./~/secret.png")),
            ("a/~/b", Some("@a/~/b")),
        ] {
            assert_eq!(mention_of(path).as_deref(), mention, "{path}");
        }
    }
}
