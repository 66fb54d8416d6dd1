//! The actions of slash commands.

use std::time::Duration;

use crate::protocol::{Command, PermissionMode};
use crate::tui::agents::list::update as agent_list;
use crate::tui::composer::draft;
use crate::tui::format::{count, money, tokens};
use crate::tui::host::{HostRequest, McpServers, ModelList};
use crate::tui::interrupt::stop;
use crate::tui::model::TuiModel;
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::picker::{Picker, PickerRows, update as picker};
use crate::tui::reader::update as reader;
use crate::tui::slash::{COMMANDS, command_name, is_custom_command};
use crate::tui::text::{one_line, padded, width};
use crate::tui::{focus, labels, page};

/// The title of the `/doctor` page.
pub const DOCTOR_TITLE: &str = "doctor";
/// The title of the `/mcp` page.
pub const MCP_TITLE: &str = "mcp";

/// Time within which a second `/clear` confirms the first.
const CLEAR_CONFIRM_TIME: Duration = Duration::from_secs(4);

/// The modes that `/permissions` offers.
const MODES: [PermissionMode; 5] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
];

/// Runs the draft if it is a command. Returns false when it is not.
pub fn run(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) -> bool {
    let Some(name) = command_name(text) else { return false };
    let argument = text.trim()[1 + name.len()..].trim().to_owned();
    // The runtime expands custom commands: to the screen they are prompts.
    if name == "init" || is_custom_command(model, name) {
        return false;
    }
    if !COMMANDS.iter().any(|(known, _)| *known == name) {
        model.unknown_command = Some(text.to_owned());
        effects.push(ScreenEffect::Ask(HostRequest::Commands(Vec::new())));
        return true;
    }
    let name = name.to_owned();
    if matches!(name.as_str(), "compact" | "clear" | "resume") && model.main_is_busy() {
        model.say(format!("/{name} must wait: main is working · Esc stops it"));
        return true;
    }
    if name == "edit" {
        model.composer.discard();
        effects.push(ScreenEffect::Edit(argument));
        return true;
    }
    draft::remember(model, effects);
    command(model, &name, &argument, effects);
    true
}

fn command(model: &mut TuiModel, name: &str, argument: &str, effects: &mut Vec<ScreenEffect>) {
    match name {
        "help" => model.overlay = Some(Overlay::Help { scroll: 0 }),
        "agents" => agent_list::open(model, effects),
        "model" if argument.is_empty() => {
            effects.push(ScreenEffect::Ask(HostRequest::Models(ModelList::default())));
            if model.session.first_run.is_some() {
                effects.push(ScreenEffect::Ask(HostRequest::LocalServers(Vec::new())));
            }
            model.overlay = Some(Overlay::Picker(Picker::new("model", PickerRows::Loading)));
        }
        "model" => {
            let provider = local_provider(model, argument);
            let model = argument.to_owned();
            effects.push(ScreenEffect::Send(Command::SetModel { provider, model }));
        }
        "permissions" => permissions(model),
        "theme" => theme(model, argument),
        "mcp" => {
            page::open(model, MCP_TITLE, vec!["loading …".to_owned()]);
            effects.push(ScreenEffect::Ask(HostRequest::McpServers(McpServers::default())));
        }
        "compact" => {
            let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
            effects.push(ScreenEffect::Send(Command::Compact { instructions }));
        }
        "clear" => clear(model, effects),
        "resume" => {
            focus::leave(model);
            match argument.parse() {
                Ok(id) => effects.push(ScreenEffect::Send(Command::Resume(id))),
                Err(_) => pick_session(model, effects),
            }
        }
        "cost" => page::open(model, "cost", cost_lines(model)),
        "status" => page::open(model, "status", status_lines(model)),
        "doctor" => {
            effects.push(ScreenEffect::Ask(HostRequest::Doctor(Vec::new())));
            page::open(model, DOCTOR_TITLE, vec!["checking …".to_owned()]);
        }
        "copy" => copy(model, effects),
        "read" => reader::open(model, effects),
        "quit" => stop::quit(model, effects),
        _ => model.say(format!("/{name} has no action")),
    }
}

