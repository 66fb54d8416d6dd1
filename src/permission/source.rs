//! The source of the gate's rules while agents run.

use std::path::Path;
use std::sync::Arc;

use super::gate::GateShared;
use super::question::AnswerError;
use super::rule::{Rule, RuleSet};
use super::rule_file;

/// The configured rules, which may change at any time. Called before every decision, so it must be nearly free.
pub trait RuleSource: Send {
    /// Returns all configured rules if they changed since the last call. Unreadable rules are no
    /// change: the source reports them to the user.
    fn changed(&mut self) -> Option<RuleSet>;

    /// Is notified of allow rules that the user's answer added to this file.
    fn wrote(&mut self, file: &Path, rules: &[String]);

    /// Receives the part of a change that waits for the next start: new allow rules, and ask and
    /// deny rules removed from the files.
    fn deferred(&mut self, rules: &RuleSet);
}

impl GateShared {
    /// Writes allow rules of an answer into a file, notifies the source before it looks there again, and applies them.
    pub(super) fn write_always(
        &self,
        file: &Path,
        texts: &[String],
        rules: Vec<Rule>,
    ) -> Result<(), AnswerError> {
        let source = self.source.as_ref();
        let mut source = source.map(|source| source.lock());
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

    /// Adopts restrictions from rules changed since the last look, and judges the open questions again.
    pub(super) fn reload_rules(&self) {
        let Some(source) = &self.source else { return };
        {
            // Held until the new rules apply: no other call may be judged by the old ones in between.
            let mut source = source.lock();
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
