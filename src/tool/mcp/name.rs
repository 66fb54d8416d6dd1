//! What tools of servers are called: `mcp__<server>__<tool>`, in the letters and the length that every wire takes.

use crate::protocol::MCP_PREFIX;

/// The most characters that a wire takes.
const LIMIT: usize = 64;

/// The name of a tool as models see it. Two that differ only in letters that no wire takes have the same.
pub fn of_tool(server: &str, tool: &str) -> String {
    let name = format!("{MCP_PREFIX}{}__{}", plain(server), plain(tool));
    if name.len() <= LIMIT {
        return name;
    }
    // Long names often differ only at their end.
    let mark = format!("_{:08x}", hash(&name));
    format!("{}{mark}", &name[..LIMIT - mark.len()])
}

/// What the names of all tools of a server begin with.
pub fn of_server(server: &str) -> String {
    format!("{MCP_PREFIX}{}__", plain(server))
}

/// The same in ASCII letters, digits, `_` and `-`.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(letter).collect()
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
        assert_eq!(of_tool("é", "日本"), "mcp_____".to_owned() + "__");
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
}
