//! State that a resumed session keeps unless the user overrides it: its model, and the name of the
//! tool that starts sub-agents.

use super::choices::Choices;
use super::setup::Setup;
use crate::config::{AgentToolName, KeySource, Origin};
use crate::protocol::printable_line;
use crate::runtime::OpenRequest;

/// Lets a stored session keep its provider and model, unless the user names one in an option or a
/// file. A model name in a project's file does not count: it must not choose who receives the
/// existing conversation. If the provider has become unavailable, adds a notice with advice.
pub(super) fn keep_model(setup: &mut Setup, open: &OpenRequest, choices: &Choices) {
    let named = &setup.loaded.config.model;
    let (OpenRequest::Stored(id) | OpenRequest::Fork { from: id, .. }) = open else { return };
    let is_users_name = named.name.is_some() && !is_projects(setup, "model.name");
    if named.provider.is_some() || is_users_name {
        return;
    }
    // A read error is reported when the session is opened.
    let store = setup.store();
    let (Ok(header), Ok((provider, model))) = (store.header(*id), store.model(*id)) else { return };
    if provider.is_empty() || model.is_empty() {
        return;
    }
    let missing = match setup.loaded.config.key_source(&provider, &setup.env) {
        Some(KeySource::Missing { wanted }) => format!("{wanted} is not set"),
        None => format!("no provider {provider} is configured"),
        Some(KeySource::Env { .. } | KeySource::Command(_) | KeySource::NotNeeded) => {
            if let Some(chosen) = choices.other_model_since(header.created, &provider, &model) {
                let (model, chosen) = (printable_line(&model), printable_line(chosen));
                setup.loaded.notices.push(format!(
                    "This session keeps {model}. New sessions use {chosen}, chosen here since then; /model switches."
                ));
            }
            let named = &mut setup.loaded.config.model;
            (named.provider, named.name) = (Some(provider), Some(model));
            return;
        }
    };
    let notice = format!(
        "The session used {model} of {provider}, but {missing} now. Fix that and resume again, or continue with another model."
    );
    setup.loaded.notices.push(notice);
}

/// Whether the value of this key comes from a project's file.
fn is_projects(setup: &Setup, key: &str) -> bool {
    let Origin::File { path, .. } = setup.loaded.origins.get(key) else { return false };
    let file = setup.cwd.join(path);
    let folders = setup.loaded.project.folders.iter();
    let mut config = folders.flat_map(|it| [".caliban", ".claude"].map(|name| it.join(name)));
    config.any(|folder| file.starts_with(folder))
}

/// Chooses the name of the tool that starts sub-agents. A configured name takes precedence, then
/// the one that a stored session has used. A new driven session uses the name that programs expect.
pub(super) fn name_agent_tool(setup: &mut Setup, open: &OpenRequest, driven: bool) {
    if *setup.loaded.origins.get("subagents.tool_name") != Origin::BuiltIn {
        return;
    }
    let name = match open {
        OpenRequest::New(_) if driven => AgentToolName::Agent,
        OpenRequest::New(_) => return,
        OpenRequest::Stored(id) | OpenRequest::Fork { from: id, .. } => {
            let Ok(header) = setup.store().header(*id) else { return };
            let used = header.agent_tool.as_deref().and_then(|name| name.parse().ok());
            used.unwrap_or(AgentToolName::AgentTool)
        }
    };
    setup.loaded.config.subagents.tool_name = name;
}
