//! `caliban mcp [list|get NAME|add …|remove NAME]`.

use std::collections::BTreeMap;
use std::path::Path;

use url::Url;

use super::{CommandReport, columns, one_line};
use crate::cli::{McpAddArgs, McpKind};
use crate::config::{McpConfigFile, McpEntry, names_file, relative_word, start_ways};
use crate::protocol::{
    McpServer, McpState, McpStatus, McpTransport, StartDir, display_url, mcp_name, printable,
    printable_line, printable_path,
};

/// The maximum length of an error or a tool's description in a line, in characters.
const MAX_DETAIL_CHARS: usize = 120;

/// The state of an untrusted server.
pub const NOT_TRUSTED_STATE: &str = "not trusted: caliban trust";

/// A server and its status; `None` if it is not started, because it is not trusted.
#[derive(Clone, Debug)]
pub struct ServerRow {
    pub entry: McpEntry,
    pub status: Option<McpStatus>,
}

impl ServerRow {
    /// Returns the state in a few words.
    pub fn state(&self) -> &'static str {
        match &self.status {
            None => NOT_TRUSTED_STATE,
            Some(status) if status.state == McpState::Pending => "no answer",
            Some(status) => status.state.label(),
        }
    }

    /// Returns the last error in one line.
    pub fn error(&self) -> String {
        let error = self.status.as_ref().and_then(|status| status.error.as_deref());
        one_line(error.unwrap_or_default(), MAX_DETAIL_CHARS)
    }
}

/// Lists all servers, after `broken` definitions that are left out and before `odd` ones.
pub fn list(servers: &[ServerRow], broken: &[String], odd: &[String]) -> CommandReport {
    let problem = |problem: &String| format!("problem: {}\n", one_line(problem, 400));
    let mut text: String = broken.iter().map(problem).collect();
    text.push_str(&match servers {
        [] if !broken.is_empty() => String::new(),
        [] => "No MCP servers yet: caliban mcp add NAME COMMAND_OR_URL defines one.\n".to_owned(),
        _ => {
            let head = ["NAME", "STATE", "TOOLS", "FROM", "LAST ERROR"].map(str::to_owned);
            let rows = servers.iter().map(|standing| {
                let up = standing.status.as_ref().filter(|it| it.state == McpState::Connected);
                [
                    printable_line(&standing.entry.server.name),
                    standing.state().to_owned(),
                    up.map_or_else(|| "-".to_owned(), |status| status.tools.len().to_string()),
                    standing.entry.origin.to_string(),
                    standing.error(),
                ]
            });
            columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
        }
    });
    text.extend(odd.iter().map(problem));
    CommandReport { text, broken: !broken.is_empty(), ..CommandReport::default() }
}

/// Shows one server with its tools and their descriptions, and the messages about it at startup.
pub fn get(standing: &ServerRow, tools: &[(String, String)], said: &[String]) -> CommandReport {
    let McpEntry { server, origin, .. } = &standing.entry;
    let mut rows = vec![("name", server.name.clone())];
    match &server.transport {
        McpTransport::Stdio { env, .. } => {
            let place = match &server.start {
                StartDir::Private => "an empty folder".to_owned(),
                StartDir::Project(folder) => format!("this project: {}", printable_path(folder)),
            };
            let place = if standing.status.is_some() { place } else { String::new() };
            rows.extend([("runs", server.about()), ("in", place), ("env", mask_values(env))]);
        }
        McpTransport::Http { url, headers } => {
            rows.extend([("url", display_url(url)), ("headers", mask_values(headers))]);
        }
        McpTransport::Peer => rows.push(("runs", server.about())),
    }
    rows.extend([
        ("from", origin.to_string()),
        ("state", standing.state().to_owned()),
        ("error", standing.error()),
    ]);
    rows.retain(|(_, value)| !value.is_empty());
    let rows: Vec<_> =
        rows.into_iter().map(|(key, value)| [format!("{key}:"), one_line(&value, 1000)]).collect();
    let mut text = columns(&rows);
    text.extend(said.iter().map(|line| format!("{}\n", one_line(line, 400))));
    if !tools.is_empty() {
        let row = |(name, about): &(String, String)| {
            [String::new(), printable_line(name), one_line(about, MAX_DETAIL_CHARS)]
        };
        text.push_str("\ntools:\n");
        text.push_str(&columns(&tools.iter().map(row).collect::<Vec<_>>()));
    }
    CommandReport::text(text)
}

/// Returns the names, with values masked.
fn mask_values(values: &BTreeMap<String, String>) -> String {
    values.keys().map(|name| format!("{name}=***")).collect::<Vec<_>>().join(" ")
}

/// Reports that there is no such server.
pub fn unknown(name: &str, known: &[String]) -> CommandReport {
    let name = printable_line(name);
    CommandReport::error(match known {
        [] => format!("there is no MCP server {name}: none is defined"),
        known => format!("there is no MCP server {name}; there are: {}", known.join(", ")),
    })
}