/// Lines for each server with its tools and last error, then the notes on other servers.
pub fn server_lines(McpServers { running: servers, notes }: &McpServers) -> Vec<String> {
    if servers.is_empty() && notes.is_empty() {
        return vec!["no servers · add one with caliban mcp add".to_owned()];
    }
    let names = servers.iter().map(|server| width(&server.name)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for server in servers {
        let tools = count(server.tools.len(), "tool");
        let (name, state) = (padded(&server.name, names), padded(server.state.label(), 9));
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

/// The provider of a model that a server on this machine has, while no provider is configured.
fn local_provider(model: &TuiModel, name: &str) -> Option<String> {
    let found = model.session.first_run.as_ref()?.found.as_ref()?;
    let server = found.iter().find(|server| server.models.iter().any(|other| other == name))?;
    Some(server.provider.clone())
}

/// Opens the list of stored sessions.
pub fn pick_session(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    effects.push(ScreenEffect::Ask(HostRequest::Sessions(Vec::new())));
    model.overlay = Some(Overlay::Picker(Picker::new("resume", PickerRows::Loading)));
}

/// Opens the picker of modes, with the current one selected.
fn permissions(model: &mut TuiModel) {
    let mut picker = Picker::new("permission mode", PickerRows::Modes(MODES.to_vec()));
    picker.selected = MODES.iter().position(|mode| *mode == model.session.mode).unwrap_or(0);
    picker.notes.extend(rule_lines(model));
    model.overlay = Some(Overlay::Picker(picker));
}

/// Takes the named theme for the session, or opens the list with the current one selected.
fn theme(model: &mut TuiModel, name: &str) {
    let choices = model.themes.choices.clone();
    if name.is_empty() {
        let current = &model.settings.theme;
        let at = choices.iter().position(|choice| choice.name == *current).unwrap_or(0);
        let mut picker = Picker::new("theme", PickerRows::Themes(choices));
        picker.selected = at;
        model.overlay = Some(Overlay::Picker(picker));
    } else if choices.iter().any(|choice| choice.name == name) {
        picker::choose_theme(model, name.to_owned());
    } else {
        model.say(format!("there is no theme {} · /theme lists them", one_line(name)));
    }
}

/// Clears the session. Needs confirmation while agents are running, since they would be stopped.
fn clear(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let armed = model.keys.clear_armed.is_some_and(|until| model.now <= until);
    if model.agents.alive().next().is_some() && !armed {
        model.keys.clear_armed = Some(model.now + CLEAR_CONFIRM_TIME);
        let agents = model.agents.alive().count();
        let (works, them) =
            if agents == 1 { ("is working", "it") } else { ("are working", "them") };
        let who = count(agents, "agent");
        model.say(format!("{who} {works} in the background · /clear again stops {them}"));
        return;
    }
    focus::leave(model);
    effects.push(ScreenEffect::Send(Command::Clear));
}

fn copy(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(text) = model.main.last_text().map(str::to_owned) else {
        model.say("nothing to copy yet");
        return;
    };
    model.say(format!("copied {}", count(text.lines().count(), "line")));
    effects.push(ScreenEffect::Copy(text));
}

fn cost_lines(model: &TuiModel) -> Vec<String> {
    let mut lines = vec![format!("session   {}   agents included", money(model.total_cost()))];
    lines.push(format!("context   {} tokens of the last request", tokens(model.run.context)));
    if model.agents.iter().next().is_some() {
        lines.push(String::new());
    }
    let names = model.agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0);
    for agent in model.agents.iter() {
        let (used, cost) = labels::tree_usage(&model.agents, &agent.path);
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

fn status_lines(model: &TuiModel) -> Vec<String> {
    let session = &model.session;
    let mut lines = vec![
        format!("caliban     {}", session.version),
        format!("session     {}", session.id.map_or("none".to_owned(), |id| id.to_string())),
        format!("model       {}", session.model),
        format!("permissions {}: {}", session.mode.name(), labels::mode_label(session.mode)),
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

/// The rules in force, including those allowed until an agent ends.
fn rule_lines(model: &TuiModel) -> Vec<String> {
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
