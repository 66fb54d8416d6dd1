//! Changes the main agent's model at the user's request.

use super::Runtime;
use crate::protocol::{EventKind, NoticeLevel};
use crate::provider::{Model, ModelSlot, ProviderError};

/// The result of resolving a model.
pub(super) type ResolvedModel = Result<Model, ProviderError>;

impl Runtime {
    /// Resolves a model in the background.
    pub(super) fn set_model(&self, provider: Option<String>, name: String) {
        let (models, resolved) = (self.parts.agents.models.clone(), self.resolved.0.clone());
        tokio::spawn(async move {
            let model = models.resolve(provider.as_deref(), &name).await;
            // The receiver is gone when the runtime has ended.
            let _ = resolved.send(model).await;
        });
    }

    pub(super) fn use_resolved_model(&mut self, resolved: ResolvedModel) {
        let model = match resolved {
            Ok(model) => model,
            Err(error) => {
                self.events.notice(NoticeLevel::Error, error.to_string());
                return;
            }
        };
        self.events.emit(model_changed_event(&model));
        for notice in model.notices() {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        match &self.model {
            Some(slot) => slot.set(model),
            None => self.model = Some(ModelSlot::new(model)),
        }
    }
}

pub(super) fn model_changed_event(model: &Model) -> EventKind {
    EventKind::ModelChanged {
        provider: model.provider.name().to_owned(),
        model: model.name.clone(),
        context_window: Some(model.info.context_window),
    }
}
