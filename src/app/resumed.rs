//! State that a resumed session keeps: the model that it began with, and the name of the tool that
//! starts sub-agents, unless the user names others.

use super::Setup;
use crate::config::{AgentToolName, KeySource, Origin};
use crate::runtime::Open;

/// Lets a stored session keep its provider and model, unless the user names one by an option or in
/// a file. A name in a project's file does not choose who gets what the session already holds.
/// Where its provider cannot be reached any more, a notice says so and how to reach it.
pub(super) fn keep_model(setup: &mut Setup, open: &Open) {
    let named = &setup.loaded.config.model;
    let (Open::Stored(id) | Open::Fork { from: id, .. }) = open else { return };
    let is_users_name = named.name.is_some() && !is_projects(setup, "model.name");
    if named.provider.is_some() || is_users_name {
        return;
    }
    // What cannot be read is told of when the session is opened.
    let Ok(header) = setup.store().header(*id) else { return };
    if header.provider.is_empty() || header.model.is_empty() {
        return;
    }
    let missing = match setup.loaded.config.key_source(&header.provider, &setup.env) {
        Some(KeySource::Missing { wanted }) => format!("{wanted} is not set"),
        None => format!("no provider {} is configured", header.provider),
        Some(KeySource::Env { .. } | KeySource::Command(_) | KeySource::NotNeeded) => {
            let model = &mut setup.loaded.config.model;
            (model.provider, model.name) = (Some(header.provider), Some(header.model));
            return;
        }
    };
    let (model, provider) = (header.model, header.provider);
    let notice = format!(
        "The session began with {model} of {provider}, but {missing} now. Put that right and resume again, or go on with another model."
    );
    setup.loaded.notices.push(notice);
}

/// Whether a file of the project's says the value of this key.
fn is_projects(setup: &Setup, key: &str) -> bool {
    let Origin::File { path, .. } = setup.loaded.origins.of(key) else { return false };
    let file = setup.cwd.join(path);
    let folders = setup.loaded.project.folders.iter();
    let mut config = folders.flat_map(|it| [".caliban", ".claude"].map(|name| it.join(name)));
    config.any(|folder| file.starts_with(folder))
}

/// Decides under which name models are offered the tool that starts sub-agents. A file that names
/// it goes first, then the name that a stored session has used; of a new session that a program
/// drives it is the one that programs look for.
pub(super) fn name_agent_tool(setup: &mut Setup, open: &Open, driven: bool) {
    if *setup.loaded.origins.of("subagents.tool_name") != Origin::BuiltIn {
        return;
    }
    let name = match open {
        Open::New(_) if driven => AgentToolName::Agent,
        Open::New(_) => return,
        Open::Stored(id) | Open::Fork { from: id, .. } => {
            let Ok(header) = setup.store().header(*id) else { return };
            let used = header.agent_tool.as_deref().and_then(AgentToolName::named);
            used.unwrap_or(AgentToolName::AgentTool)
        }
    };
    setup.loaded.config.subagents.tool_name = name;
}
