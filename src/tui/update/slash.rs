//! Slash commands: one table, and what each does.

use std::time::Duration;

use crate::protocol::{Command, Mode, slash};
use crate::tui::composer::MenuItem;
use crate::tui::figures::{count, money, tokens};
use crate::tui::host::{CommandChoice, HostRequest, McpServers};
use crate::tui::model::overlay::{Picker, Rows};
use crate::tui::model::{Model, Overlay};
use crate::tui::msg::Effect;
use crate::tui::text::{one_line, padded, truncate, width};
use crate::tui::words;

use super::{agent_list, focus, prompt, reader};

/// The title of a page.
const DOCTOR: &str = "doctor";
/// The title of the page of MCP servers.
const MCP: &str = "mcp";

/// How long saying `/clear` again confirms it.
const CLEAR_ARMED: Duration = Duration::from_secs(4);

/// The modes that `/permissions` offers.
const MODES: [Mode; 5] =
    [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::DontAsk, Mode::BypassPermissions];

/// Every command with what it does, in the order of the menu.
pub const COMMANDS: [(&str, &str); 16] = [
    ("help", "keys and commands"),
    ("agents", "what runs, what ran, and definitions"),
    ("model", "use another model"),
    ("permissions", "what may run without asking"),
    ("mcp", "MCP servers and how they stand"),
    ("compact", "go on with a summary, to make room"),
    ("clear", "start an empty session"),
    ("resume", "go on with a stored session"),
    ("cost", "what the session has used"),
    ("status", "session, model, directory"),
    ("copy", "copy the last answer"),
    ("read", "read the transcript in full"),
    ("init", "draft an AGENTS.md, or improve the one there is"),
    ("edit", "write the prompt in your editor"),
    ("doctor", "check keys, endpoints, terminal, files"),
    ("quit", "leave"),
];

/// Asks what people have written as commands: once, and anew with each fresh `/`, since files may have come.
pub fn look_up(model: &mut Model, query: &str, effects: &mut Vec<Effect>) {
    if model.commands.is_none() || query.is_empty() {
        effects.push(Effect::Ask(HostRequest::Commands));
        model.commands.get_or_insert_default();
    }
}

/// The menu's rows for what was typed behind the slash: our commands, then those that people have written.
#[must_use]
pub fn matching(written: &[CommandChoice], query: &str) -> Vec<MenuItem> {
    let query = query.to_lowercase();
    let ours = COMMANDS.iter().map(|(name, words)| ((*name).to_owned(), (*words).to_owned()));
    let written = written.iter().map(|command| {
        let hint = command.argument_hint.as_deref().map(|hint| format!(" · {hint}"));
        let detail = format!("{}{}", command.description, hint.unwrap_or_default());
        (command.name.clone(), truncate(&one_line(&detail), 60).into_owned())
    });
    let (mut first, rest): (Vec<_>, Vec<_>) = ours
        .chain(written)
        .filter(|(name, _)| name.to_lowercase().contains(&query))
        .partition(|(name, _)| name.to_lowercase().starts_with(&query));
    first.extend(rest);
    first
        .into_iter()
        .map(|(name, detail)| MenuItem { insert: format!("/{name}"), detail })
        .collect()
}

/// What people have written as commands is known: a draft that waits for it is sent, or is none.
pub fn known(model: &mut Model, commands: Vec<CommandChoice>, effects: &mut Vec<Effect>) {
    model.commands = Some(commands);
    let waits = model.unknown_command.take().filter(|draft| model.composer.text() == draft);
    match waits {
        Some(draft) => match written(model, name_in(&draft).unwrap_or_default()) {
            true => prompt::submit(model, effects),
            false => {
                let name = name_in(&draft).unwrap_or_default();
                model.say(format!("there is no /{name} · /help lists the commands"));
            }
        },
        None => prompt::refresh_menu(model, effects),
    }
}

/// Whether this is a command that somebody has written. The last part of its name is enough.
fn written(model: &Model, name: &str) -> bool {
    let commands = model.commands.iter().flatten();
    let mut named = commands.map(|command| command.name.as_str());
    named.any(|known| known == name || known.rsplit_once(':').is_some_and(|(_, last)| last == name))
}