/// Reports the added server, and other files that define one with that name.
pub fn added(
    name: &str,
    place: &McpConfigFile,
    over: &[&McpConfigFile],
    under: &[&McpConfigFile],
) -> CommandReport {
    let mut text = format!("Added MCP server {name} to {}.\n", printable_path(&place.shown));
    for higher in over {
        let shown = printable_path(&higher.shown);
        text.push_str(&format!("{shown} also has one of that name, which takes precedence.\n"));
    }
    for lower in under {
        let shown = printable_path(&lower.shown);
        text.push_str(&format!("It takes precedence over the one in {shown}.\n"));
    }
    CommandReport::text(printable(&text))
}

/// Reports the added server if its trust could not be stored.
pub fn not_trusted(added: &CommandReport, why: &str) -> CommandReport {
    let text = format!("{}It is not trusted: {why}.\n", added.text);
    CommandReport { text: printable(&text), broken: true, ..CommandReport::default() }
}

/// Reports that the file already has one.
pub fn exists(name: &str, place: &McpConfigFile) -> CommandReport {
    let (file, scope) = (printable_path(&place.shown), place.scope.name());
    CommandReport::error(printable(&format!(
        "{file} already has an MCP server {name}: use another name, or first run `caliban mcp remove {name} --scope {scope}`"
    )))
}

pub fn removed(name: &str, place: &McpConfigFile) -> CommandReport {
    let file = printable_path(&place.shown);
    CommandReport::text(printable(&format!("Removed MCP server {name} from {file}.\n")))
}

/// Reports that several files define it.
pub fn ambiguous(name: &str, places: &[&McpConfigFile]) -> CommandReport {
    let named = |place: &&McpConfigFile| {
        format!("{} ({})", printable_path(&place.shown), place.scope.name())
    };
    let files = places.iter().map(named).collect::<Vec<_>>().join(" and ");
    let scopes_differ = places.windows(2).any(|pair| pair[0].scope != pair[1].scope);
    let advice = match scopes_differ {
        true => "choose one with --scope user or --scope project",
        false => "remove it from one of them by hand first",
    };
    CommandReport::error(printable(&format!("MCP server {name} is defined in {files}: {advice}")))
}

/// Parses the server from the arguments. The error is for the user, and contains no values.
pub fn parse_server(args: &McpAddArgs) -> Result<McpServer, String> {
    let McpAddArgs { transport, env, header, name, command_or_url, args, .. } = args;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("invalid name {name:?}: use only letters, digits, - and _"));
    }
    if let Some(problem) = mcp_name::check_server(name) {
        return Err(format!("the name {name}: {problem}"));
    }
    let is_url = ["http://", "https://"].iter().any(|start| command_or_url.starts_with(start));
    let kind = transport.unwrap_or(if is_url { McpKind::Http } else { McpKind::Stdio });
    let transport = match kind {
        McpKind::Http if !is_url => {
            return Err(
                "--transport http takes an address that starts with http:// or https://".to_owned()
            );
        }
        McpKind::Http if !env.is_empty() || !args.is_empty() => {
            return Err(
                "an HTTP server takes no --env and no arguments: those are for programs".to_owned()
            );
        }
        McpKind::Http => {
            // Variables may be any part of it.
            if !command_or_url.contains("${") && Url::parse(command_or_url).is_err() {
                return Err("the address is not a valid URL".to_owned());
            }
            let pair = |text: &String| parse_pair(text, ':', "--header takes 'Name: value'");
            let headers = header.iter().map(pair).collect::<Result<_, _>>()?;
            McpTransport::Http { url: command_or_url.clone(), headers }
        }
        McpKind::Stdio if !header.is_empty() => {
            return Err("a program takes no --header: headers are for HTTP servers".to_owned());
        }
        McpKind::Stdio if command_or_url.trim().is_empty() => {
            return Err("the name of the program is empty".to_owned());
        }
        McpKind::Stdio => {
            let pair = |text: &String| parse_pair(text, '=', "--env takes KEY=VALUE");
            let env = env.iter().map(pair).collect::<Result<_, _>>()?;
            McpTransport::Stdio { command: command_or_url.clone(), args: args.clone(), env }
        }
    };
    Ok(McpServer::new(name, transport))
}

/// Refuses a server for all projects with a relative path: it starts in an empty folder.
pub fn check_paths(server: &McpServer, cwd: &Path) -> Result<(), String> {
    match relative_word(server, &|word| names_file(word, cwd)) {
        None => Ok(()),
        Some(word) => Err(format!(
            "`{}` names a file relative to where the server starts, which for one of your own is an empty folder: {}",
            printable(word),
            start_ways(&server.name)
        )),
    }
}

fn parse_pair(text: &str, sign: char, usage: &str) -> Result<(String, String), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let (name, value) = text.split_once(sign).ok_or(usage)?;
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("{usage}, with only letters, digits, - and _ in the name"));
    }
    let value = if sign == ':' { value.trim() } else { value };
    Ok((name.to_owned(), value.to_owned()))
}
