//! What may stand where: crates, process state, global state, printing, the shape of files.

use super::source::{Source, has_word};

/// Longest a file may be, unit tests not counted.
const MAX_LINES: usize = 600;

/// A crate, and the only places that may name it (prefixes of paths under `src/`).
const PLACES: &[(&str, &[&str])] = &[
    ("ratatui", &["tui/"]),
    ("crossterm", &["tui/"]),
    ("ratatui_textarea", &["tui/"]),
    ("reqwest", &["provider/", "tool/web_", "tool/mcp/http.rs"]),
    ("rmcp", &["tool/mcp/"]),
    ("landlock", &["exec/sandbox.rs", "exec/sandbox/landlock.rs"]),
    ("seccompiler", &["exec/sandbox/seccomp.rs"]),
    ("close_fds", &["exec/sandbox/seccomp.rs"]),
];

/// Names of types that the glossary replaced, by which nobody would look for a thing.
const RETIRED_TYPES: &str = "Backstage Begun Behind Brought Caller Claim Customs Cut Desk Drawn Edge Ended Facts Fault Fleet \
                             Forced Ground Heard HostReply Inert Intake Joining Keeper Laid Leash Leaving Lender Lent Look \
                             Machine Means Membership Misfit Moment Need Needs Occasion Offer Opening Operations Opinion Own \
                             Pen Respite Round Said Senseless Served Settled Sight Silence Spot Standing Station Takes Told \
                             TypedTool Unanswered Under Undone Unit Wanted Wishes";

/// The same of functions.
const RETIRED_FUNCTIONS: &str =
    "defuse held_back keeps_from_compacting let_in meant step_out undressed";

/// The functions that write the name of a type in debug output.
const DEBUG_WRITERS: [&str; 3] = ["debug_struct(\"", "debug_tuple(\"", "write_str(\""];

/// The kinds of item that have such a name.
const TYPE_KINDS: [&str; 4] = ["struct", "enum", "trait", "type"];

/// The files of the screen that run it on a terminal, in real time.
const TERMINAL_FILES: &[&str] =
    &["tui/event_loop", "tui/keyboard", "tui/terminal", "tui/trust/ask.rs"];

/// What a function that draws takes.
const DRAWING: &[&str] = &["Buffer", "Cells", "Frame", "Painter"];

/// Fields whose values may be keys.
const SECRET_FIELDS: [&str; 3] = ["env:", "header:", "headers:"];

const PRINTERS: &[&str] = &["headless/", "command/", "main.rs"];

pub fn misplaced_crates(source: &Source) -> Vec<String> {
    let misplaced = PLACES.iter().filter(|(_, places)| !is_in(source, places));
    misplaced.flat_map(|(name, _)| source.lines_with(name)).collect()
}

/// Names that were given up for those in `docs/glossary.md`.
pub fn retired_names(source: &Source) -> Vec<String> {
    let types = RETIRED_TYPES.split_whitespace();
    let types = types.flat_map(|name| TYPE_KINDS.map(|kind| format!("{kind} {name}")));
    let functions = RETIRED_FUNCTIONS.split_whitespace().map(|name| format!("fn {name}"));
    let items = types.chain(functions).filter(|item| source.code.contains(item.as_str()));
    items.flat_map(|item| source.lines_with(&item)).collect()
}

/// A comment names no member that its type does not have, and debug output names the type itself:
/// the compiler checks neither when a name changes.
pub fn stale_names(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| stale_members(source, sources))
        .chain(sources.iter().flat_map(stale_debug_names))
        .collect()
}

/// References such as `Gate::decide` in comments to what no file has.
fn stale_members(source: &Source, sources: &[Source]) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    let comments = lines.filter_map(|(at, line)| Some((at, line.split_once("//")?.1)));
    let references = comments.flat_map(|(at, comment)| {
        let quoted = comment.split('`').skip(1).step_by(2);
        quoted.filter_map(move |name| Some((at, name.split_once("::")?)))
    });
    let mut found = Vec::new();
    for (at, (kind, member)) in references {
        let member = member.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        let has = |source: &Source, word: &str| has_word(&source.code, word);
        let is_own = sources.iter().any(|source| declares_type(&source.code, kind));
        let exists = sources.iter().any(|source| has(source, kind) && has(source, member));
        if is_own && !exists {
            found.push(format!("{}:{}: {kind}::{member}", source.path, at + 1));
        }
    }
    found
}

fn declares_type(code: &str, name: &str) -> bool {
    TYPE_KINDS.iter().any(|kind| has_word(code, &format!("{kind} {name}")))
}

