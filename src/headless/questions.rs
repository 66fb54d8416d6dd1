//! Permission questions that are on their way to whoever answers them.

use std::collections::HashMap;
use std::future::pending;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};

use super::control::permission::{self, Said};
use crate::protocol::{Answer, PeerError, PeerRequest, Question, QuestionId, SharedPeer};

/// The questions that are open.
pub(super) struct Questions {
    answers: JoinSet<(QuestionId, Result<Value, PeerError>)>,
    open: HashMap<QuestionId, AbortHandle>,
    peer: SharedPeer,
}

impl Questions {
    /// No question yet; all go to `peer`.
    pub fn to(peer: SharedPeer) -> Self {
        Self { answers: JoinSet::new(), open: HashMap::new(), peer }
    }

    /// Whether one is open.
    pub fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Passes a question on.
    pub fn ask(&mut self, question: &Question) {
        let (id, peer) = (question.id, self.peer.clone());
        let request = PeerRequest::CanUseTool(Box::new(question.clone()));
        let asking = self.answers.spawn(async move { (id, peer.ask(request).await) });
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
                    return (id, said(answer));
                }
                // It was withdrawn.
                Some(Err(_)) => {}
            }
        }
    }
}

/// What cannot be read is a no: nothing runs that was not allowed.
fn said(answer: Result<Value, PeerError>) -> Said {
    let why = match answer {
        Ok(answer) => match permission::read(answer) {
            Ok(said) => return said,
            Err(why) => format!("the answer to the permission question is not understood: {why}"),
        },
        Err(error) => format!("the permission question was not answered: {error}"),
    };
    let answer = Answer::No { reason: Some(why.clone()) };
    Said { answer, mode: None, interrupt: false, problem: Some(why) }
}
