//! The actions of slash commands.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{Command, Cost, McpState, McpStatus, PermissionMode, SessionId};
use crate::tui::agents::AgentState;
use crate::tui::agents::list::update as agent_list;
use crate::tui::composer::{as_prompt, draft};
use crate::tui::format::{count, money, tokens};
use crate::tui::host::{HostRequest, InfoPage, McpServers};
use crate::tui::interrupt::{stop, stop_hint};
use crate::tui::model::{NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::Overlay;
use crate::tui::page::{PageLine, Tone, update as page};
use crate::tui::picker::{open, update as picker};
use crate::tui::reader::update as reader;
use crate::tui::session::{DEFAULT_EFFORT, ScreenRule, ScreenSession};
use crate::tui::slash::{COMMANDS, WAITS, command_name, is_prompt, resolve_alias};
use crate::tui::text::{column_width, one_line, padded, reveal_line, width};
use crate::tui::{focus, labels};

/// The title of `/status`.
const STATUS_TITLE: &str = "status";

/// The title of `/cost`.
const COST_TITLE: &str = "cost";

/// The title of the `/diff` page.
pub const DIFF_TITLE: &str = "changes since the last commit";
/// The title of the `/mcp` page.
const MCP_TITLE: &str = "mcp";

/// The answer to `/rename` while nothing is stored.
pub const NOTHING_TO_NAME: &str = "nothing to name yet: a session begins with its first prompt";

/// Time within which the same command confirms one that would stop work.
const CONFIRM_TIME: Duration = Duration::from_secs(4);

/// The name that removes the session's name.
const NO_NAME: &str = "-";

/// Runs the draft if it is a command. Returns false when it is not.
pub fn run(model: &mut TuiModel, text: &str, effects: &mut Vec<ScreenEffect>) -> bool {
    let Some(name) = command_name(text) else { return false };
    let argument = text.trim()[1 + name.len()..].trim().to_owned();
    if is_prompt(model, name) {
        return false;
    }
    let typed = name;
    let name = resolve_alias(name);
    let Some(command) = COMMANDS.iter().find(|known| known.name == name) else {
        model.unknown_command = Some(text.to_owned());
        effects.push(ScreenEffect::Ask(HostRequest::Commands(Vec::new())));
        return true;
    };
    if !argument.is_empty() && !command.takes_argument {
        // The draft stays: the user may have meant more than the command.
        model.say_while(NoticeCause::Draft, format!("/{typed} takes no argument"));
        return true;
    }
    let name = name.to_owned();
    if WAITS.contains(&name.as_str()) && model.main_is_busy() {
        let waits = format!("/{name} must wait: main is working");
        let stops = stop_hint(model).map(|_| "Esc stops it".to_owned());
        model.reply(labels::with_detail(&waits, stops));
        return true;
    }
    let typed = typed.to_owned();
    if name == "edit" {
        edit_argument(model, typed.len(), effects);
        return true;
    }
    draft::remember(model, effects);
    match name.as_str() {
        "quit" => quit(model, &typed, effects),
        name => perform(model, name, &argument, effects),
    }
    true
}

/// Makes the argument of the command, which begins with a name of this length, the draft and opens it in
/// an editor. A pasted one stays a paste: what the editor leaves may be anybody's.
fn edit_argument(model: &mut TuiModel, name: usize, effects: &mut Vec<ScreenEffect>) {
    let buffer = &mut model.composer.buffer;
    buffer.keep_numbers();
    let text = buffer.full_text();
    let argument = text.trim()[1 + name..].trim();
    let draft = match buffer.is_typed() {
        true => argument.into(),
        false => as_prompt(argument),
    };
    model.composer.replace_typed(&draft);
    effects.push(ScreenEffect::Edit(draft.into_owned()));
}

fn perform(model: &mut TuiModel, name: &str, argument: &str, effects: &mut Vec<ScreenEffect>) {
    match name {
        "help" => model.overlay = Some(Overlay::Help { scroll: 0 }),
        "agents" => agent_list::open(model, argument, effects),
        "model" if argument.is_empty() => open::models(model, effects),
        "model" => {
            let provider = local_provider(model, argument);
            let model = argument.to_owned();
            effects.push(ScreenEffect::Send(Command::SetModel { provider, model }));
        }
        "effort" if argument.is_empty() => open::efforts(model),
        "effort" => {
            let effort = Some(argument.to_owned()).filter(|word| word != DEFAULT_EFFORT);
            effects.push(ScreenEffect::Send(Command::SetEffort { effort }));
        }
        "permissions" => permissions(model, argument, effects),
        "theme" => theme(model, argument, effects),
        "mcp" => {
            page::open(model, MCP_TITLE, vec!["loading …".into()]);
            model.servers_opened = model.now;
            request_servers(model, McpServers::default(), effects);
        }
        "compact" => {
            let instructions = Some(argument.to_owned()).filter(|text| !text.is_empty());
            effects.push(ScreenEffect::Send(Command::Compact { instructions }));
        }
        "clear" => change_session(model, "/clear", Command::Clear, effects),
        "resume" => match argument.parse() {
            Ok(id) => {
                let line = format!("/resume {id}");
                change_session(model, &line, Command::Resume(id), effects);
            }
            Err(_) => {
                focus::leave(model);
                open::sessions(model, argument, effects);
            }
        },
        "rename" => rename(model, argument, effects),
        "cost" | "usage" => page::open(model, COST_TITLE, cost_lines(model)),
        "status" => page::open(model, STATUS_TITLE, status_lines(model)),
        "doctor" => info_page(model, InfoPage::Doctor, "checking …", effects),
        "hooks" => info_page(model, InfoPage::Hooks, "loading …", effects),
        "skills" => info_page(model, InfoPage::Skills, "loading …", effects),
        "memory" => open::memory(model, effects),
        "diff" => {
            effects.push(ScreenEffect::Ask(HostRequest::Changes(Ok(Arc::default()))));
            page::open(model, DIFF_TITLE, vec!["asking git …".into()]);
        }
        "copy" => copy(model, effects),
        "export" => {
            if let Some(session) = stored_session(model, "nothing to export yet") {
                let (path, result) = (argument.to_owned(), Ok(PathBuf::new()));
                effects.push(ScreenEffect::Ask(HostRequest::Export { session, path, result }));
            }
        }
        "read" => reader::open(model, effects),
        _ => model.say(format!("/{name} has no action")),
    }
}

/// Opens a page that the host fills.
fn info_page(model: &mut TuiModel, page: InfoPage, before: &str, effects: &mut Vec<ScreenEffect>) {
    effects.push(ScreenEffect::Ask(HostRequest::Page(page, Vec::new())));
    page::open(model, page.title(), vec![before.into()]);
}

/// Asks for the servers, as they are once they differ from the ones that are shown.
fn request_servers(model: &TuiModel, shown: McpServers, effects: &mut Vec<ScreenEffect>) {
    let opened = model.servers_opened;
    effects.push(ScreenEffect::Ask(HostRequest::McpServers { opened, servers: shown }));
}

/// Shows the servers, and follows them while the page is open.
pub fn servers_changed(
    model: &mut TuiModel,
    opened: Duration,
    servers: McpServers,
    effects: &mut Vec<ScreenEffect>,
) {
    if opened != model.servers_opened || !page::is_open(model, MCP_TITLE) {
        return;
    }
    page::fill(model, MCP_TITLE, server_lines(&servers));
    if !servers.running.is_empty() {
        request_servers(model, servers, effects);
    }
}

/// Lines for each server with its tools and last error, then the notes on other servers.
pub fn server_lines(McpServers { running: servers, notes }: &McpServers) -> Vec<PageLine> {
    if servers.is_empty() && notes.is_empty() {
        return vec!["no servers · add one with caliban mcp add".into()];
    }
    let name = |server: &McpStatus| reveal_line(&server.name);
    let names = servers.iter().map(|server| width(&name(server))).max().unwrap_or(0);
    let mut lines = Vec::new();
    for server in servers {
        let tools = format!("  {:>8}  ", count(server.tools.len(), "tool"));
        let (name, state) = (padded(&name(server), names), padded(server.state.label(), 9));
        let tone = match server.state {
            McpState::Pending => Tone::Dim,
            McpState::Connected => Tone::Good,
            McpState::Failed => Tone::Bad,
        };
        let before =
            [(&*name, Tone::Strong), ("  ", Tone::Plain), (&*state, tone), (&*tools, Tone::Plain)];
        lines.push(PageLine::row(before, reveal_line(&server.about)));
        let below = padded("", names + 2);
        let line = |word: &str, text: &str, tone| {
            let before = [(below.clone(), Tone::Plain), (word.to_owned(), Tone::Dim)];
            PageLine(before.into_iter().chain([(reveal_line(text), tone)]).collect())
        };
        if !server.tools.is_empty() {
            lines.push(line("offers: ", &server.tools.join(", "), Tone::Dim));
        }
        if let Some(error) = &server.error {
            lines.push(line("last error: ", error, Tone::Plain));
        }
    }
    lines.extend(notes.iter().map(|note| PageLine::toned(one_line(note), Tone::Dim)));
    lines
}

/// The provider of a model that a server on this machine has, while no provider is configured.
fn local_provider(model: &TuiModel, name: &str) -> Option<String> {
    let found = model.session.first_run.as_ref()?.found.as_ref()?;
    let server = found.iter().find(|server| server.models.iter().any(|other| other == name))?;
    Some(server.provider.clone())
}

/// Takes the named mode, or opens the list: also for the mode that asks nothing, which the list confirms.
fn permissions(model: &mut TuiModel, name: &str, effects: &mut Vec<ScreenEffect>) {
    let named = open::MODES.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name));
    match named {
        Some(mode @ PermissionMode::BypassPermissions) => open::permissions(model, mode),
        Some(mode) => {
            effects.push(ScreenEffect::Send(Command::SetMode { mode, answers: false }));
        }
        None if name.is_empty() => open::permissions(model, model.session.mode),
        None => {
            let modes = open::MODES.map(|mode| mode.name()).join(", ");
            model.say(format!("there is no mode {} · {modes}", one_line(name)));
        }
    }
}

