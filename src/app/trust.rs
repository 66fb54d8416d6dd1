//! Asks before a session on the screen whether to trust the project.

use super::setup::{AppError, Setup};
use super::{parts, screen};
use crate::cli::Cli;
use crate::config::{Origin, ProjectStart, UntrustedItem};
use crate::tui::{self, PendingInput, TrustAnswer, TrustItem, TrustQuestion};

/// The result of the question.
pub(super) enum TrustOutcome {
    /// Starts the session with this setup, and the keys typed after the answer.
    Start(Box<Setup>, PendingInput),
    /// Exits with this code.
    Exit(u8),
}

/// Asks whether to trust the project, if it has untrusted entries. The returned setup uses exactly
/// the entries that were shown and accepted; later changes of a file stay ignored.
pub(super) fn resolve(cli: &Cli, setup: Setup) -> Result<TrustOutcome, AppError> {
    let Setup { trust, loaded, .. } = &setup;
    // Don't ask if the answer cannot be stored, or if an agent started this program.
    let nothing = loaded.untrusted.is_empty() && loaded.starts.is_empty();
    if nothing || trust.problem().is_some() || setup.is_started_by_agent()? {
        return Ok(TrustOutcome::Start(Box::new(setup), PendingInput::default()));
    }
    let question = question(&setup);
    let settings = screen::settings(&setup, cli.common.no_color);
    let (answer, typed) =
        parts::block_on(async { Ok(tui::ask_trust(&question, &settings).await?) })?;
    match answer {
        TrustAnswer::NotNow => Ok(TrustOutcome::Start(Box::new(setup), typed)),
        TrustAnswer::Quit => Ok(TrustOutcome::Exit(0)),
        TrustAnswer::Signal(number) => {
            Ok(TrustOutcome::Exit(u8::try_from(128 + number).unwrap_or(1)))
        }
        TrustAnswer::Trust => {
            let accepted = trust.accept_all(&loaded.untrusted, &loaded.starts);
            let mut setup = Setup::load(cli, setup.env.clone(), &cli.overrides())?;
            if let Err(error) = accepted {
                setup.loaded.notices.push(format!("The project is not trusted: {error}."));
            }
            Ok(TrustOutcome::Start(Box::new(setup), typed))
        }
    }
}

fn question(setup: &Setup) -> TrustQuestion {
    let thing = |origin: &Origin, what: String| match origin {
        Origin::File { path, line } => {
            Some(TrustItem { file: path.display().to_string(), line: *line, what })
        }
        _ => None,
    };
    let brought = |it: &UntrustedItem| thing(&it.origin, it.what.clone());
    let own = |start: &ProjectStart| thing(&start.origin, start.describe());
    TrustQuestion {
        root: setup.trust.root().display().to_string(),
        changed: setup.trust.accepts_any(),
        items: setup.loaded.untrusted.iter().filter_map(brought).collect(),
        own_items: setup.loaded.starts.iter().filter_map(own).collect(),
    }
}
