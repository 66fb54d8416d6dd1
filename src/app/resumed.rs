//! The model of a session that goes on: the one that it began with, unless the person names another.

use super::Setup;
use crate::config::KeySource;
use crate::runtime::Open;

/// Lets a stored session keep its provider and model. Neither an option nor a file may name one: those go first. Where
/// its provider cannot be reached any more, a notice says so and how to reach it.
pub(super) fn keep_model(setup: &mut Setup, open: &Open) {
    let named = &setup.loaded.config.model;
    let (Open::Stored(id) | Open::Fork { from: id, .. }) = open else { return };
    if named.provider.is_some() || named.name.is_some() {
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
