//! Permission questions that wait for an answer.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};

use super::control::permission::{self, PermissionAnswer};
use crate::protocol::{Answer, PeerRequest, Question, QuestionId, SharedPeer};

/// Answers permission questions without a screen. The answer is JSON in the SDK's format:
/// `{"behavior": "allow" | "deny", …}`.
#[async_trait]
pub trait Asker: Send + Sync {
    /// Asks and waits. Dropping the future withdraws the question. The error is one line.
    async fn ask(&self, question: Question) -> Result<Value, String>;

    /// Describes who answers, for the model.
    fn who(&self) -> String;
}

/// Asks the driving program.
pub(super) struct PeerAsker(pub SharedPeer);

#[async_trait]
impl Asker for PeerAsker {
    async fn ask(&self, question: Question) -> Result<Value, String> {
        let asked = self.0.ask(PeerRequest::CanUseTool(Box::new(question))).await;
        asked.map_err(|error| error.to_string())
    }

    fn who(&self) -> String {
        "the program that drives caliban".to_owned()
    }
}

/// The open questions.
pub(super) struct PendingQuestions {
    answers: JoinSet<(QuestionId, Result<Value, String>)>,
    open: HashMap<QuestionId, AbortHandle>,
    asker: Arc<dyn Asker>,
}

impl PendingQuestions {
    /// Creates an empty set whose questions go to `asker`.
    pub fn new(asker: Arc<dyn Asker>) -> Self {
        Self { answers: JoinSet::new(), open: HashMap::new(), asker }
    }

    /// Whether one is open.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Asks a question.
    pub fn ask(&mut self, question: &Question) {
        let (id, asker, question) = (question.id, self.asker.clone(), question.clone());
        let asking = self.answers.spawn(async move { (id, asker.ask(question).await) });
        self.open.insert(id, asking);
    }

    /// Withdraws a question that needs no answer any more.
    pub fn close(&mut self, id: QuestionId) {
        if let Some(asking) = self.open.remove(&id) {
            asking.abort();
        }
    }

    /// Waits for the next answer; forever if no question is open.
    pub async fn next_answer(&mut self) -> (QuestionId, PermissionAnswer) {
        loop {
            match self.answers.join_next().await {
                None => return pending().await,
                Some(Ok((id, answer))) => {
                    self.open.remove(&id);
                    return (id, parse_answer(answer, &self.asker.who()));
                }
                // It was withdrawn.
                Some(Err(_)) => {}
            }
        }
    }
}

/// Parses an answer. An unreadable one denies: nothing runs that was not allowed.
fn parse_answer(answer: Result<Value, String>, who: &str) -> PermissionAnswer {
    let why = match answer {
        Ok(answer) => match permission::read(answer, who) {
            Ok(said) => return said,
            Err(why) => format!("the answer to the permission question is not understood: {why}"),
        },
        Err(error) => format!("the permission question was not answered: {error}"),
    };
    let answer = Answer::Denied { reason: why.clone() };
    PermissionAnswer { answer, mode: None, problem: Some(why) }
}
