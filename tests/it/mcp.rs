//! MCP servers: a stub over stdio and over HTTP, and real ones from npm where they are installed.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::record::Recorded;
use crate::support::scene::{PARENT, Scene};

mod bad;
mod calls;
mod command;
mod handshake;
mod http;
mod invariants;
mod keys;
mod life;
mod names;
mod own;
mod real;
mod start;

/// The server of the tests.
pub fn stub() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp/stub.sh")
}

/// A configured stub of this name, with these variables. What it notes lies in `NAME.log` of the project.
pub fn server(scene: &Scene, name: &str, variables: &[(&str, &str)]) -> String {
    let log = scene.world.project_dir().join(format!("{name}.log"));
    let log = log.display().to_string();
    let text = |value: &str| Value::from(value).to_string();
    let env = std::iter::once(("STUB_LOG", log.as_str())).chain(variables.iter().copied());
    let env: Vec<_> = env.map(|(name, value)| format!("{name} = {}", text(value))).collect();
    format!(
        "[mcp_servers.{name}]\ncommand = \"bash\"\nargs = [{}]\nenv = {{ {} }}\n",
        text(&stub().display().to_string()),
        env.join(", ")
    )
}

/// What a stub has noted so far.
pub fn noted(scene: &Scene, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scene.world.project_dir().join(format!("{name}.log")));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// How often something was noted.
pub fn count(scene: &Scene, name: &str, what: &str) -> usize {
    noted(scene, name).iter().filter(|line| line.starts_with(what)).count()
}

/// A list of tools without any words on them.
pub fn tools(names: &[&str]) -> String {
    let tool = |name: &&str| {
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{}}}}}}"#)
    };
    format!("[{}]", names.iter().map(tool).collect::<Vec<_>>().join(","))
}

/// The names of the servers' tools that a request offers.
pub fn offered(request: &Recorded) -> Vec<String> {
    let names = request.tool_names().into_iter();
    names.filter(|name| name.starts_with("mcp__")).map(str::to_owned).collect()
}

/// The last request of the main agent.
pub fn last(scene: &Scene) -> Recorded {
    scene.server.requests_of(PARENT).pop().unwrap()
}
