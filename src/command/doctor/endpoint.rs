//! Whether a provider answers: one cheap request, which lists its models.

use std::sync::Arc;

use super::Finding;
use crate::provider::{ErrorKind, ModelError, Provider};

/// What these lines are about.
pub const ABOUT: &str = "endpoint";

/// Asks a provider; `model` is the one that is wanted of it.
pub async fn endpoint(
    name: &str,
    provider: Result<Arc<dyn Provider>, ModelError>,
    model: Option<String>,
) -> Vec<Finding> {
    let provider = match provider {
        Ok(provider) => provider,
        Err(why) => return vec![Finding::wrong(ABOUT, format!("{name}: {why}"))],
    };
    let offered = match provider.models().await {
        Ok(offered) => offered,
        // It answers, and that is what was asked.
        Err(error) if error.kind == ErrorKind::BadRequest => {
            return vec![Finding::note(ABOUT, format!("{name}: {error}"))];
        }
        Err(error) => return vec![Finding::wrong(ABOUT, format!("{name}: {error}"))],
    };
    let missing = model.filter(|model| !offered.iter().any(|it| it.name == *model));
    vec![match (missing, offered.len()) {
        (_, 0) => Finding::note(ABOUT, format!("{name}: answers, and has no model yet")),
        (Some(model), _) => Finding::note(
            ABOUT,
            format!("{name}: answers, and does not list {model}: /model shows what it has"),
        ),
        (None, 1) => Finding::ok(ABOUT, format!("{name}: answers, 1 model")),
        (None, count) => Finding::ok(ABOUT, format!("{name}: answers, {count} models")),
    }]
}
