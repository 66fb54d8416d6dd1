//! The second answer's grant, in a sentence.

use crate::protocol::{Access, Question, quoted, quoted_name};
use crate::tui::format::tool_label;
use crate::tui::text::{reveal_line, width};

/// Longest label in cells; a longer one would take too many lines from the call itself.
const MAX_LABEL_WIDTH: usize = 140;

/// `Yes, and let agent 2 run any psql command`: the grant ends with the agent. `short` says "it".
pub fn grant_label(question: &Question, short: bool) -> String {
    let rules: Vec<Grant> = question.rules.iter().map(|rule| Grant::parse(rule)).collect();
    let main = question.path.is_root();
    let agent = if short { "it" } else { &question.agent };
    let until = if main { " this session" } else { "" };
    if !rules.is_empty() && rules.iter().all(|grant| grant.verb == "edit") {
        let scopes = rules.iter().map(Grant::edit_scope).collect();
        let scopes = join_list(scopes);
        return match short {
            true if main => format!("Yes, and all edits {scopes}{until}"),
            true => format!("Yes, and all its edits {scopes}"),
            false => format!("Yes, and all edits {scopes} by {agent}{until}"),
        };
    }
    let parts = rules.chunk_by(|a, b| a.verb == b.verb).map(|grants| {
        let objects = join_list(grants.iter().map(Grant::object).collect());
        format!("{} {objects}", grants[0].verb)
    });
    let parts: Vec<String> = parts.collect();
    let words = format!("Yes, and let {agent} {}{until}", parts.join(", and "));
    let is_hard_to_read = width(&words) > MAX_LABEL_WIDTH || has_escapes(question);
    match exact_commands(question).filter(|_| is_hard_to_read) {
        Some(above) => format!("Yes, and let {agent} run exactly {above}{until}"),
        None => words,
    }
}

/// Whether the call is one command that the rule would repeat with backslashes that are not in it.
fn has_escapes(question: &Question) -> bool {
    let Access::Command { line, .. } = &question.access else { return false };
    line.contains(['"', '\\']) && question.rules == [format!("Bash({line})")]
}

/// `these 5 commands`, if each rule allows exactly one command that the call shows in full. Rules
/// that allow more than the call are never summarized.
fn exact_commands(question: &Question) -> Option<String> {
    let Access::Command { line, .. } = &question.access else { return None };
    let in_call = |rule: &String| {
        let command = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
        command.is_some_and(|command| {
            !command.is_empty() && !command.contains('*') && line.contains(command)
        })
    };
    question.rules.iter().all(in_call).then(|| match question.rules.len() {
        1 => "this command".to_owned(),
        number => format!("these {number} commands"),
    })
}

/// `a`, `a and b`, `a, b and c`.
fn join_list(mut parts: Vec<String>) -> String {
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
}

/// A rule as a verb and its object.
struct Grant {
    verb: &'static str,
    object: String,
}

impl Grant {
    fn parse(rule: &str) -> Self {
        let rule = reveal_line(rule);
        let (tool, inner) = match rule.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            Some((tool, inner)) => (tool, inner),
            None => (rule.as_str(), ""),
        };
        let (verb, object) = match (tool, inner) {
            ("Bash", "") => ("run", "any command".to_owned()),
            ("Bash", line) => ("run", command_object(line)),
            ("Edit" | "Write", path) => ("edit", path.to_owned()),
            ("Read" | "Grep" | "Glob", path) => ("read", file_object(path)),
            ("WebFetch", "") => ("fetch", "anything from the web".to_owned()),
            ("WebFetch", pattern) => {
                let domain = pattern.strip_prefix("domain:").unwrap_or(pattern);
                ("fetch", format!("anything from {}", quoted_name(domain)))
            }
            ("AgentTool", "") => ("start", "any agent".to_owned()),
            ("AgentTool", name) => ("start", format!("the agent {}", quoted_name(name))),
            ("Skill", name) if !name.is_empty() => {
                ("use", format!("the skill {}", quoted_name(name)))
            }
            (tool, "") => ("use", tool_label(tool).into_owned()),
            _ => ("use", rule.clone()),
        };
        let object = if verb == "edit" && object.is_empty() { "**".to_owned() } else { object };
        Self { verb, object }
    }

    /// The object after the verb, such as `all files in src/`. If a call only edits, [`grant_label`] uses
    /// [`Self::edit_scope`] instead.
    fn object(&self) -> String {
        match covered_folder(&self.object).filter(|_| self.verb == "edit") {
            Some(folder) => format!("all files in {folder}"),
            None if self.verb == "edit" => display_path(&self.object),
            None => self.object.clone(),
        }
    }

    /// The files of an edit rule, as they follow "all edits".
    fn edit_scope(&self) -> String {
        match covered_folder(&self.object) {
            Some(folder) => format!("in {folder}"),
            None => format!("of {}", display_path(&self.object)),
        }
    }
}