/// Takes the named theme for the session, or opens the list.
fn theme(model: &mut TuiModel, name: &str, effects: &mut Vec<ScreenEffect>) {
    if name.is_empty() {
        open::themes(model);
    } else if model.themes.choices.iter().any(|choice| choice.name == name) {
        picker::choose_theme(model, name.to_owned(), effects);
    } else {
        model.say(format!("there is no theme {} · /theme lists them", one_line(name)));
    }
}

/// Changes the session. Needs the command twice while agents or commands work in the background, since
/// they would be stopped.
fn change_session(
    model: &mut TuiModel,
    line: &str,
    change: Command,
    effects: &mut Vec<ScreenEffect>,
) {
    let work = stop::session_work_label(model);
    let name = command_name(line).unwrap_or_default();
    if is_confirmed(model, line, name, work) {
        focus::leave(model);
        effects.push(ScreenEffect::Send(change));
    }
}

/// Quits; what is at work needs the command again, which may be typed as `/quit` or as `/exit`.
fn quit(model: &mut TuiModel, typed: &str, effects: &mut Vec<ScreenEffect>) {
    let work = stop::quit_label(model, model.jobs.alive().count());
    if is_confirmed(model, "/quit", typed, work) {
        stop::quit(model, effects);
    }
}

/// Whether a command may stop this work: if there is none, or if the user has just typed the same command
/// and read what it stops, which says the command's `name`.
fn is_confirmed(
    model: &mut TuiModel,
    line: &str,
    name: &str,
    work: Option<(String, &'static str)>,
) -> bool {
    let armed = model.keys.command_armed.take();
    let armed = armed.is_some_and(|(of, until)| of == line && model.now <= until);
    let Some((who, them)) = work.filter(|_| !armed) else { return true };
    model.keys.command_armed = Some((line.to_owned(), model.now + CONFIRM_TIME));
    model.say(format!("{who} · /{name} again stops {them}"));
    false
}

fn copy(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(text) = model.main.last_text().map(str::to_owned) else {
        model.say("nothing to copy yet");
        return;
    };
    model.say(format!("copied {}", count(text.lines().count(), "line")));
    effects.push(ScreenEffect::Copy(text));
}

/// The id of the session if it is stored. Otherwise says why not: `nothing_yet` before its first prompt.
fn stored_session(model: &mut TuiModel, nothing_yet: &str) -> Option<SessionId> {
    let stored = model.session.id.filter(|_| model.session.resumable);
    match (stored, model.session.resumable) {
        (None, true) => model.say(nothing_yet),
        (None, false) => model.say("this session is not stored"),
        (Some(_), _) => {}
    }
    stored
}

/// Names the session. Without a name, puts the command with the present one into the prompt.
fn rename(model: &mut TuiModel, argument: &str, effects: &mut Vec<ScreenEffect>) {
    let Some(session) = stored_session(model, NOTHING_TO_NAME) else { return };
    if model.session.read_only {
        return model.say("the session is open in another caliban: name it there");
    }
    if argument.is_empty() {
        let name = model.session.name.clone();
        let line = format!("/rename {}", name.as_deref().unwrap_or_default());
        model.composer.replace(&line.as_str().into());
        draft::edited(model, effects);
        if name.is_some() {
            model.say_while(NoticeCause::Draft, "/rename - removes the name");
        }
        return;
    }
    if argument == NO_NAME && model.session.name.is_none() {
        return model.say("this session has no name");
    }
    let name = if argument == NO_NAME { String::new() } else { argument.to_owned() };
    let result = Ok(None);
    effects.push(ScreenEffect::Ask(HostRequest::Rename { session, name, result }));
}

/// Follows the work of the agents while the page is open.
pub fn refresh_cost(model: &mut TuiModel) {
    if page::is_open(model, COST_TITLE) {
        page::fill(model, COST_TITLE, cost_lines(model));
    }
}

fn cost_lines(model: &TuiModel) -> Vec<PageLine> {
    let context = match model.run.context {
        0 => "no request has ended yet".to_owned(),
        context => format!("{} tokens of the last request", tokens(context)),
    };
    let (main, main_cost) = (model.session.main_spent.0.counted(), model.session.main_spent.1);
    let own = model.agents.iter().filter(|agent| !agent.is_copied());
    let (of_agents, _) = labels::sum_usage(own);
    let cost = match money(model.total_cost()) {
        unknown if unknown.is_empty() => {
            let name = one_line(&model.session.model);
            format!(
                "no price is known for {name}; a models.toml beside your config.toml can say it"
            )
        }
        cost => cost,
    };
    let mut lines = vec![
        fact("session   ", cost),
        fact("tokens    ", format!("{}, agents included", tokens(main + of_agents))),
        fact("context   ", context),
    ];
    let agents: Vec<&AgentState> = model.agents.iter().collect();
    if agents.is_empty() {
        return lines;
    }
    lines.push("".into());
    let digits = agents.iter().map(|agent| agent.number).max().unwrap_or(1).to_string().len();
    let names = agents.iter().map(|agent| width(&agent.info.name)).max().unwrap_or(0).max(4);
    let row = |number: &str, name: &str, used: u64, cost: Cost, task: &str| {
        let name = format!("{number:>digits$} {}", padded(name, names));
        let figures = format!(" {:>6}  {:>6}  ", tokens(used), money(cost));
        PageLine::row([(&*name, Tone::Plain), (&*figures, Tone::Dim)], task)
    };
    lines.push(row("", "main", main, main_cost, ""));
    for agent in agents {
        let (number, run) = (agent.number.to_string(), &agent.run);
        let (name, task) = (&agent.info.name, &agent.info.description);
        let task = match agent.is_copied() {
            true => format!("before the copy · {task}"),
            false => task.clone(),
        };
        lines.push(row(&number, name, run.usage.counted(), run.cost, &task));
    }
    lines
}

/// Fills in what has arrived since the page was opened.
pub fn refresh_status(model: &mut TuiModel) {
    page::fill(model, STATUS_TITLE, status_lines(model));
}

fn status_lines(model: &TuiModel) -> Vec<PageLine> {
    let session = &model.session;
    let mode = format!("{}: {}", session.mode.name(), labels::mode_label(session.mode));
    let known = Some(session.model.clone()).filter(|name| !name.is_empty());
    let mut model_name = known.unwrap_or_else(|| "none".to_owned());
    if let Some(effort) = &session.effort {
        model_name.push_str(&format!(" · effort {effort}"));
    }
    let mut lines = vec![
        fact("caliban     ", session.version.clone()),
        fact("session     ", session_label(session)),
        fact("model       ", model_name),
        fact("permissions ", mode),
        fact("directory   ", reveal_line(&session.folder.display().to_string())),
    ];
    if let Some(branch) = &session.branch {
        lines.push(fact("branch      ", branch.clone()));
    }
    let others = std::iter::once("also in     ").chain(std::iter::repeat("            "));
    let shown = session.more_folders.iter().map(|path| reveal_line(&path.display().to_string()));
    lines.extend(others.zip(shown).map(|(name, path)| fact(name, path)));
    let names = std::iter::once("found       ").chain(std::iter::repeat("            "));
    lines.extend(names.zip(&session.notes).map(|(name, note)| fact(name, note.clone())));
    let rules = model.rules();
    if !rules.is_empty() {
        lines.extend(["".into(), PageLine::toned("rules in force", Tone::Dim)]);
    }
    let cells = column_width(rules.iter().map(|rule| &*rule.rule), 40) + 2;
    lines.extend(rules.into_iter().map(|ScreenRule { list, rule, origin }| {
        let rule = format!("{}  ", padded(&rule, cells.max(width(&rule)) - 2));
        let before = [(format!("  {list:<5} "), Tone::Dim), (rule, Tone::Plain)];
        PageLine(before.into_iter().chain([(origin, Tone::Dim)]).collect())
    }));
    lines
}

/// The name of the session and its id.
fn session_label(session: &ScreenSession) -> String {
    if !session.resumable {
        return "not stored".to_owned();
    }
    let id = session.id.map_or("none".to_owned(), |id| id.to_string());
    session.name.as_ref().map(|name| format!("{name} · {id}")).unwrap_or(id)
}

/// A line with a name and a value.
fn fact(name: &str, value: String) -> PageLine {
    PageLine::row([(name, Tone::Dim)], value)
}
