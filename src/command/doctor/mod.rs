//! `caliban doctor` and `/doctor`: what works, and what to do about what does not. Nothing is
//! changed by looking, and no key is shown.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;

use super::{Report, columns};
use crate::protocol::printable;

pub mod endpoint;
pub mod files;
pub mod hooks;
pub mod keys;
pub mod machine;
pub mod mcp;
pub mod terminal;

/// How long one check may take before it counts as without an answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Ok,
    /// It works, and could be better.
    Note,
    Wrong,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Wrong => "WRONG",
        }
    }
}

/// One line: how something is, and what to do unless it is fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub state: State,
    /// Such as `git`.
    pub about: &'static str,
    pub text: String,
}

impl Finding {
    #[must_use]
    pub fn ok(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Ok, about, text: text.into() }
    }

    #[must_use]
    pub fn note(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Note, about, text: text.into() }
    }

    #[must_use]
    pub fn wrong(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: State::Wrong, about, text: text.into() }
    }
}

/// Something to be looked at, which may take its time.
pub struct Check {
    about: &'static str,
    findings: BoxFuture<'static, Vec<Finding>>,
    /// What is said where it takes too long, after how long that was.
    advice: Option<String>,
}

impl Check {
    /// A check that waits for others.
    pub fn new(
        about: &'static str,
        findings: impl Future<Output = Vec<Finding>> + Send + 'static,
    ) -> Self {
        Self { about, findings: Box::pin(findings), advice: None }
    }

    /// What to do where it takes too long.
    #[must_use]
    pub fn or_else(self, advice: String) -> Self {
        Self { advice: Some(advice), ..self }
    }

    /// A check that reads files.
    pub fn blocking(
        about: &'static str,
        look: impl FnOnce() -> Vec<Finding> + Send + 'static,
    ) -> Self {
        let looked = tokio::task::spawn_blocking(look);
        Self::new(about, async move {
            looked.await.unwrap_or_else(|error| vec![Finding::wrong(about, error.to_string())])
        })
    }
}

/// Makes all checks at once, and tells what came of them in the order in which they are given.
pub async fn examine(checks: Vec<Check>) -> Vec<Finding> {
    within(PATIENCE, checks).await
}

async fn within(patience: Duration, checks: Vec<Check>) -> Vec<Finding> {
    let all = checks.into_iter().map(|Check { about, findings, advice }| async move {
        timeout(patience, findings).await.unwrap_or_else(|_| {
            let advice = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
            vec![Finding::wrong(about, format!("no answer within {patience:?}{advice}"))]
        })
    });
    join_all(all).await.into_iter().flatten().collect()
}

/// The findings as lines.
#[must_use]
pub fn lines(findings: &[Finding]) -> Vec<String> {
    let row = |Finding { state, about, text }: &Finding| {
        [state.word().to_owned(), (*about).to_owned(), printable(text).replace('\n', " ")]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    columns(&rows).lines().map(str::to_owned).collect()
}

/// The same for stdout. Notes are no failure.
#[must_use]
pub fn report(findings: &[Finding]) -> Report {
    let text = lines(findings).into_iter().map(|line| line + "\n").collect();
    let broken = findings.iter().any(|finding| finding.state == State::Wrong);
    Report { text, broken, ..Report::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn checks_are_made_at_once_and_one_without_an_answer_is_told_of() {
        // Each waits for the other: one after the other they would both run out of time.
        let (to_first, first) = tokio::sync::oneshot::channel::<()>();
        let (to_second, second) = tokio::sync::oneshot::channel::<()>();
        let checks = vec![
            Check::new("never", std::future::pending()).or_else("do this".to_owned()),
            Check::new("first", async move {
                let _ = to_second.send(());
                vec![Finding::note("first", format!("{:?}", first.await))]
            }),
            Check::new("second", async move {
                let _ = (second.await, to_first.send(()));
                vec![Finding::ok("second", "one\ntwo")]
            }),
        ];
        let findings = within(Duration::from_millis(300), checks).await;
        assert_eq!(
            lines(&findings),
            [
                "WRONG  never   no answer within 300ms: do this",
                "note   first   Ok(())",
                "ok     second  one two",
            ]
        );
        assert!(report(&findings).broken && !report(&findings[1..]).broken);
    }
}
