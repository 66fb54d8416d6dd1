//! The rules of the gate: those that change in files, and those that an answer adds.

use std::path::Path;
use std::sync::Arc;

use super::GateShared;
use crate::permission::judge::{Decision, Policy, judge};
use crate::permission::question::{AnswerError, AskedCall};
use crate::permission::rule::{Rule, RuleBase, RuleList, RuleOrigin};
use crate::permission::rule_file;
use crate::protocol::RuleFile;

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
            state.later = deferred.allow.clone().into();
            state.revision += 1;
            drop(state);
            source.deferred(&deferred);
        }
        self.settle();
    }

    pub(super) fn parse(
        &self,
        rules: &[String],
        origin: &RuleOrigin,
    ) -> Result<Vec<Rule>, AnswerError> {
        let base = RuleBase { project: &self.places.project, home: self.places.home.as_deref() };
        let parse = |text: &String| Rule::parse(text, RuleList::Allow, origin.clone(), base);
        Ok(rules.iter().map(parse).collect::<Result<_, _>>()?)
    }

    /// Applies a client's rules, file by file. One that cannot be parsed rejects them all; a file
    /// that cannot be written ends it, and what was written before applies.
    pub(super) fn keep(
        &self,
        asked: &AskedCall,
        session: &[String],
        written: &[(RuleFile, Vec<String>)],
    ) -> Result<(), AnswerError> {
        let granted = self.parse(session, &RuleOrigin::Session)?;
        for (_, rules) in written {
            self.parse(rules, &RuleOrigin::Session)?;
        }
        for (file, texts) in written {
            let path = rule_file::path(&self.places.project, *file);
            let rules = self.parse(texts, &RuleOrigin::File(path.clone()))?;
            self.write_always(&path, texts, rules)?;
        }
        asked.permissions.grants.add(granted);
        self.lock().revision += 1;
        Ok(())
    }

    /// Checks that the rules let the call run, writes them, and applies them.
    pub(super) fn write_rules(
        &self,
        asked: &AskedCall,
        texts: &[String],
        file: RuleFile,
    ) -> Result<(), AnswerError> {
        let path = rule_file::path(&self.places.project, file);
        let rules = self.parse(texts, &RuleOrigin::File(path.clone()))?;
        let (mode, mut all) = {
            let state = self.lock();
            (self.mode_of(&asked.permissions, state.mode, &state), (*state.rules).clone())
        };
        all.allow.extend(rules.iter().cloned());
        let grants = asked.permissions.grants.get();
        let policy = Policy {
            mode,
            rules: &all,
            grants: &grants,
            places: &asked.permissions.places,
            bounds: &asked.permissions.bounds,
            interactive: self.interactive,
        };
        let judgement = judge(&policy, &asked.call());
        if judgement.decision != Decision::Allow {
            return Err(AnswerError::NotCovered { why: judgement.why });
        }
        let texts: Vec<String> = rules.iter().map(|rule| rule.text().to_owned()).collect();
        self.write_always(&path, &texts, rules)
    }
}
