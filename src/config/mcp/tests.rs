use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::config::{Dirs, Overrides, Trust, load};
use crate::protocol::{EnvOverlay, McpTransport, Secret};

/// A user's folder and a project.
struct McpFixture {
    _top: tempfile::TempDir,
    user: PathBuf,
    project: PathBuf,
    overrides: Overrides,
    trusted: bool,
}

impl McpFixture {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let (user, project) = (top.path().join("user"), top.path().join("project"));
        for folder in [&user, &project.join(".git"), &project.join(".caliban")] {
            fs::create_dir_all(folder).unwrap();
        }
        Self { _top: top, user, project, overrides: Overrides::default(), trusted: false }
    }

    fn user(self, toml: &str) -> Self {
        fs::write(self.user.join("config.toml"), toml).unwrap();
        self
    }

    fn project(self, file: &str, text: &str) -> Self {
        let path = self.project.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn flag(mut self, value: &str) -> Self {
        self.overrides.mcp_config.push(value.to_owned());
        self
    }

    fn load(&self) -> Result<crate::config::LoadedConfig, ConfigError> {
        let env = EnvOverlay::from_iter([("CALIBAN_HOME", self.user.as_os_str())]);
        let dirs = Dirs::new(&env, &self.project).unwrap();
        let trust = Trust::new(&dirs, &Project::discover(&self.project, None), &self.project);
        let load = || {
            load(&ConfigSources {
                dirs: &dirs,
                cwd: &self.project,
                env: &env,
                overrides: &self.overrides,
                trust: &trust,
            })
        };
        if self.trusted {
            trust.accept(&load()?.untrusted).unwrap();
        }
        load()
    }

    /// Returns each server that counts: name, description, origin.
    fn servers(&self) -> Vec<String> {
        let loaded = self.load().unwrap();
        let shown = |entry: &McpEntry| {
            let origin =
                entry.origin.to_string().replace(&format!("{}/", self.user.display()), "~/");
            format!("{}: {} ({origin})", entry.server.name, entry.server.about())
        };
        loaded.mcp.iter().map(shown).collect()
    }

    fn error(&self) -> String {
        self.load().unwrap_err().to_string().replace(&format!("{}/", self.user.display()), "~/")
    }
}

#[test]
fn every_key_of_a_server_in_our_own_file_is_read() {
    let bench = McpFixture::new().user(
        r#"
[mcp_servers.files]
command = "npx"
args = ["-y", "server", "${HOME}"]
env = { LEVEL = "1" }
startup_timeout_s = 2.5
timeout_s = 9
shared = false

[mcp_servers.web]
url = "https://host/mcp"
headers = { Authorization = "Bearer ${TOKEN}" }
"#,
    );
    let servers: Vec<_> = bench.load().unwrap().mcp.into_iter().map(|entry| entry.server).collect();
    let pair = |name: &str, value: &str| Secret::from_iter([(name.to_owned(), value.to_owned())]);
    let files = McpTransport::Stdio {
        command: "npx".to_owned(),
        args: ["-y", "server", "${HOME}"].map(str::to_owned).into(),
        env: pair("LEVEL", "1"),
    };
    let web = McpTransport::Http {
        url: "https://host/mcp".to_owned().into(),
        headers: pair("Authorization", "Bearer ${TOKEN}"),
    };
    let files = McpServer {
        startup: Some(Duration::from_millis(2500)),
        timeout: Some(Duration::from_secs(9)),
        shared: false,
        ..McpServer::new("files", files)
    };
    assert_eq!(servers, [files, McpServer::new("web", web)]);
}