/// The name behind the slash, if the draft looks like a command.
fn name_in(draft: &str) -> Option<&str> {
    slash::split(draft).map(|(name, _)| name)
}

/// Runs the draft if it is a command. Answers false when it is not.
pub fn run(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(name) = name_in(text) else { return false };
    let argument = text.trim()[1 + name.len()..].trim().to_owned();
    // What is written in files the runtime reads: to the screen it is a prompt.
    if name == "init" || written(model, name) {
        return false;
    }
    if !COMMANDS.iter().any(|(known, _)| *known == name) {
        model.unknown_command = Some(text.to_owned());
        effects.push(Effect::Ask(HostRequest::Commands));
        return true;
    }
    let name = name.to_owned();
    if matches!(name.as_str(), "compact" | "clear" | "resume") && model.main_works() {
        model.say(format!("/{name} waits: main works · Esc stops it"));
        return true;
    }
    if name == "edit" {
        model.composer.discard();
        effects.push(Effect::Edit(argument));
        return true;
    }
    prompt::remember(model, effects);
    command(model, &name, &argument, effects);
    true
}

fn command(model: &mut Model, name: &str, argument: &str, effects: &mut Vec<Effect>) {
    match name {
        "help" => model.overlay = Some(Overlay::Help { scroll: 0 }),
        "agents" => agent_list::open(model, effects),
        "model" if argument.is_empty() => {
            effects.push(Effect::Ask(HostRequest::Models));
            if model.session.first_run.is_some() {
                effects.push(Effect::Ask(HostRequest::LocalServers));
            }
            model.overlay = Some(Overlay::Picker(Picker::new("model", Rows::Loading)));
        }
        "model" => {
            let provider = local_provider(model, argument);
            let model = argument.to_owned();
            effects.push(Effect::Send(Command::SetModel { provider, model }));
        }
        "permissions" => permissions(model),
        "mcp" => {
            page(model, MCP, vec!["loading …".to_owned()]);
            effects.push(Effect::Ask(HostRequest::McpServers));
        }
        "compact" => {
            let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
            effects.push(Effect::Send(Command::Compact { instructions }));
        }
        "clear" => clear(model, effects),
        "resume" => {
            focus::leave(model);
            match argument.parse() {
                Ok(id) => effects.push(Effect::Send(Command::Resume(id))),
                Err(_) => pick_session(model, effects),
            }
        }
        "cost" => page(model, "cost", cost_lines(model)),
        "status" => page(model, "status", status_lines(model)),
        "doctor" => {
            effects.push(Effect::Ask(HostRequest::Doctor));
            page(model, DOCTOR, vec!["looking …".to_owned()]);
        }
        "copy" => copy(model, effects),
        "read" => reader::open(model, effects),
        _ => super::quit(model, effects),
    }
}

/// Fills the page of MCP servers, if it is still open.
pub fn show_servers(model: &mut Model, servers: &McpServers) {
    if let Some(Overlay::Page { title, lines, .. }) = &mut model.overlay
        && title == MCP
    {
        *lines = server_lines(servers);
    }
}

