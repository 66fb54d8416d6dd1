//! The model of the main agent, which the person may change at any time.

use super::Runtime;
use crate::protocol::{EventKind, NoticeLevel};
use crate::provider::{Model, ModelError, ModelSlot};

/// What came of the search for a model.
pub(super) type Resolved = Result<Model, ModelError>;

impl Runtime {
    /// Looks for a model beside everything else.
    pub(super) fn set_model(&self, provider: Option<String>, name: String) {
        let (models, resolved) = (self.parts.models.clone(), self.resolved.0.clone());
        tokio::spawn(async move {
            let model = models.resolve(provider.as_deref(), &name).await;
            // Nobody waits for it any more when the runtime has ended.
            let _ = resolved.send(model).await;
        });
    }

    pub(super) fn model_resolved(&mut self, resolved: Resolved) {
        let model = match resolved {
            Ok(model) => model,
            Err(error) => {
                self.events.notice(NoticeLevel::Error, error.to_string());
                return;
            }
        };
        self.events.emit(model_changed(&model));
        for notice in model.notices() {
            self.events.notice(NoticeLevel::Warning, notice);
        }
        match &self.model {
            Some(slot) => slot.set(model),
            None => self.model = Some(ModelSlot::new(model)),
        }
    }
}

pub(super) fn model_changed(model: &Model) -> EventKind {
    EventKind::ModelChanged {
        provider: model.provider.name().to_owned(),
        model: model.name.clone(),
        context_window: Some(model.info.context_window),
    }
}