/// Handwritten debug output with the name of another type.
fn stale_debug_names(source: &Source) -> Vec<String> {
    let implementations = source.text.split("Debug for ").skip(1).filter_map(|rest| {
        let name = rest.split([' ', '<', '\n']).next()?;
        let body = rest.split("\n}").next()?;
        let after = DEBUG_WRITERS.iter().find_map(|writer| body.split_once(writer));
        Some((name, after?.1.split('"').next()?))
    });
    let stale = implementations.filter(|(name, written)| name != written);
    stale
        .map(|(name, written)| format!("{}: {name} is debugged as {written}", source.path))
        .collect()
}

pub fn agent_names_subagent(source: &Source) -> Vec<String> {
    if source.top() != "agent" {
        return Vec::new();
    }
    ["subagent", "AgentTool"].iter().flat_map(|word| source.lines_with(word)).collect()
}

pub fn process_state(source: &Source) -> Vec<String> {
    let mut found = any(source, &["set_current_dir", "set_var", "remove_var"]);
    if source.path != "config/env.rs" {
        let env = [
            "std::env",
            "env::var",
            "env::vars",
            "env::var_os",
            "env::vars_os",
            "env::args",
            "env::current_dir",
            "env::home_dir",
            "env::temp_dir",
            "env::current_exe",
        ];
        // `config::env` is our own one file.
        let code = source.code.replace("config::env::", "");
        found.extend(any(&Source { path: source.path.clone(), text: String::new(), code }, &env));
    }
    found.sort();
    found.dedup();
    found
}

/// Statics that only hold a constant (`&str`, a slice, a number) are allowed; what can change is not.
pub fn global_state(source: &Source) -> Vec<String> {
    let mut found = any(
        source,
        &["static mut", "unbounded_channel", "UnboundedSender", "thread_local", "lazy_static"],
    );
    let std_channel = source.lines_with("mpsc::channel").into_iter();
    found.extend(std_channel.filter(|line| line.contains("mpsc::channel()")));
    let changeable = ["Mutex", "RwLock", "Atomic", "OnceLock", "OnceCell", "Cell<", "Sender"];
    let statics = source.lines_with("static").into_iter();
    found.extend(
        statics.filter(|line| {
            is_static_item(line) && changeable.iter().any(|word| line.contains(word))
        }),
    );
    found
}

pub fn prints(source: &Source) -> Vec<String> {
    let mut found = any(source, &["dbg!"]);
    if !is_in(source, PRINTERS) {
        let macros = ["println!", "print!", "eprintln!", "eprint!"];
        found.extend(any(source, &macros));
    }
    found
}

/// The screen opens no files and no sockets; only its loops touch the terminal and the clock.
pub fn screen_effects(source: &Source) -> Vec<String> {
    if source.top() != "tui" {
        return Vec::new();
    }
    let files = ["std::fs", "tokio::fs", "std::net", "tokio::net", "fs::read", "fs::write"];
    let mut found = any(source, &files);
    if !is_in(source, TERMINAL_FILES) {
        let terminal = ["TerminalGuard", "std::io", "tokio", "Instant", "SystemTime"];
        found.extend(any(source, &terminal));
    }
    found
}

/// A function of the screen changes the model or draws it, never both. A file named `draw.rs` only
/// draws, one named `update.rs` only changes the model.
pub fn screen_purity(source: &Source) -> Vec<String> {
    if source.top() != "tui" {
        return Vec::new();
    }
    let changes = |text: &str| text.contains("&mut TuiModel");
    let draws = |text: &str| DRAWING.iter().any(|word| has_word(text, word));
    let both = signatures(&source.code).into_iter();
    let both = both.filter(|signature| changes(signature) && draws(signature));
    let mut found: Vec<String> = both.map(|fun| format!("{}: {fun}", source.path)).collect();
    match source.path.rsplit('/').next() {
        Some("draw.rs" | "view.rs") => {
            found.extend(any(source, &["mut TuiModel", "ScreenEffect"]));
        }
        Some("update.rs") => found.extend(any(source, DRAWING)),
        _ => {}
    }
    found
}

/// The heads of all functions: name, arguments and result.
fn signatures(code: &str) -> Vec<&str> {
    let starts = code.match_indices("fn ").map(|(at, _)| at);
    let heads = starts.map(|at| &code[at..]).filter_map(|rest| rest.split('{').next());
    heads.collect()
}

/// serde refuses a path that is not UTF-8, and with it everything around the path: a field of a
/// type that is written says how its path becomes text.
pub fn serialized_paths(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let (mut serialized, mut before) = (false, "");
    for (at, line) in source.code.lines().enumerate() {
        let derives = line.contains("derive(") && has_word(line, "Serialize");
        serialized |= derives || line.trim() == "Serialize,";
        // The path of an agent is made of ids.
        let has_path = has_word(line, "PathBuf") || line.replace("AgentPath", "").contains("Path>");
        let says_how =
            [before, line].iter().any(|line| line.contains("serde(") && line.contains("with ="));
        if serialized && has_path && !says_how {
            found.push(format!("{}:{}: {}", source.path, at + 1, line.trim()));
        }
        let ends = line == "}" || (line.ends_with(';') && !line.starts_with(' '));
        serialized &= !ends;
        before = line;
    }
    found
}