/// One line for each server, and one for what went wrong with it last; then what there is to say of others.
fn server_lines(McpServers { running: servers, notes }: &McpServers) -> Vec<String> {
    if servers.is_empty() && notes.is_empty() {
        return vec!["none · caliban mcp add adds one".to_owned()];
    }
    let names = servers.iter().map(|server| width(&server.name)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for server in servers {
        let tools = count(server.tools.len(), "tool");
        let (name, state) = (padded(&server.name, names), padded(server.state.word(), 9));
        lines.push(format!("{name}  {state}  {tools:>8}  {}", server.about));
        if !server.tools.is_empty() {
            lines.push(format!("{}  offers: {}", padded("", names), server.tools.join(", ")));
        }
        if let Some(error) = &server.error {
            lines.push(format!("{}  last error: {error}", padded("", names)));
        }
    }
    lines.extend(notes.iter().map(|note| one_line(note)));
    lines
}

/// Whose model this is, when there is no provider yet but a server on this machine has it.
fn local_provider(model: &Model, name: &str) -> Option<String> {
    let found = model.session.first_run.as_ref()?.found.as_ref()?;
    let server = found.iter().find(|server| server.models.iter().any(|other| other == name))?;
    Some(server.provider.clone())
}

/// Opens the list of stored sessions.
pub fn pick_session(model: &mut Model, effects: &mut Vec<Effect>) {
    effects.push(Effect::Ask(HostRequest::Sessions));
    model.overlay = Some(Overlay::Picker(Picker::new("resume", Rows::Loading)));
}

/// What the host has found, on its page if that is still open.
pub fn examined(model: &mut Model, found: Vec<String>) {
    if let Some(Overlay::Page { title, lines, .. }) = &mut model.overlay
        && title == DOCTOR
    {
        *lines = found;
    }
}

fn page(model: &mut Model, title: &str, lines: Vec<String>) {
    model.overlay = Some(Overlay::Page { title: title.to_owned(), lines, scroll: 0 });
}

/// The modes, the present one chosen.
fn permissions(model: &mut Model) {
    let mut picker = Picker::new("permission mode", Rows::Modes(MODES.to_vec()));
    picker.selected = MODES.iter().position(|mode| *mode == model.session.mode).unwrap_or(0);
    picker.notes.extend(rule_lines(model));
    model.overlay = Some(Overlay::Picker(picker));
}

/// Asked twice while agents work, since they would be lost.
fn clear(model: &mut Model, effects: &mut Vec<Effect>) {
    let armed = model.keys.clear_armed.is_some_and(|until| model.now <= until);
    if model.agents.alive().next().is_some() && !armed {
        model.keys.clear_armed = Some(model.now + CLEAR_ARMED);
        let agents = model.agents.alive().count();
        let (works, them) = if agents == 1 { ("works", "it") } else { ("work", "them") };
        let who = count(agents, "agent");
        model.say(format!("{who} {works} in the background · /clear again stops {them}"));
        return;
    }
    focus::leave(model);
    effects.push(Effect::Send(Command::Clear));
}

fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(text) = model.main.last_text().map(str::to_owned) else {
        model.say("nothing to copy yet");
        return;
    };
    model.say(format!("copied {}", count(text.lines().count(), "line")));
    effects.push(Effect::Copy(text));
}

fn cost_lines(model: &Model) -> Vec<String> {
    let mut lines = vec![format!("session   {}   agents included", money(model.total_cost()))];
    lines.push(format!("context   {} tokens of the last request", tokens(model.run.context)));
    if model.agents.iter().next().is_some() {
        lines.push(String::new());
    }
    let names = model.agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0);
    for agent in model.agents.iter() {
        let (used, cost) = words::spent(&model.agents, &agent.path);
        lines.push(format!(
            "{} {:>6}  {:>6}  {}",
            padded(&agent.info.name, names),
            tokens(used),
            money(cost),
            agent.info.description
        ));
    }
    lines
}

fn status_lines(model: &Model) -> Vec<String> {
    let session = &model.session;
    let mut lines = vec![
        format!("caliban     {}", session.version),
        format!("session     {}", session.id.map_or("none".to_owned(), |id| id.to_string())),
        format!("model       {}", session.model),
        format!(
            "permissions {}: {}",
            session.mode.name(),
            crate::tui::model::mode_words(session.mode)
        ),
        format!("directory   {}", session.cwd),
    ];
    if let Some(branch) = &session.branch {
        lines.push(format!("branch      {branch}"));
    }
    lines.extend(session.notes.iter().map(|note| format!("            {note}")));
    let rules = rule_lines(model);
    if !rules.is_empty() {
        lines.push(String::new());
        lines.extend(rules);
    }
    lines
}

/// The rules in force, and what was allowed until its asker ends.
fn rule_lines(model: &Model) -> Vec<String> {
    let session = &model.session;
    let mut lines: Vec<String> = session.rules.iter().map(|rule| format!("  {rule}")).collect();
    lines.extend(session.grants.iter().map(|(path, rule)| match path.is_root() {
        true => format!("  allow {rule} · main, this session"),
        false => format!("  allow {rule} · {}, until it ends", model.name(path)),
    }));
    if !lines.is_empty() {
        lines.insert(0, "rules in force".to_owned());
    }
    lines
}
