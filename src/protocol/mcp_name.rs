//! What tools of servers are called, `mcp__<server>__<tool>`, in the letters and the length that
//! every wire takes; and what a rule or a list means that is written so.

/// What names of tools begin with that a server offers.
pub const MCP_PREFIX: &str = "mcp__";

/// Stands between server and tool.
const BETWEEN: &str = "__";

/// The most characters that a wire takes.
const LIMIT: usize = 64;

/// The most of them that a server's name has, so that all of its tools begin with it.
const SERVER_LIMIT: usize = 40;

/// The name of a tool as models see it. Two that differ only in letters that no wire takes have the same.
#[must_use]
pub fn of_tool(server: &str, tool: &str) -> String {
    let name = beginning(server, tool);
    // No name of a server looks like this: the mark is part of the tool's.
    fit(name, LIMIT, '_')
}

/// What the names of all tools of a server begin with.
#[must_use]
pub fn of_server(server: &str) -> String {
    beginning(server, "")
}

/// What the names of those tools of a server begin with that begin with `tool`.
#[must_use]
pub fn beginning(server: &str, tool: &str) -> String {
    // What follows `_` here could be taken for the tool.
    let server = fit(plain(server), SERVER_LIMIT, '-');
    format!("{MCP_PREFIX}{server}{BETWEEN}{}", plain(tool))
}

/// The server, and the tool unless all of them are meant, of `mcp__server`, `mcp__server__*` or
/// `mcp__server__tool`. `None` for what is none of these.
#[must_use]
pub fn parts(name: &str) -> Option<(&str, Option<&str>)> {
    let name = name.strip_prefix(MCP_PREFIX)?;
    let (server, tool) = name.split_once(BETWEEN).unwrap_or((name, ""));
    (!server.is_empty()).then_some((server, Some(tool).filter(|tool| !matches!(*tool, "" | "*"))))
}

/// Why a server cannot be called so: it must show where its name ends, or a rule for one server
/// would mean another.
#[must_use]
pub fn problem(server: &str) -> Option<String> {
    let plain = plain(server);
    (plain.contains(BETWEEN) || plain.ends_with('_')).then(|| {
        format!(
            "in names of tools and in rules it would be {plain}, and {BETWEEN} ends a server's name there: \
             give it a name without {BETWEEN} and without _ at its end, in letters, digits, - and _"
        )
    })
}

/// The same in ASCII letters, digits, `_` and `-`.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(letter).collect()
}

/// Cuts a name that is too long, and marks it: long names often differ only at their end.
fn fit(name: String, limit: usize, joint: char) -> String {
    if name.len() <= limit {
        return name;
    }
    let mark = format!("{joint}{:08x}", hash(&name));
    format!("{}{mark}", &name[..limit - mark.len()])
}

/// FNV-1a: the same on every machine and in every release, because names stand in transcripts and rules.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_letters_that_every_wire_takes() {
        assert_eq!(of_tool("files", "read_file"), "mcp__files__read_file");
        assert_eq!(of_tool("my server", "a.b/c"), "mcp__my_server__a_b_c");
    }

    #[test]
    fn long_names_are_cut_to_64_characters_and_stay_apart() {
        let long = |end: &str| of_tool("server", &format!("{}{end}", "x".repeat(80)));
        assert_eq!(long("a").len(), 64);
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a"), long("a"));
        assert_eq!(of_tool("s", &"y".repeat(56)).len(), 64);
        assert!(of_tool("s", &"y".repeat(56)).ends_with('y'));
    }

    #[test]
    fn all_tools_of_a_server_with_a_long_name_begin_with_it_and_the_name_means_itself() {
        let at_limit = "s".repeat(40);
        assert_eq!(of_tool(&at_limit, "t"), format!("mcp__{at_limit}__t"));
        // The cut falls behind a `_`, where another would end the name.
        let long = format!("{}_{}", "s".repeat(30), "x".repeat(40));
        let other = format!("{long}y");
        for tool in ["t", &"t".repeat(80)] {
            let name = of_tool(&long, tool);
            assert!(name.len() <= 64 && name.starts_with(&of_server(&long)), "{name}");
            assert!(!name.starts_with(&of_server(&other)), "{name}");
            let (server, tool) = parts(&name).unwrap();
            assert_eq!(of_tool(server, tool.unwrap()), name);
            assert_eq!(of_server(server), of_server(&long));
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
            assert!(problem(bad).is_some(), "{bad}");
        }
        for good in ["a", "_a", "a_x", "a.b", "a-b", "my server", "7"] {
            assert_eq!(problem(good), None, "{good}");
        }
        let said = problem("a: b").unwrap();
        assert!(said.starts_with("in names of tools and in rules it would be a__b, and __ ends"));
    }
}
