//! Keys in the list of ways to begin without a model.

use crate::tui::first_run::{FirstRun, SetupWay};
use crate::tui::host::{HostRequest, LocalServer};
use crate::tui::interrupt::stop;
use crate::tui::keymap::Action;
use crate::tui::model::{Notice, NoticeCause, TuiModel};
use crate::tui::msg::ScreenEffect;
use crate::tui::overlay::{Overlay, cycle_selection};
use crate::tui::page::{PageLine, Tone, update as page};
use crate::tui::picker::{PickerRows, open};

/// The variables for keys, whose models they are for, and where to get one.
const KEYS: [(&str, &str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "Claude", "console.anthropic.com"),
    ("OPENAI_API_KEY", "GPT", "platform.openai.com"),
    ("GEMINI_API_KEY", "Gemini", "aistudio.google.com"),
];

/// Handles a key that acts in the list. Returns false for other keys.
pub fn handle_action(
    model: &mut TuiModel,
    action: Action,
    effects: &mut Vec<ScreenEffect>,
) -> bool {
    if !model.shows_setup() {
        return false;
    }
    let Some(first) = &mut model.session.first_run else { return false };
    let rows = first.rows();
    let cleared = |notice: &Notice| notice.cause == NoticeCause::EmptyPrompt;
    match action {
        // As the notice says.
        Action::Up if model.notice.as_ref().is_some_and(cleared) => return false,
        Action::Up | Action::Down => {
            model.notice.take_if(|notice| cleared(notice));
            cycle_selection(&mut first.selected, rows.len(), action == Action::Down);
        }
        Action::Submit => {
            if let Some(row) = rows.get(first.selected) {
                choose(model, row.way, effects);
            }
        }
        _ => return false,
    }
    true
}

/// `r` looks for servers again while their row is selected. Returns false for other letters.
pub fn type_letter(model: &mut TuiModel, letter: char, effects: &mut Vec<ScreenEffect>) -> bool {
    if letter != 'r' || !model.shows_setup() {
        return false;
    }
    let Some(first) = &model.session.first_run else { return false };
    let local = [SetupWay::LocalModel, SetupWay::NoServer];
    if !first.rows().get(first.selected).is_some_and(|row| local.contains(&row.way)) {
        return false;
    }
    look_again(model, effects);
    true
}

/// Goes one of the ways.
pub fn choose(model: &mut TuiModel, way: SetupWay, effects: &mut Vec<ScreenEffect>) {
    match way {
        SetupWay::Demo => {
            model.play_demo = true;
            stop::quit(model, effects);
        }
        SetupWay::Key => page::open(model, "use an API key", key_lines()),
        SetupWay::LocalModel => open::models(model, effects),
        SetupWay::NoServer => look_again(model, effects),
    }
}

fn look_again(model: &mut TuiModel, effects: &mut Vec<ScreenEffect>) {
    let Some(first) = &mut model.session.first_run else { return };
    (first.found, first.asked) = (None, true);
    effects.push(ScreenEffect::Ask(HostRequest::LocalServers(Vec::new())));
    refresh(model);
}

/// Takes over the servers that answered.
pub fn servers_found(model: &mut TuiModel, servers: Vec<LocalServer>) {
    let Some(first) = &mut model.session.first_run else { return };
    let has_models = servers.iter().any(|server| !server.models.is_empty());
    let words = match servers.is_empty() {
        true => "looked again: still none",
        false => "looked again: still without a model",
    };
    first.found = Some(servers);
    if std::mem::take(&mut first.asked) && !has_models {
        model.reply(words);
    }
    refresh(model);
}

/// Updates the ways in an open picker.
fn refresh(model: &mut TuiModel) {
    let rows = model.session.first_run.as_ref().map(FirstRun::rows);
    if let (Some(Overlay::Picker(picker)), Some(rows)) = (&mut model.overlay, rows)
        && let PickerRows::Ways(ways) = &mut picker.rows
    {
        *ways = rows;
    }
}

fn key_lines() -> Vec<PageLine> {
    let mut lines: Vec<PageLine> =
        vec!["Set one of these in your shell, then start caliban again:".into(), "".into()];
    lines.extend(KEYS.map(|(name, models, place)| {
        let set = format!("  export {name}=…");
        let before = [(format!("{set:<30}"), Tone::Strong), (format!("{models:<8}"), Tone::Plain)];
        PageLine(before.into_iter().chain([(place.to_owned(), Tone::Dim)]).collect())
    }));
    let stored = "A command that prints the key works as well: api_key_command in the configuration. \
                  The key itself is never stored.";
    lines.extend(["".into(), PageLine::toned(stored, Tone::Dim)]);
    lines
}