fn command_object(line: &str) -> String {
    match line.strip_suffix(":*") {
        Some(start) => format!("any {start} command"),
        None if line.contains('*') => format!("commands like {}", quoted(line)),
        None => format!("exactly {}", quoted(line)),
    }
}

fn file_object(path: &str) -> String {
    match (path, covered_folder(path)) {
        ("", _) => "any file".to_owned(),
        (_, Some(folder)) => format!("everything in {folder}"),
        (path, None) => display_path(path),
    }
}

/// The folder that a pattern covers completely.
fn covered_folder(pattern: &str) -> Option<String> {
    if pattern == "**" {
        return Some("this project".to_owned());
    }
    let folder = pattern.strip_suffix("/**").filter(|folder| !folder.contains('*'))?;
    Some(display_path(&format!("{folder}/")))
}

/// The usual form of a rule's path: rules write an absolute one with two slashes.
fn display_path(pattern: &str) -> String {
    let path = match pattern.strip_prefix("//") {
        Some(_) => &pattern[1..],
        None => pattern.strip_prefix("./").unwrap_or(pattern),
    };
    quoted_name(path).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::protocol::{Access, AgentId, AgentPath, EventKind, Question};
    use crate::tui::testing::TestScreen;

    fn words(rules: &[&str], main: bool) -> String {
        let path = AgentPath::root();
        let path = if main { path } else { path.child(AgentId::generate()) };
        let EventKind::PermissionAsked(mut question) =
            TestScreen::question(&path, 1, if main { "main" } else { "explore-2" }, "x")
        else {
            panic!()
        };
        question.rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        crate::tui::question::grant::grant_label(&question, false)
    }

    #[test]
    fn the_whole_call_is_named_where_quotes_would_change_it() {
        let path = AgentPath::root();
        let EventKind::PermissionAsked(mut question) = TestScreen::question(&path, 1, "main", "x")
        else {
            panic!()
        };
        let line = r#"python3 -c 'print("4 passed")'"#;
        question.access = Access::Command { line: line.into(), cwd: "/p".into() };
        question.rules = vec![format!("Bash({line})")];
        let words = |question: &Question| super::grant_label(question, false);
        assert_eq!(words(&question), "Yes, and let main run exactly this command this session");
        // A part of the call is not all of it.
        question.rules = vec!["Bash(print(\"4 passed\"))".to_owned()];
        assert!(words(&question).contains("\\\"4 passed\\\""), "{}", words(&question));
    }

    #[test]
    fn a_grant_is_a_sentence() {
        for (rules, sentence) in [
            (&["Bash(psql:*)"][..], "let main run any psql command this session"),
            (
                &["Bash(git push:*)", "Bash(rm x)"],
                "let main run any git push command and exactly \"rm x\" this session",
            ),
            (
                &["Bash(printf \", and any git push command and exactly \")"],
                "let main run exactly \"printf \\\", and any git push command and exactly \\\"\" this session",
            ),
            (
                &["Bash(ls *, and any git)"],
                "let main run commands like \"ls *, and any git\" this session",
            ),
            (
                &["Bash(a:*)", "Bash(b:*)", "Edit(src/**)"],
                "let main run any a command and any b command, and edit all files in src/ this session",
            ),
            (&["Edit(src/**)"], "all edits in src/ by main this session"),
            (
                &["Edit(src/**)", "Edit(./Cargo.toml)"],
                "all edits in src/ and of Cargo.toml by main this session",
            ),
            (
                &["Bash(a:*)", "Edit(//srv/x)", "Edit(//srv/www/**)"],
                "let main run any a command, and edit /srv/x and all files in /srv/www/ this session",
            ),
            (&["Edit(//srv/www/**)"], "all edits in /srv/www/ by main this session"),
            (&["Read(//etc/**)"], "let main read everything in /etc/ this session"),
            (&["WebFetch(domain:docs.rs)"], "let main fetch anything from docs.rs this session"),
            (&["mcp__db__query"], "let main use db: query this session"),
            (&["mcp__db"], "let main use mcp__db this session"),
            (&["AgentTool(explore)"], "let main start the agent explore this session"),
            (
                &["Edit(a by main this session/**)"],
                "all edits in \"a by main this session/\" by main this session",
            ),
        ] {
            assert_eq!(words(rules, true), format!("Yes, and {sentence}"), "{rules:?}");
        }
        let explore = "Yes, and let explore-2 run any psql command";
        assert_eq!(words(&["Bash(psql:*)"], false), explore);
        let main = "Yes, and all edits in src/ by explore-2";
        assert_eq!(words(&["Edit(src/**)"], false), main);
    }
}
