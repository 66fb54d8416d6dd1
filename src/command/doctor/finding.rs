//! The findings of checks, and how checks run.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;

use super::super::{CommandReport, columns};
use crate::protocol::printable;
use crate::tui::page::{PageLine, Tone};

/// The timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(8);

/// The state of a checked item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FindingState {
    Ok,
    /// It works, but could be better.
    Note,
    #[strum(serialize = "WRONG")]
    Wrong,
}

impl FindingState {
    fn word(self) -> &'static str {
        self.into()
    }
}

/// One line: the state of an item, and how to fix it unless it is fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub state: FindingState,
    /// Such as `git`.
    pub about: &'static str,
    pub text: String,
}

impl Finding {
    pub fn ok(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: FindingState::Ok, about, text: text.into() }
    }

    pub fn note(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: FindingState::Note, about, text: text.into() }
    }

    pub fn wrong(about: &'static str, text: impl Into<String>) -> Self {
        Self { state: FindingState::Wrong, about, text: text.into() }
    }
}

/// A check, which may take a while.
pub struct Check {
    about: &'static str,
    findings: BoxFuture<'static, Vec<Finding>>,
    /// The advice if it times out.
    advice: Option<String>,
}

impl Check {
    /// Creates an asynchronous check.
    pub fn new(
        about: &'static str,
        findings: impl Future<Output = Vec<Finding>> + Send + 'static,
    ) -> Self {
        Self { about, findings: Box::pin(findings), advice: None }
    }

    /// Sets the advice if it times out.
    pub fn or_else(self, advice: String) -> Self {
        Self { advice: Some(advice), ..self }
    }

    /// Creates a check that reads files.
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

/// Runs all checks concurrently. Returns the findings in the given order.
pub async fn examine(checks: Vec<Check>) -> Vec<Finding> {
    examine_within(CHECK_TIMEOUT, checks).await
}

async fn examine_within(limit: Duration, checks: Vec<Check>) -> Vec<Finding> {
    let all = checks.into_iter().map(|Check { about, findings, advice }| async move {
        timeout(limit, findings).await.unwrap_or_else(|_| {
            let advice = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
            vec![Finding::wrong(about, format!("no answer within {limit:?}{advice}"))]
        })
    });
    join_all(all).await.into_iter().flatten().collect()
}

/// Formats the findings as lines of a page, each state in its look.
pub fn page(findings: &[Finding]) -> Vec<PageLine> {
    let about = findings.iter().map(|finding| finding.about.len()).max().unwrap_or(0);
    let line = |finding: &Finding| {
        let tone = match finding.state {
            FindingState::Ok => Tone::Good,
            FindingState::Note => Tone::Dim,
            FindingState::Wrong => Tone::Bad,
        };
        let state = format!("{:<5}  ", finding.state.word());
        let about = format!("{:<about$}  ", finding.about);
        let text = printable(&finding.text).replace('\n', " ");
        PageLine::row([(&*state, tone), (&*about, Tone::Strong)], text)
    };
    findings.iter().map(line).collect()
}

/// Formats the findings as lines.
fn lines(findings: &[Finding]) -> Vec<String> {
    let row = |Finding { state, about, text }: &Finding| {
        [state.word().to_owned(), (*about).to_owned(), printable(text).replace('\n', " ")]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    columns(&rows).lines().map(str::to_owned).collect()
}

/// Returns the findings for stdout. Notes do not count as failures.
pub fn report(findings: &[Finding]) -> CommandReport {
    let text = lines(findings).into_iter().map(|line| line + "\n").collect();
    let broken = findings.iter().any(|finding| finding.state == FindingState::Wrong);
    CommandReport { text, broken, ..CommandReport::default() }
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
        let findings = examine_within(Duration::from_millis(300), checks).await;
        assert_eq!(
            lines(&findings),
            [
                "WRONG  never   no answer within 300ms: do this",
                "note   first   Ok(())",
                "ok     second  one two",
            ]
        );
        let page = page(&findings);
        let tones: Vec<Tone> = page.iter().map(|line| line.0[0].1).collect();
        assert_eq!(tones, [Tone::Bad, Tone::Dim, Tone::Good]);
        assert_eq!(
            page[2],
            PageLine::row([("ok     ", Tone::Good), ("second  ", Tone::Strong)], "one two")
        );
        assert!(report(&findings).broken && !report(&findings[1..]).broken);
    }
}
