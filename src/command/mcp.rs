//! `caliban mcp [list|get NAME|add …|remove NAME]`.

use std::collections::BTreeMap;
use std::path::Path;

use url::Url;

use super::{Report, columns, one_line};
use crate::cli::{McpAddArgs, McpKind};
use crate::config::{McpEntry, McpPlace, names_file, relative_word, start_ways};
use crate::protocol::{
    McpServer, McpState, McpStatus, McpTransport, StartDir, mcp_name, printable, printable_line,
    printable_path, shown_url,
};

/// How much of an error, or of what a tool is for, is shown in a line. Characters.
const DETAIL: usize = 120;

/// What is said of a server that waits for the person's word.
pub const NOT_TRUSTED: &str = "not trusted: caliban trust";

/// A server, and how it stands; `None` when it is not started, because it is not trusted.
#[derive(Clone, Debug)]
pub struct Standing {
    pub entry: McpEntry,
    pub status: Option<McpStatus>,
}

impl Standing {
    /// In a few words.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match &self.status {
            None => NOT_TRUSTED,
            Some(status) if status.state == McpState::Pending => "no answer",
            Some(status) => status.state.word(),
        }
    }

    /// What went wrong last, in one line.
    #[must_use]
    pub fn error(&self) -> String {
        let error = self.status.as_ref().and_then(|status| status.error.as_deref());
        one_line(error.unwrap_or_default(), DETAIL)
    }
}

/// What is `broken` and left out of definitions, all servers, and what of these is `odd`.
#[must_use]
pub fn list(servers: &[Standing], broken: &[String], odd: &[String]) -> Report {
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
    Report { text, broken: !broken.is_empty(), ..Report::default() }
}

/// One server with its tools, each with what it is for, and what the server was told of when it was started.
#[must_use]
pub fn get(standing: &Standing, tools: &[(String, String)], said: &[String]) -> Report {
    let McpEntry { server, origin, .. } = &standing.entry;
    let mut rows = vec![("name", server.name.clone())];
    match &server.transport {
        McpTransport::Stdio { env, .. } => {
            let place = match &server.start {
                StartDir::Private => "an empty folder".to_owned(),
                StartDir::Project(folder) => format!("this project: {}", printable_path(folder)),
            };
            let place = if standing.status.is_some() { place } else { String::new() };
            rows.extend([("runs", server.about()), ("in", place), ("env", hidden(env))]);
        }
        McpTransport::Http { url, headers } => {
            rows.extend([("url", shown_url(url)), ("headers", hidden(headers))]);
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
            [String::new(), printable_line(name), one_line(about, DETAIL)]
        };
        text.push_str("\ntools:\n");
        text.push_str(&columns(&tools.iter().map(row).collect::<Vec<_>>()));
    }
    Report::text(text)
}

/// The names, each with a mark in the place of its value.
fn hidden(values: &BTreeMap<String, String>) -> String {
    values.keys().map(|name| format!("{name}=***")).collect::<Vec<_>>().join(" ")
}

/// That there is no such server.
#[must_use]
pub fn unknown(name: &str, known: &[String]) -> Report {
    let name = printable_line(name);
    Report::error(match known {
        [] => format!("there is no MCP server {name}: none is defined"),
        known => format!("there is no MCP server {name}; there are: {}", known.join(", ")),
    })
}

/// What was written, with the other files in which a server of that name stands.
#[must_use]
pub fn added(name: &str, place: &McpPlace, over: &[&McpPlace], under: &[&McpPlace]) -> Report {
    let mut text = format!("Added MCP server {name} to {}.\n", printable_path(&place.shown));
    for higher in over {
        let shown = printable_path(&higher.shown);
        text.push_str(&format!("{shown} has one of that name too, which counts instead.\n"));
    }
    for lower in under {
        let shown = printable_path(&lower.shown);
        text.push_str(&format!("It counts instead of the one in {shown}.\n"));
    }
    Report::text(printable(&text))
}

/// The same, where the person's word could not be kept.
#[must_use]
pub fn not_trusted(added: &Report, why: &str) -> Report {
    let text = format!("{}It is not trusted: {why}.\n", added.text);
    Report { text: printable(&text), broken: true, ..Report::default() }
}

/// That the file has one already.
#[must_use]
pub fn exists(name: &str, place: &McpPlace) -> Report {
    let (file, scope) = (printable_path(&place.shown), place.scope.name());
    Report::error(printable(&format!(
        "{file} has an MCP server {name} already: take another name, or first run `caliban mcp remove {name} --scope {scope}`"
    )))
}

#[must_use]
pub fn removed(name: &str, place: &McpPlace) -> Report {
    let file = printable_path(&place.shown);
    Report::text(printable(&format!("Removed MCP server {name} from {file}.\n")))
}

/// That it stands in several files.
#[must_use]
pub fn ambiguous(name: &str, places: &[&McpPlace]) -> Report {
    let named =
        |place: &&McpPlace| format!("{} ({})", printable_path(&place.shown), place.scope.name());
    let files = places.iter().map(named).collect::<Vec<_>>().join(" and ");
    let scopes_differ = places.windows(2).any(|pair| pair[0].scope != pair[1].scope);
    let advice = match scopes_differ {
        true => "say which with --scope user or --scope project",
        false => "take it out of one of them by hand first",
    };
    Report::error(printable(&format!("MCP server {name} stands in {files}: {advice}")))
}

/// The server that the arguments define. The error is for the person, and holds no value.
pub fn defined(args: &McpAddArgs) -> Result<McpServer, String> {
    let McpAddArgs { transport, env, header, name, command_or_url, args, .. } = args;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("the name {name:?} is made of letters, digits, - and _ alone"));
    }
    if let Some(problem) = mcp_name::problem(name) {
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
                "a server over HTTP takes no --env and no arguments: they go with a program"
                    .to_owned(),
            );
        }
        McpKind::Http => {
            // What variables fill in may be any part of it.
            if !command_or_url.contains("${") && Url::parse(command_or_url).is_err() {
                return Err("the address is not a valid URL".to_owned());
            }
            let pair = |text: &String| pair(text, ':', "--header takes 'Name: value'");
            let headers = header.iter().map(pair).collect::<Result<_, _>>()?;
            McpTransport::Http { url: command_or_url.clone(), headers }
        }
        McpKind::Stdio if !header.is_empty() => {
            return Err("a program takes no --header: headers go with an address".to_owned());
        }
        McpKind::Stdio if command_or_url.trim().is_empty() => {
            return Err("the program has no name".to_owned());
        }
        McpKind::Stdio => {
            let pair = |text: &String| pair(text, '=', "--env takes KEY=VALUE");
            let env = env.iter().map(pair).collect::<Result<_, _>>()?;
            McpTransport::Stdio { command: command_or_url.clone(), args: args.clone(), env }
        }
    };
    Ok(McpServer::new(name, transport))
}

/// Refuses a server for all projects that names a file relative to where it starts: that is an empty folder.
pub fn check_words(server: &McpServer, cwd: &Path) -> Result<(), String> {
    match relative_word(server, &|word| names_file(word, cwd)) {
        None => Ok(()),
        Some(word) => Err(format!(
            "`{}` names a file relative to where the server starts, which for one of your own is an empty folder: {}",
            printable(word),
            start_ways(&server.name)
        )),
    }
}

fn pair(text: &str, sign: char, usage: &str) -> Result<(String, String), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let (name, value) = text.split_once(sign).ok_or(usage)?;
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("{usage}, and the name is made of letters, digits, - and _"));
    }
    let value = if sign == ':' { value.trim() } else { value };
    Ok((name.to_owned(), value.to_owned()))
}