#[test]
fn a_server_that_is_none_names_its_line_and_what_it_needs() {
    for (toml, expected) in [
        (
            "[mcp_servers.x]\nargs = [\"a\"]",
            "~/config.toml:2: [mcp_servers.x] needs a `command` or a `url`",
        ),
        (
            "[mcp_servers.x]\ncommand = \"a\"\nurl = \"http://b\"",
            "~/config.toml:2: [mcp_servers.x] has both `command` and `url`; use one of them",
        ),
        (
            "[mcp_servers.x]\ncommand = \"a\"\nheaders = { A = \"b\" }",
            "~/config.toml:2: [mcp_servers.x] has `headers`, which only work with `url`",
        ),
        (
            "[mcp_servers.x]\nurl = \"http://b\"\nenv = { A = \"b\" }",
            "~/config.toml:3: [mcp_servers.x] has `args`, `env` or `cwd`, which only work with `command`",
        ),
        (
            "[mcp_servers.x]\ncomand = \"a\"",
            "~/config.toml:2: unknown key `comand` in [mcp_servers.x]; allowed: command, args, env, url, headers, startup_timeout_s, timeout_s, shared, cwd",
        ),
        (
            "[mcp_servers.x]\ncommand = \"a\"\ntimeout_s = 0",
            "~/config.toml:3: `mcp_servers.x.timeout_s` must be at least 0.001, not 0",
        ),
    ] {
        assert_eq!(McpFixture::new().user(toml).error(), expected, "{toml}");
    }
}

#[test]
fn servers_that_do_something_different_have_different_lines_that_show_what_they_run() {
    let line = |args: &[&str], env: &[(&str, &str)]| {
        let args = args.iter().map(|&it| it.to_owned()).collect();
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let command = "sh".to_owned();
        super::describe_server(&McpServer::new("x", McpTransport::Stdio { command, args, env }))
    };
    assert_eq!(line(&["-c", "a b"], &[]), "MCP server x: sh -c 'a b'");
    assert_eq!(line(&["-c", "a", "b"], &[]), "MCP server x: sh -c a b");
    let run = [("NODE_OPTIONS", "--require ./x.js"), ("Z", "\n")];
    assert_eq!(line(&[], &run), r"MCP server x: sh (NODE_OPTIONS='--require ./x.js', Z='\u{a}')");
    // Whatever short sum is made of values, another value has the same.
    assert_ne!(line(&[], &[("A", "b, C=d")]), line(&[], &[("A", "b"), ("C", "d")]));
    assert_ne!(line(&[], &[("A=b, C", "d")]), line(&[], &[("A", "b"), ("C", "d")]));
    // A name of `.mcp.json` may be any text.
    let program = |name: &str, command: &str, args: &[&str]| {
        let args = args.iter().map(|&it| it.to_owned()).collect();
        let transport =
            McpTransport::Stdio { command: command.to_owned(), args, env: Secret::default() };
        super::describe_server(&McpServer::new(name, transport))
    };
    assert_eq!(program("x", "sh", &["a:", "b"]), "MCP server x: sh a: b");
    assert_eq!(program("x: sh a", "b", &[]), r"MCP server x\u{3a} sh a: b");
    // A folder of the project may be called `http:`.
    let (text, args) = ("http://host/run".to_owned(), Vec::new());
    let address = McpTransport::Http { url: text.clone().into(), headers: Secret::default() };
    let program = McpTransport::Stdio { command: text, args, env: Secret::default() };
    let [address, program] =
        [address, program].map(|it| super::describe_server(&McpServer::new("x", it)));
    assert_eq!(address, "MCP server x: <http://host/run>");
    assert_eq!(program, "MCP server x: http://host/run");
}

