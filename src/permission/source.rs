//! Where the gate's rules come from while agents run.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::gate::Shared;
use super::question::AnswerError;
use super::rule::{Rule, RuleSet};
use super::rule_file;

/// The configured rules, which may change at any time. Asked before every decision, so looking must
/// cost next to nothing.
pub trait RuleSource: Send {
    /// All configured rules, when they are others than at the last look. Rules that cannot be read
    /// are no change: the source tells the person of them.
    fn changed(&mut self) -> Option<RuleSet>;

    /// Told of allow rules that an answer of the person has written into this file.
    fn wrote(&mut self, file: &Path, rules: &[String]);

    /// Receives the part of a change that waits for the next start: new allow rules, and ask and
    /// deny rules that are gone from the files.
    fn deferred(&mut self, rules: &RuleSet);
}

impl Shared {
    /// Writes allow rules of an answer into a file, tells the source of them before it looks there
    /// again, and makes them count.
    pub(super) fn write_always(
        &self,
        file: &Path,
        texts: &[String],
        rules: Vec<Rule>,
    ) -> Result<(), AnswerError> {
        let source = self.source.as_ref();
        let mut source = source.map(|source| source.lock().unwrap_or_else(PoisonError::into_inner));
        rule_file::add_allow_rules(file, texts)?;
        if let Some(source) = &mut source {
            source.wrote(file, texts);
        }
        let mut state = self.lock();
        state.allow_ceiling.add(&rules);
        Arc::make_mut(&mut state.rules).allow.extend(rules);
        state.revision += 1;
        Ok(())
    }

    /// Takes over what changed rules restrict since the last look, and judges the open questions by that.
    pub(super) fn look_at_rules(&self) {
        let Some(source) = &self.source else { return };
        {
            // Held until the new rules count: no other call may be judged by the old ones in between.
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(read) = source.changed() else { return };
            let mut state = self.lock();
            let (rules, deferred) = state.allow_ceiling.narrow(&state.rules, read);
            state.rules = rules.into();
            state.revision += 1;
            drop(state);
            source.deferred(&deferred);
        }
        self.settle();
    }
}
