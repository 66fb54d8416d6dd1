//! Names of the tools of servers, `mcp__<server>__<tool>`, in letters and a length that every wire
//! accepts; and their meaning in rules and lists.

/// Prefix of the names of MCP tools.
pub const MCP_PREFIX: &str = "mcp__";

/// Separates server and tool.
const SEPARATOR: &str = "__";

/// Maximum characters that every wire accepts.
const MAX_NAME: usize = 64;

/// Maximum characters of the server part, so that all its tools share the prefix.
const MAX_SERVER_NAME: usize = 40;

/// Returns the name of a tool for models. Two that differ only in letters that no wire accepts share it.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = tool_prefix(server, tool);
    // No server name looks like this: the mark is part of the tool's.
    shorten(name, MAX_NAME, '_')
}

/// Returns the prefix of the names of all tools of a server.
pub fn server_prefix(server: &str) -> String {
    tool_prefix(server, "")
}

/// Returns the prefix of the names of a server's tools that begin with `tool`.
pub fn tool_prefix(server: &str, tool: &str) -> String {
    // Text after a `_` here could be taken for the tool.
    let server = shorten(plain(server), MAX_SERVER_NAME, '-');
    format!("{MCP_PREFIX}{server}{SEPARATOR}{}", plain(tool))
}

/// Splits `mcp__server`, `mcp__server__*` or `mcp__server__tool` into server and tool, if it names
/// one. `None` for anything else.
pub fn parts(name: &str) -> Option<(&str, Option<&str>)> {
    let name = name.strip_prefix(MCP_PREFIX)?;
    let (server, tool) = name.split_once(SEPARATOR).unwrap_or((name, ""));
    (!server.is_empty()).then_some((server, Some(tool).filter(|tool| !matches!(*tool, "" | "*"))))
}

/// Returns why a server cannot have this name: it must be clear where its name ends, or a rule for
/// one server would mean another.
pub fn check_server(server: &str) -> Option<String> {
    let plain = plain(server);
    (plain.contains(SEPARATOR) || plain.ends_with('_')).then(|| {
        format!(
            "tool names and rules would call it {plain}, where {SEPARATOR} ends a server's name: \
             give it a name without {SEPARATOR} and without a trailing _, in letters, digits, - and _"
        )
    })
}

/// Replaces everything but ASCII letters, digits, `_` and `-`.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(letter).collect()
}

/// Shortens a name that is too long, and marks it: long names often differ only at their end.
fn shorten(name: String, limit: usize, joint: char) -> String {
    if name.len() <= limit {
        return name;
    }
    let mark = format!("{joint}{:08x}", hash(&name));
    format!("{}{mark}", &name[..limit - mark.len()])
}

/// FNV-1a: the same on every machine and in every release, because names appear in transcripts and rules.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_letters_that_every_wire_takes() {
        assert_eq!(tool_name("files", "read_file"), "mcp__files__read_file");
        assert_eq!(tool_name("my server", "a.b/c"), "mcp__my_server__a_b_c");
    }

    #[test]
    fn long_names_are_cut_to_64_characters_and_stay_apart() {
        let long = |end: &str| tool_name("server", &format!("{}{end}", "x".repeat(80)));
        assert_eq!(long("a").len(), 64);
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a"), long("a"));
        assert_eq!(tool_name("s", &"y".repeat(56)).len(), 64);
        assert!(tool_name("s", &"y".repeat(56)).ends_with('y'));
    }

    #[test]
    fn all_tools_of_a_server_with_a_long_name_begin_with_it_and_the_name_means_itself() {
        let at_limit = "s".repeat(40);
        assert_eq!(tool_name(&at_limit, "t"), format!("mcp__{at_limit}__t"));
        // The cut falls after a `_`, where another would end the name.
        let long = format!("{}_{}", "s".repeat(30), "x".repeat(40));
        let other = format!("{long}y");
        for tool in ["t", &"t".repeat(80)] {
            let name = tool_name(&long, tool);
            assert!(name.len() <= 64 && name.starts_with(&server_prefix(&long)), "{name}");
            assert!(!name.starts_with(&server_prefix(&other)), "{name}");
            let (server, tool) = parts(&name).unwrap();
            assert_eq!(tool_name(server, tool.unwrap()), name);
            assert_eq!(server_prefix(server), server_prefix(&long));
        }
    }

    #[test]
    fn what_a_rule_means_is_told_by_the_first_two_underscores() {
        for (name, expected) in [
            ("mcp__a", Some(("a", None))),
            ("mcp__a__", Some(("a", None))),
            ("mcp__a__*", Some(("a", None))),
            ("mcp__a__x", Some(("a", Some("x")))),
            ("mcp__a__x__y", Some(("a", Some("x__y")))),
            ("mcp___a__x", Some(("_a", Some("x")))),
            ("mcp__", None),
            ("mcp____x", None),
            ("a", None),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_that_does_not_show_where_it_ends_is_refused() {
        for bad in ["a__x", "a_", "__a", "a: b", "café", "日本", "_"] {
            assert!(check_server(bad).is_some(), "{bad}");
        }
        for good in ["a", "_a", "a_x", "a.b", "a-b", "my server", "7"] {
            assert_eq!(check_server(good), None, "{good}");
        }
        let said = check_server("a: b").unwrap();
        assert!(said.starts_with("tool names and rules would call it a__b, where __ ends"));
    }
}