#[test]
fn a_server_that_a_settings_file_disables_is_neither_used_nor_asked_about() {
    let servers = r#"{"mcpServers": {"wanted": {"command": "a"}, "not": {"command": "b"}}}"#;
    let mut bench = McpFixture::new()
        .project(".mcp.json", servers)
        .project(".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["not"]}"#)
        .user("[mcp_servers.not]\ncommand = \"mine\"");
    let untrusted: Vec<_> =
        bench.load().unwrap().untrusted.into_iter().map(|untrusted| untrusted.what).collect();
    assert_eq!(untrusted, ["MCP server wanted: a"]);
    assert_eq!(bench.servers(), ["not: mine (~/config.toml:2)"], "one's own of that name stays");
    bench = bench.project(".claude/settings.local.json", r#"{"disabledMcpjsonServers": "not"}"#);
    let error = bench.error();
    assert!(error.contains("settings.local.json:1: `disabledMcpjsonServers` must be"), "{error}");
}

#[test]
fn a_projects_servers_are_left_out_until_it_is_trusted() {
    let mut bench = McpFixture::new()
        .project(".mcp.json", r#"{"mcpServers": {"json": {"command": "run", "args": ["x"], "env": {"KEY": "sk-1"}}}}"#)
        .project(".caliban/config.toml", "\n[mcp_servers.toml]\nurl = \"http://host\"\n")
        .user("[mcp_servers.own]\ncommand = \"mine\"");
    assert_eq!(bench.servers(), ["own: mine (~/config.toml:2)"]);
    let untrusted: Vec<_> = bench.load().unwrap().untrusted;
    let lines: Vec<_> = untrusted.iter().map(|untrusted| untrusted.what.clone()).collect();
    assert_eq!(lines[0], "mcp_servers.toml: url = \"http://host\"");
    assert_eq!(lines[1], "MCP server json: run x (KEY=sk-1)");
    let origins: Vec<_> = untrusted.iter().map(|untrusted| untrusted.origin.to_string()).collect();
    assert_eq!(origins, [".caliban/config.toml:3", ".mcp.json:1"]);

    let other = bench.project(
        ".mcp.json",
        r#"{"mcpServers": {"json": {"command": "run", "args": ["x"], "env": {"KEY": "sk-2"}}}}"#,
    );
    assert_ne!(
        other.load().unwrap().untrusted[1].what,
        lines[1],
        "another value is another server"
    );

    bench = other;
    bench.trusted = true;
    assert_eq!(
        bench.servers(),
        [
            "json: run x (.mcp.json:1)",
            "own: mine (~/config.toml:2)",
            "toml: http://host (.caliban/config.toml:3)"
        ]
    );
    assert_eq!(bench.load().unwrap().untrusted, []);
}

#[test]
fn the_nearer_one_of_two_servers_with_one_name_counts_as_a_whole() {
    let json = r#"{"mcpServers": {"a": {"command": "json"}, "b": {"command": "json"}, "c": {"command": "json"}}}"#;
    let mut bench = McpFixture::new()
        .user("[mcp_servers.a]\ncommand = \"user\"\nargs = [\"1\"]\n[mcp_servers.d]\ncommand = \"user\"\nargs = [\"1\"]")
        .project(".mcp.json", json)
        .project(".caliban/config.toml", "[mcp_servers.b]\ncommand = \"project\"\n[mcp_servers.d]\nurl = \"http://project\"")
        .flag(r#"{"mcpServers": {"c": {"type": "http", "url": "http://flag"}}}"#);
    bench.trusted = true;
    assert_eq!(
        bench.servers(),
        [
            "a: json (.mcp.json:1)",
            "b: project (.caliban/config.toml:2)",
            "c: http://flag (--mcp-config)",
            "d: http://project (.caliban/config.toml:4)",
        ]
    );
    bench.overrides.strict_mcp_config = true;
    assert_eq!(bench.servers(), ["c: http://flag (--mcp-config)"]);
}

#[test]
fn what_is_wrong_in_a_projects_file_is_told_with_its_line_and_costs_no_other_server() {
    let bench = McpFixture::new().project(
        ".mcp.json",
        r#"{"mcpServers": {
  "fine": {"command": "a", "alwaysAllow": [], "description": "d"},
  "old": {"type": "sse", "url": "http://x"},
  "odd": {"type": "ws", "url": "ws://x"},
  "empty": {"cmd": "x"},
  "args": {"command": "a",
    "args": "b"},
  "mine": {"type": "sdk"}
}}"#,
    );
    let loaded = bench.load().unwrap();
    assert_eq!(loaded.untrusted.len(), 1);
    assert_eq!(
        loaded.notices,
        [
            ".mcp.json:3: MCP server old skipped: has type sse, the older HTTP transport, which is not supported; most such servers also offer streamable HTTP: use type http",
            ".mcp.json:4: MCP server odd skipped: has type \"ws\", which is not supported; allowed: stdio, http",
            ".mcp.json:5: MCP server empty skipped: needs a `command` or a `url`; unknown keys: cmd",
            ".mcp.json:7: MCP server args skipped: `args` must be a list, not a string",
            ".mcp.json:8: MCP server mine skipped: has type sdk, which only works for a program that drives caliban",
            ".mcp.json:2: MCP server fine: unknown keys ignored: alwaysAllow",
        ]
    );
    let broken = McpFixture::new().project(".mcp.json", "{\n  \"mcpServers\": {,}\n}");
    assert_eq!(
        broken.load().unwrap().notices,
        [".mcp.json:2: not valid JSON: key must be a string"]
    );
    let other = McpFixture::new().project(".mcp.json", "[]");
    assert_eq!(
        other.load().unwrap().notices,
        [
            ".mcp.json:1: `mcpServers` is missing, as in {\"mcpServers\": {\"NAME\": {\"command\": \"…\", \"args\": []}}}"
        ]
    );
}

#[test]
fn the_flag_takes_json_and_files_and_a_mistake_in_it_is_an_error() {
    let bench = McpFixture::new()
        .project("more.json", "{\"mcpServers\": {\n\"b\": {\"command\": \"run\"}}}")
        .flag(r#"{"mcpServers": {"a": {"type": "sdk", "name": "a"}}}"#)
        .flag("more.json");
    assert_eq!(
        bench.servers(),
        ["a: in the program that drives caliban (--mcp-config)", "b: run (more.json:2)"]
    );
    for (value, expected) in [
        ("none.json", "--mcp-config: no such file: none.json; expected a file or JSON such as "),
        ("{", "--mcp-config: not valid JSON: EOF while parsing an object"),
        (
            r#"{"mcpServers": {"x": {"type": "ws"}}}"#,
            "--mcp-config: MCP server x: has type \"ws\", which is not",
        ),
        (r#"{"mcpServers": []}"#, "--mcp-config: `mcpServers` must be an object"),
    ] {
        let error = McpFixture::new().flag(value).error();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn only_servers_of_the_project_and_of_the_command_line_start_in_the_project() {
    let start = |bench: &McpFixture, name: &str| {
        let loaded = bench.load().unwrap();
        let found = loaded.mcp.iter().find(|entry| entry.server.name == name);
        found.map(|entry| entry.server.start.clone())
    };
    let table = |name: &str, more: &str| format!("[mcp_servers.{name}]\ncommand = \"c\"\n{more}");
    let json = r#"{"mcpServers": {"x": {"command": "c", "cwd": "project"}}}"#;
    let mut bench = McpFixture::new().user(&table("x", ""));
    assert_eq!(start(&bench, "x"), Some(StartDir::Private));
    bench = bench.user(&table("x", "cwd = \"project\"\n"));
    assert_eq!(start(&bench, "x"), Some(StartDir::Private), "asked for and not accepted");
    let loaded = bench.load().unwrap();
    assert_eq!(loaded.starts.len(), 1);
    assert_eq!(loaded.starts[0].entry, "MCP server x: c");
    for file in [".caliban/config.toml", ".mcp.json"] {
        let text = if file == ".mcp.json" { json.to_owned() } else { table("x", "") };
        let mut bench = McpFixture::new().project(file, &text);
        assert_eq!(start(&bench, "x"), None);
        bench.trusted = true;
        assert_eq!(start(&bench, "x"), Some(StartDir::project(&bench.project)), "{file}");
    }
    let bench = McpFixture::new().flag(json);
    assert_eq!(start(&bench, "x"), Some(StartDir::project(&bench.project)));
}

#[test]
fn the_place_of_a_program_is_the_project_or_left_out() {
    let error =
        McpFixture::new().user("[mcp_servers.x]\ncommand = \"c\"\ncwd = \"/tmp\"\n").error();
    assert!(error.starts_with("~/config.toml:3: ") && error.contains("project"), "{error}");
}

#[test]
fn debug_output_of_a_configuration_holds_no_key() {
    let text = "command = 'x'\nenv = { A = 'sk-canary' }\nheaders = { B = 'sk-canary' }\nurl = 'http://h?sk-canary'";
    let server: McpServerConfig = toml::from_str(text).unwrap();
    let stdio = McpServerConfig { url: None, headers: Secret::default(), ..server.clone() };
    let http = McpServerConfig { command: None, env: Secret::default(), ..server.clone() };
    let servers = [stdio, http].map(|config| config.to_server("x").unwrap());
    let shown = format!("{server:?} {servers:?}");
    assert!(shown.contains("***") && !shown.contains("sk-canary"), "{shown}");
}