/// Variables and headers may hold keys: a field that owns some is a `Secret`, which masks them in debug output.
pub fn bare_secrets(source: &Source) -> Vec<String> {
    let is_bare = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| !SECRET_FIELDS.contains(word));
        let owned = words.nth(1).filter(|_| !has_word(line, "let"));
        owned.is_some_and(|kind| {
            ["Map<", "Vec<"].iter().any(|name| kind.contains(name))
                && !kind.contains("Secret<")
                && !kind.starts_with('&')
        })
    };
    let lines = source.code.lines().enumerate().filter(|(_, line)| is_bare(line));
    lines.map(|(at, line)| format!("{}:{}: {}", source.path, at + 1, line.trim())).collect()
}

pub fn shape(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    if !source.text.starts_with("//!") {
        found.push(format!("{}: does not begin with a `//!` doc", source.path));
    }
    let lines = source.line_count();
    if lines > MAX_LINES {
        found.push(format!("{}: {lines} lines, which is two subjects", source.path));
    }
    found
}

fn is_in(source: &Source, places: &[&str]) -> bool {
    places.iter().any(|place| source.path.starts_with(place))
}

fn any(source: &Source, words: &[&str]) -> Vec<String> {
    words.iter().flat_map(|word| source.lines_with(word)).collect()
}

/// `static NAME: …`, rather than the lifetime.
fn is_static_item(line: &str) -> bool {
    has_word(line, "static") && !line.contains("'static") || line.contains("static ref")
}

#[cfg(test)]
mod tests {
    use super::super::source::all;
    use super::*;

