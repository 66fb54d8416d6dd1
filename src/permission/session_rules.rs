//! The rules of a running session. A changed rule file can restrict more at once; it allows nothing
//! beyond the rules at the start, because an agent may have written it.

use std::collections::BTreeSet;

use super::rule::{Rule, RuleSet};

/// The allow rules that can apply in a session, by their texts: those of its start, and those
/// written by the user's answers. Their origin does not matter.
#[derive(Clone, Debug)]
pub(super) struct AllowCeiling(BTreeSet<String>);

impl AllowCeiling {
    /// Creates it from the allow rules at the start.
    pub fn new(rules: &RuleSet) -> Self {
        Self(rule_texts(&rules.allow))
    }

    /// Adds the rules of an answer.
    pub fn add(&mut self, rules: &[Rule]) {
        self.0.extend(rule_texts(rules));
    }

    /// Returns the rules that apply when the files contain the rules `read` and `present` applied
    /// before, and the part of the change that waits for the next start: new allow rules, and
    /// removed ask and deny rules.
    pub fn narrow(&self, present: &RuleSet, read: RuleSet) -> (RuleSet, RuleSet) {
        let (allow, new) =
            read.allow.into_iter().partition(|rule: &Rule| self.0.contains(rule.text()));
        let (mut ask, mut deny) = (read.ask, read.deny);
        let deferred = RuleSet {
            allow: new,
            ask: removed_rules(&present.ask, &ask),
            deny: removed_rules(&present.deny, &deny),
        };
        ask.extend(deferred.ask.iter().cloned());
        deny.extend(deferred.deny.iter().cloned());
        (RuleSet { allow, ask, deny }, deferred)
    }
}

fn rule_texts(rules: &[Rule]) -> BTreeSet<String> {
    rules.iter().map(|rule| rule.text().to_owned()).collect()
}

/// The rules of `before` that `now` lacks.
fn removed_rules(before: &[Rule], now: &[Rule]) -> Vec<Rule> {
    let now = rule_texts(now);
    before.iter().filter(|rule| !now.contains(rule.text())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::rule::{RuleBase, RuleList, RuleOrigin};
    use super::*;

    fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> RuleSet {
        let base = RuleBase { project: Path::new("/p"), home: None };
        let mut rules = RuleSet::default();
        for (list, texts) in
            [(RuleList::Allow, allow), (RuleList::Ask, ask), (RuleList::Deny, deny)]
        {
            rules.add(list, texts, &RuleOrigin::File(PathBuf::from("/p/a.toml")), base).unwrap();
        }
        rules
    }

    #[test]
    fn a_change_narrows_and_what_would_widen_waits() {
        let start = rules(&["Read", "Bash(ls:*)"], &["Bash(a)"], &["Bash(b)"]);
        let mut allow_ceiling = AllowCeiling::new(&start);
        let read = rules(&["Bash(ls:*)", "Bash", "Bash(new)"], &["Bash(c)"], &[]);
        allow_ceiling.add(&rules(&["Bash(new)"], &[], &[]).allow);
        let (now, deferred) = allow_ceiling.narrow(&start, read);
        assert_eq!(now, rules(&["Bash(ls:*)", "Bash(new)"], &["Bash(c)", "Bash(a)"], &["Bash(b)"]));
        assert_eq!(deferred, rules(&["Bash"], &["Bash(a)"], &["Bash(b)"]));
        // An empty file, as an editor leaves it for a moment, is no reason to forget the rules of the start.
        let (empty, _) = allow_ceiling.narrow(&now, RuleSet::default());
        assert_eq!((empty.allow.len(), empty.ask.len(), empty.deny.len()), (0, 2, 1));
        let (back, _) = allow_ceiling.narrow(&empty, start.clone());
        assert_eq!(back.allow, start.allow);
    }
}
