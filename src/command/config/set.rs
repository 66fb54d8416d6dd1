//! `caliban config set KEY VALUE`: writes one key into a configuration file.

use super::super::CommandReport;
use crate::app::parts::catalogue;
use crate::app::setup::{AppError, Setup};
use crate::app::theme;
use crate::config::{
    self, ConfigEdit, ConfigFile, ConfigScope, ConfigSources, Origin, UntrustedItem,
};
use crate::protocol::{EventQueue, printable, printable_line, printable_path};

/// Sets the key in the file of this scope, if the configuration can be used with it.
pub(crate) fn set(
    mut setup: Setup,
    scope: ConfigScope,
    key: &str,
    value: &str,
) -> Result<CommandReport, AppError> {
    if setup.is_started_by_agent()? {
        let why = "an agent started this command: only you can change the configuration, in your own terminal";
        return Err(AppError::Usage(why.to_owned()));
    }
    let edit = ConfigEdit::parse(key, value).map_err(AppError::Usage)?;
    if scope == ConfigScope::Project && edit.is_users_alone() {
        return Err(not_in_project(&edit.key()));
    }
    let file = ConfigFile::new(scope, &setup.dirs, &setup.loaded.project, &setup.cwd);
    let _one_at_a_time = file.lock()?;
    let text = file.edited_text(&edit)?;
    let lost = match ADDED_LISTS.contains(&edit.key().as_str()) {
        true => file.lost_entries(&edit)?,
        false => Vec::new(),
    };
    let before = std::mem::take(&mut setup.loaded.untrusted);
    check(&mut setup, &edit, &file, &text)?;
    let waits = |thing: &&UntrustedItem| !before.contains(thing);
    if let Some(thing) = setup.loaded.untrusted.iter().find(waits) {
        return Err(not_in_project(thing.name()));
    }
    file.write(&text)?;
    Ok(report(&setup, &edit.key(), &file, &lost))
}

fn not_in_project(what: &str) -> AppError {
    AppError::Usage(format!(
        "a project's file may not set this: {what} would be ignored there; set it in your own file, without --scope"
    ))
}

/// Loads the configuration as if the file had this text, with all checks of a start.
fn check(
    setup: &mut Setup,
    edit: &ConfigEdit,
    file: &ConfigFile,
    text: &str,
) -> Result<(), AppError> {
    let Setup { dirs, cwd, env, overrides, trust, .. } = &*setup;
    let sources = ConfigSources { dirs, cwd, env, overrides, trust };
    let project = setup.loaded.project.clone();
    setup.loaded = config::load_replaced(&sources, project, (&file.path, text))?;
    setup.gate(true, &EventQueue::unbounded())?;
    match edit.key().as_str() {
        "tui.theme" => theme::check(setup).map_err(|why| AppError::Usage(without_place(&why))),
        _ => Ok(()),
    }
}

/// An error without the file and the line where the key would be.
fn without_place(why: &str) -> String {
    let is_line = |place: &str| {
        place.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|it| it.is_ascii_digit()))
    };
    let what = why.split_once(": ").filter(|(place, _)| is_line(place));
    what.map_or(why, |(_, what)| what).to_owned()
}

/// Says so if the model that answers here does not take the effort. Another one may.
fn effort_note(setup: &Setup) -> Option<String> {
    let effort = setup.loaded.config.model.effort.as_deref()?;
    let choice = setup.loaded.config.choose_provider(&setup.env)?;
    let catalogue = catalogue(setup).ok()?;
    let model = catalogue.resolve_alias(choice.model.as_deref()?);
    let scale = catalogue.get(model).effort.filter(|scale| !scale.takes(effort))?;
    let words = scale.words();
    let takes = if words.is_empty() { "no effort".to_owned() } else { words.join(", ") };
    Some(format!("{model} does not take \"{effort}\", so none is sent to it. It takes {takes}.\n"))
}

/// Lists of which the entries of all files count.
const ADDED_LISTS: [&str; 4] =
    ["permissions.additional_dirs", "permissions.allow", "permissions.ask", "permissions.deny"];

/// Names the file, what is no longer in it, and what takes precedence over it here.
fn report(setup: &Setup, key: &str, file: &ConfigFile, lost: &[String]) -> CommandReport {
    let mut text = format!("Set {key} in {}.\n", printable_path(&file.shown));
    if !lost.is_empty() {
        text.push_str(&format!(
            "The new list replaces the old one, so this is gone: {}.\n",
            printable_line(&lost.join(", "))
        ));
    }
    if key == "model.effort" {
        text.extend(effort_note(setup));
    }
    match setup.loaded.origins.get(key) {
        Origin::File { path, .. } if *path == file.shown => {}
        Origin::BuiltIn => {}
        other if ADDED_LISTS.contains(&key) => {
            text.push_str(&format!("Here, the entries of {other} count besides.\n"));
        }
        higher => text.push_str(&format!("Here, {higher} takes precedence.\n")),
    }
    CommandReport::text(printable(&text))
}