    /// Each rule finds the offence in `bad` at `path`, and nothing in `good`.
    fn tries(rule: fn(&Source) -> Vec<String>, path: &str, bad: &[&str], good: &[&str]) {
        for code in bad {
            let source = Source::new(path, &format!("//! doc\n{code}\n"));
            assert!(!rule(&source).is_empty(), "not found: {code}");
        }
        for code in good {
            let source = Source::new(path, &format!("//! doc\n{code}\n"));
            assert_eq!(rule(&source), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn each_rule_can_fail() {
        tries(
            misplaced_crates,
            "agent/turn.rs",
            &["use ratatui::Frame;", "fn f(e: crossterm::event::Event) {}", "use reqwest::Client;"],
            &["// ratatui", "let x = \"reqwest\";"],
        );
        tries(misplaced_crates, "tui/view.rs", &["use reqwest::Client;"], &["use ratatui::Frame;"]);
        tries(
            retired_names,
            "agent/hooks.rs",
            &["pub struct Heard {", "enum Moment {", "fn let_in(&self) {"],
            &["struct Hearder;", "// struct Heard", "let moment = Moment::now();"],
        );
        tries(
            agent_names_subagent,
            "agent/turn.rs",
            &["use crate::subagent::Tree;", "use crate::{subagent, tool};", "let t = AgentTool;"],
            &["/// A subagent is a tool.", "let subagents = 1;"],
        );
        tries(
            process_state,
            "tool/bash.rs",
            &[
                "let x = std::env::var(\"A\");",
                "use std::env;",
                "env::set_current_dir(\"/\");",
                "let p = env::current_dir();",
            ],
            &[
                "let dir = config::env::current_dir();",
                "let env = cx.env.get(\"A\");",
                "env!(\"CARGO_PKG_VERSION\")",
            ],
        );
        tries(process_state, "config/env.rs", &["set_current_dir(p)"], &["std::env::vars_os()"]);
        tries(
            global_state,
            "runtime.rs",
            &[
                "static mut COUNT: u32 = 0;",
                "static STATE: Mutex<u32> = Mutex::new(0);",
                "pub static N: AtomicUsize = AtomicUsize::new(0);",
                "let (a, b) = mpsc::unbounded_channel();",
                "let (a, b) = std::sync::mpsc::channel();",
            ],
            &["let (a, b) = mpsc::channel(16);", "static NAMES: &[&str] = &[];", "x: &'static str"],
        );
        tries(
            prints,
            "tool/bash.rs",
            &["println!(\"x\");", "eprintln!();", "print!(\"x\");", "dbg!(x);"],
            &["write!(out, \"x\")", "writeln!(out)"],
        );
        tries(
            serialized_paths,
            "protocol/event.rs",
            &[
                "#[derive(Clone, Serialize)]\nstruct A {\n    cwd: PathBuf,\n}",
                "#[derive(\n    Serialize,\n)]\nenum A {\n    B { cwd: PathBuf },\n}",
                "#[derive(serde::Serialize)]\nstruct A(Arc<Path>);",
            ],
            &[
                "#[derive(Deserialize)]\nstruct A {\n    cwd: PathBuf,\n}",
                "#[derive(Serialize)]\nstruct A {\n    #[serde(with = \"lossy_path\")]\n    cwd: PathBuf,\n}",
                "#[derive(Serialize)]\nstruct A {\n    a: u8,\n}\nstruct B {\n    cwd: PathBuf,\n}",
            ],
        );
        tries(
            bare_secrets,
            "config/mcp.rs",
            &[
                "struct A {\n    pub env: BTreeMap<String, String>,\n}",
                "enum A {\n    B { url: String, headers: Option<Vec<(String, String)>> },\n}",
            ],
            &[
                "struct A {\n    pub env: Secret<BTreeMap<String, String>>,\n}",
                "fn f(env: &BTreeMap<String, String>) {}",
                "let headers: Vec<_> = all.collect();",
            ],
        );
        tries(prints, "headless/text.rs", &["dbg!(x);"], &["println!(\"x\");"]);
        tries(
            screen_effects,
            "tui/update.rs",
            &["std::fs::read(p)", "use tokio::fs;", "let now = Instant::now();", "use std::io;"],
            &["use crate::protocol::Command;"],
        );
        tries(
            screen_effects,
            "tui/event_loop.rs",
            &["std::fs::read(p)"],
            &["let now = Instant::now();", "fn run(terminal: &mut TerminalGuard) {}"],
        );
        tries(
            screen_purity,
            "tui/page.rs",
            &["fn draw(\n    model: &mut TuiModel,\n    buffer: &mut Buffer,\n) {\n}"],
            &["fn draw(m: &TuiModel, b: &mut Buffer) {}\nfn press(m: &mut TuiModel) {}"],
        );
        tries(
            screen_purity,
            "tui/question/draw.rs",
            &["fn draw(m: &mut TuiModel) {}", "use crate::tui::msg::ScreenEffect;"],
            &["fn draw(m: &TuiModel, b: &mut Buffer) {}"],
        );
        tries(
            screen_purity,
            "tui/question/update.rs",
            &["use ratatui::buffer::Buffer;"],
            &["fn press(m: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {}"],
        );
    }

    /// A rule about a crate or a place that does not exist finds nothing.
    #[test]
    fn each_crate_and_each_place_of_a_rule_exists() {
        let manifest = include_str!("../../../Cargo.toml");
        for (name, _) in PLACES {
            let is_name = |line: &str| line.replace('-', "_").starts_with(&format!("{name} = "));
            assert!(manifest.lines().any(is_name), "Cargo.toml does not have {name}");
        }
        let sources = all();
        let places = PLACES.iter().flat_map(|(_, places)| *places);
        for place in places.chain(TERMINAL_FILES).chain(PRINTERS) {
            let exists = sources.iter().any(|source| source.path.starts_with(place));
            assert!(exists, "src does not have {place}");
        }
    }

    #[test]
    fn a_name_that_is_no_more_is_found_in_comments_and_in_debug_output() {
        let gate = "//! doc\npub struct Gate;\nimpl Gate { fn decide(&self) {} }\n";
        let found = |text: &str| {
            stale_names(&[
                Source::new("a.rs", gate),
                Source::new("b.rs", &format!("//! doc\n{text}")),
            ])
        };
        assert_eq!(
            found("// `Gate::decide`, [`Gate::decide()`], `Other::decide`, `decide`\n"),
            [""; 0]
        );
        assert_eq!(found("/// See `Gate::judge`.\n"), ["b.rs:2: Gate::judge"]);
        let debug = |written: &str| {
            format!(
                "impl fmt::Debug for Gate {{\n    fn fmt() {{ f.debug_struct(\"{written}\") }}\n}}\n"
            )
        };
        assert_eq!(found(&debug("Gate")), [""; 0]);
        assert_eq!(found(&debug("Judge")), ["b.rs: Gate is debugged as Judge"]);
    }

    #[test]
    fn a_long_or_undocumented_file_is_found() {
        let long = format!("//! doc\n{}", "x();\n".repeat(MAX_LINES));
        assert_eq!(shape(&Source::new("a.rs", &long)).len(), 1);
        assert_eq!(shape(&Source::new("a.rs", "fn main() {}")).len(), 1);
        let tests =
            format!("//! doc\n#[cfg(test)]\nmod tests {{\n{}}}", "x();\n".repeat(MAX_LINES));
        assert_eq!(shape(&Source::new("a.rs", &tests)), Vec::<String>::new());
    }
}
