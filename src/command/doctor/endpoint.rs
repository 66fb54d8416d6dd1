//! Checks that a provider answers, with one cheap request that lists its models.

use std::sync::Arc;

use super::Finding;
use crate::provider::{ErrorKind, Provider, ProviderError};

/// The subject of these lines.
pub const ABOUT: &str = "endpoint";

/// Queries a provider; `model` is the requested one.
pub async fn endpoint(
    name: &str,
    provider: Result<Arc<dyn Provider>, ProviderError>,
    model: Option<String>,
) -> Vec<Finding> {
    let provider = match provider {
        Ok(provider) => provider,
        Err(why) => return vec![Finding::wrong(ABOUT, format!("{name}: {why}"))],
    };
    let offered = match provider.models().await {
        Ok(offered) => offered,
        // It answers, which is enough.
        Err(error) if error.kind == ErrorKind::BadRequest => {
            return vec![Finding::note(ABOUT, format!("{name}: {error}"))];
        }
        Err(error) => return vec![Finding::wrong(ABOUT, format!("{name}: {error}"))],
    };
    let missing = model.filter(|model| !offered.iter().any(|it| it.name == *model));
    vec![match (missing, offered.len()) {
        (_, 0) => Finding::note(ABOUT, format!("{name}: answers, but has no model yet")),
        (Some(model), _) => Finding::note(
            ABOUT,
            format!("{name}: answers, but does not list {model}: /model shows its models"),
        ),
        (None, 1) => Finding::ok(ABOUT, format!("{name}: answers, 1 model")),
        (None, count) => Finding::ok(ABOUT, format!("{name}: answers, {count} models")),
    }]
}
