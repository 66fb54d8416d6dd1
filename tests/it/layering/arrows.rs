//! Which module may use which: the table, and the search for `crate::…` paths.

use super::source::{Source, has_word};

/// A module at the top of the crate, and what of ours it may use. `x::Y` allows that item alone;
/// `*` is anything. Going down the table, a module uses only what stands above it, single items
/// aside.
const ARROWS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("spanned", &[]),
    ("markdown", &["spanned"]),
    ("media", &["protocol"]),
    ("disk", &["protocol"]),
    ("config", &["protocol", "spanned", "disk"]),
    ("cli", &["protocol", "config"]),
    ("budget", &["protocol"]),
    ("exec", &["protocol", "disk"]),
    ("git", &["protocol", "disk", "exec"]),
    ("tool", &["protocol", "media", "disk", "budget", "exec"]),
    ("provider", &["protocol", "config::models", "config::ProviderKind", "tool::ToolSpec"]),
    (
        "permission",
        &["protocol", "disk", "config::lock", "config::replace", "tool::canonical_name"],
    ),
    ("hook", &["protocol", "config", "exec", "tool::canonical_name", "tool::starts_agents"]),
    ("session", &["protocol"]),
    (
        "commands",
        &[
            "protocol",
            "spanned",
            "markdown",
            "disk::ProjectFiles",
            "disk::ProjectScope",
            "disk::ScopeError",
            "tool",
        ],
    ),
    (
        "memory",
        &[
            "markdown",
            "disk::repository_root",
            "disk::FoundFile",
            "disk::ProjectFiles",
            "disk::ProjectScope",
            "disk::ScopeError",
            "protocol::printable_path",
            "tool::path",
        ],
    ),
    (
        "agent",
        &[
            "protocol",
            "markdown",
            "disk::branch",
            "provider",
            "tool",
            "permission",
            "hook",
            "budget",
        ],
    ),
    (
        "subagent",
        &[
            "protocol",
            "spanned",
            "markdown",
            "config",
            "provider",
            "disk",
            "exec",
            "git",
            "tool",
            "permission",
            "hook",
            "budget",
            "agent",
        ],
    ),
    (
        "runtime",
        &[
            "protocol",
            "markdown",
            "media",
            "disk::branch",
            "disk::ProjectFolders",
            "disk::ProjectScope",
            "memory",
            "commands",
            "config",
            "provider",
            "tool",
            "exec",
            "permission",
            "hook",
            "git",
            "budget",
            "session",
            "agent",
            "subagent",
        ],
    ),
    ("tui", &["protocol"]),
    ("headless", &["protocol", "runtime", "cli"]),
    ("command", &["*"]),
    ("app", &["*"]),
    ("main", &["*"]),
    ("lib", &[]),
];

/// How a path into this crate begins.
pub const ROOTS: &[&str] = &["crate::", "caliban::"];

/// Uses that the table does not allow.
pub fn problems(source: &Source) -> Vec<String> {
    let top = source.top();
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == top) else {
        return vec![format!("{}: the module `{top}` has no row in the table", source.path)];
    };
    let mut found: Vec<String> = uses(&source.code, ROOTS)
        .into_iter()
        .filter(|path| path.split("::").next() != Some(top))
        .filter(|path| !allowed.iter().any(|allowed| permits(allowed, path)))
        .map(|path| format!("{}: may not use crate::{path}", source.path))
        .collect();
    if climbs_out(source) {
        found.push(format!("{}: `super` reaches the crate's root; say `crate::`", source.path));
    }
    found.sort();
    found.dedup();
    found
}

fn permits(allowed: &str, path: &str) -> bool {
    let below =
        path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    allowed == "*" || below
}

/// All paths behind these prefixes (`crate::`), groups resolved, without the names that `as` gives.
pub fn uses(code: &str, prefixes: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                tree(&code[at + prefix.len()..], "", &mut found);
            }
        }
    }
    found
}

/// Reads one path or group; answers with how far it went.
fn tree(code: &str, prefix: &str, found: &mut Vec<String>) -> usize {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut path = prefix.to_owned();
    let mut at = 0;
    loop {
        let name = code[at..].split(|c| !is_name(c)).next().unwrap_or_default();
        path += name;
        at += name.len();
        if name.is_empty() || !code[at..].starts_with("::") {
            break;
        }
        path += "::";
        at += 2;
    }
    if !code[at..].starts_with('{') {
        found.push(path.trim_end_matches("::").to_owned());
        return at;
    }
    at += 1;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        match code[at..].chars().next() {
            None => return at,
            Some('}') => return at + 1,
            Some('a') if code[at..].starts_with("as ") => {
                at += 3;
                at += code[at..].find([',', '}']).unwrap_or(code.len() - at);
            }
            Some(c) if is_name(c) || c == '{' => at += tree(&code[at..], &path, found),
            Some(c) => at += c.len_utf8(),
        }
    }
}

/// Whether a chain of `super` goes up to the root from where the file stands.
fn climbs_out(source: &Source) -> bool {
    let module = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = module.split('/').count();
    has_word(&source.code, &vec!["super"; depth].join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(path: &str, code: &str) -> Vec<String> {
        problems(&Source::new(path, code))
    }

    #[test]
    fn paths_are_found_in_groups_and_in_expressions() {
        let code =
            "use crate::{agent::{Agent, turn::run as go}, tool}; crate::budget::Budget::new();";
        let expected = ["agent::Agent", "agent::turn::run", "tool", "budget::Budget::new"];
        assert_eq!(uses(code, ROOTS), expected);
    }

    #[test]
    fn an_arrow_against_the_table_is_found() {
        assert_eq!(
            offences("protocol/event.rs", "use crate::tool::Tool;"),
            ["protocol/event.rs: may not use crate::tool::Tool"]
        );
        assert_eq!(offences("agent/turn.rs", "use crate::{tool, subagent::Tree};").len(), 1);
        assert_eq!(offences("tui/view.rs", "let x = crate::session::open();").len(), 1);
        assert_eq!(offences("provider/sse.rs", "use crate::tool::ToolRegistry;").len(), 1);
        assert_eq!(offences("unheard/of.rs", "").len(), 1);
        assert_eq!(offences("tui/view.rs", "use super::super::session;").len(), 1);
    }

    #[test]
    fn an_arrow_along_the_table_is_not() {
        assert_eq!(offences("agent/turn.rs", "use crate::{tool, agent::Agent};").len(), 0);
        assert_eq!(offences("provider/sse.rs", "use crate::tool::ToolSpec;").len(), 0);
        assert_eq!(offences("app.rs", "use crate::{tui, subagent::Tree};").len(), 0);
        assert_eq!(offences("tui/text/diff.rs", "use super::super::model::Model;").len(), 0);
    }
}
