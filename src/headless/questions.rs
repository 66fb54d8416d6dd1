//! Permission questions that are on their way to whoever answers them.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};

use super::control::permission::{self, Said};
use crate::protocol::{Answer, PeerRequest, Question, QuestionId, SharedPeer};

/// Who answers permission questions where there is no screen. The answer is JSON, as the SDK says it:
/// `{"behavior": "allow" | "deny", …}`.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Asks and waits. Dropping the wait withdraws the question. The error is one line.
    async fn ask(&self, question: Question) -> Result<Value, String>;

    /// Who answers, in words for the model.
    fn who(&self) -> String;
}

/// The driving program answers.
pub(super) struct AskPeer(pub SharedPeer);

#[async_trait]
impl Asker for AskPeer {
    async fn ask(&self, question: Question) -> Result<Value, String> {
        let asked = self.0.ask(PeerRequest::CanUseTool(Box::new(question))).await;
        asked.map_err(|error| error.to_string())
    }

    fn who(&self) -> String {
        "the program that drives caliban".to_owned()
    }
}

/// The questions that are open.
pub(super) struct Questions {
    answers: JoinSet<(QuestionId, Result<Value, String>)>,
    open: HashMap<QuestionId, AbortHandle>,
    asker: Arc<dyn Asker>,
}

impl Questions {
    /// No question yet; all go to `asker`.
    pub fn to(asker: Arc<dyn Asker>) -> Self {
        Self { answers: JoinSet::new(), open: HashMap::new(), asker }
    }

    /// Whether one is open.
    pub fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Passes a question on.
    pub fn ask(&mut self, question: &Question) {
        let (id, asker, question) = (question.id, self.asker.clone(), question.clone());
        let asking = self.answers.spawn(async move { (id, asker.ask(question).await) });
        self.open.insert(id, asking);
    }

    /// A question needs no answer any more: it is withdrawn.
    pub fn close(&mut self, id: QuestionId) {
        if let Some(asking) = self.open.remove(&id) {
            asking.abort();
        }
    }

    /// Waits for the next answer; for ever when none can come.
    pub async fn answered(&mut self) -> (QuestionId, Said) {
        loop {
            match self.answers.join_next().await {
                None => return pending().await,
                Some(Ok((id, answer))) => {
                    self.open.remove(&id);
                    return (id, said(answer, &self.asker.who()));
                }
                // It was withdrawn.
                Some(Err(_)) => {}
            }
        }
    }
}

/// What cannot be read is a no: nothing runs that was not allowed.
fn said(answer: Result<Value, String>, who: &str) -> Said {
    let why = match answer {
        Ok(answer) => match permission::read(answer, who) {
            Ok(said) => return said,
            Err(why) => format!("the answer to the permission question is not understood: {why}"),
        },
        Err(error) => format!("the permission question was not answered: {error}"),
    };
    let answer = Answer::Denied { reason: why.clone() };
    Said { answer, mode: None, problem: Some(why) }
}
