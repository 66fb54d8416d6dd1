//! The model that the user chose last, while it is being resolved.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::provider::{Model, ModelSource, ProviderError};

/// The result of resolving a model.
pub(super) type ResolvedModel = Result<Model, ProviderError>;

/// The model that the user chose last, while it is being resolved. That may take as long as the
/// user's command that prints a key. A later choice replaces it, whichever is resolved first.
#[derive(Default)]
pub(super) struct ModelChoice(Option<JoinHandle<ResolvedModel>>);

impl ModelChoice {
    /// Resolves a model in the background.
    pub fn start(&mut self, models: Arc<dyn ModelSource>, provider: Option<String>, name: String) {
        let resolve = async move { models.resolve(provider.as_deref(), &name).await };
        // The task of an earlier choice goes on: another may wait for the same provider's key.
        self.0 = Some(tokio::spawn(resolve));
    }

    /// Whether a model is being resolved.
    pub fn is_pending(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the model; forever if none is being resolved.
    pub async fn wait(&mut self) -> ResolvedModel {
        let Some(task) = &mut self.0 else { return std::future::pending().await };
        let resolved = task.await;
        self.0 = None;
        match resolved {
            Ok(resolved) => resolved,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
