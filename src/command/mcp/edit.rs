//! Adds MCP servers to the files that define them, and removes them.

use std::path::Path;

use url::Url;

use super::super::CommandReport;
use crate::app::setup::{AppError, Setup};
use crate::cli::{McpAddArgs, McpKind};
use crate::config::{ConfigScope, McpConfigFile, McpEntry, names_file, relative_word, start_ways};
use crate::protocol::{
    McpServer, McpTransport, Secret, mcp_name, printable, printable_line, printable_path,
};

/// Adds a server to the file of its scope, and trusts it there.
pub(super) fn add(
    args: &McpAddArgs,
    server: &McpServer,
    setup: &Setup,
) -> Result<CommandReport, AppError> {
    if setup.is_started_by_agent()? {
        let why = "an agent started this command: only you can add servers, in your own terminal";
        return Err(AppError::Usage(why.to_owned()));
    }
    if args.scope == ConfigScope::User {
        check_paths(server, &setup.cwd).map_err(AppError::Usage)?;
    }
    let places = setup.mcp_places();
    let here = |place: &McpConfigFile| place.scope == args.scope && place.takes_new();
    let Some(at) = places.iter().position(here) else { return Err(AppError::Internal) };
    let place = &places[at];
    if !place.add(server)? {
        return Ok(exists(&server.name, place));
    }
    let same = |entry: &McpEntry| entry.server.name == server.name;
    let has = |place: &&McpConfigFile| place.servers().iter().any(same);
    let over: Vec<_> = places[..at].iter().filter(has).collect();
    let under: Vec<_> = places[at + 1..].iter().filter(has).collect();
    let report = added(&server.name, place, &over, &under);
    if args.scope == ConfigScope::User {
        return Ok(report);
    }
    // The user wrote it, so it is trusted.
    let written = place.servers().into_iter().filter(same);
    match setup.trust.accept(&written.map(|entry| entry.untrusted_item()).collect::<Vec<_>>()) {
        Ok(()) => Ok(report),
        Err(error) => Ok(not_trusted(&report, &error.to_string())),
    }
}

/// Removes a server from the one file that defines it.
pub(super) fn remove(
    name: &str,
    scope: Option<ConfigScope>,
    places: &[McpConfigFile],
) -> Result<CommandReport, AppError> {
    let asked = places.iter().filter(|place| scope.is_none_or(|scope| place.scope == scope));
    let (mut found, mut broken, mut known) = (Vec::new(), None, Vec::new());
    for place in asked {
        known.extend(place.servers().into_iter().map(|entry| entry.server.name));
        match place.has(name) {
            Ok(true) => found.push(place),
            Ok(false) => {}
            Err(error) => broken = Some(error),
        }
    }
    match (found.as_slice(), broken) {
        ([], Some(error)) => Err(error.into()),
        ([], None) => Ok(unknown(name, &known)),
        ([place], _) => {
            place.remove(name)?;
            let file = printable_path(&place.shown);
            Ok(CommandReport::text(printable(&format!("Removed MCP server {name} from {file}.\n"))))
        }
        (several, _) => Ok(ambiguous(name, several)),
    }
}

/// Reports that there is no such server.
pub(super) fn unknown(name: &str, known: &[String]) -> CommandReport {
    let name = printable_line(name);
    CommandReport::error(match known {
        [] => format!("there is no MCP server {name}: none is defined"),
        known => format!("there is no MCP server {name}; there are: {}", known.join(", ")),
    })
}

/// Reports the added server, and other files that define one with that name.
fn added(
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
fn not_trusted(added: &CommandReport, why: &str) -> CommandReport {
    let text = format!("{}It is not trusted: {why}.\n", added.text);
    CommandReport { text: printable(&text), broken: true, ..CommandReport::default() }
}

/// Reports that the file already has one.
fn exists(name: &str, place: &McpConfigFile) -> CommandReport {
    let (file, scope) = (printable_path(&place.shown), place.scope.name());
    CommandReport::error(printable(&format!(
        "{file} already has an MCP server {name}: use another name, or first run `caliban mcp remove {name} --scope {scope}`"
    )))
}

/// Reports that several files define it.
fn ambiguous(name: &str, places: &[&McpConfigFile]) -> CommandReport {
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
pub(super) fn parse_server(args: &McpAddArgs) -> Result<McpServer, String> {
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
            let pair =
                |text: &Secret<String>| parse_pair(text, ':', "--header takes 'Name: value'");
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
            let pair = |text: &Secret<String>| parse_pair(text, '=', "--env takes KEY=VALUE");
            let env = env.iter().map(pair).collect::<Result<_, _>>()?;
            McpTransport::Stdio { command: command_or_url.to_string(), args: args.clone(), env }
        }
    };
    Ok(McpServer::new(name, transport))
}

/// Refuses a server for all projects with a relative path: it starts in an empty folder.
fn check_paths(server: &McpServer, cwd: &Path) -> Result<(), String> {
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
