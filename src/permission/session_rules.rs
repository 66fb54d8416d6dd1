//! The rules of a running session. A rule file that changes can restrict more at once; it allows
//! nothing that was not allowed at the start, because an agent may have written it.

use std::collections::BTreeSet;

use super::rule::{Rule, RuleSet};

/// The allow rules that can count in a session, by their texts: those of its start, and those that
/// the user's answers wrote. Their place does not matter.
#[derive(Clone, Debug)]
pub(super) struct AllowCeiling(BTreeSet<String>);

impl AllowCeiling {
    /// The allow rules of the start.
    pub fn new(rules: &RuleSet) -> Self {
        Self(texts(&rules.allow))
    }

    /// Adds the rules of an answer.
    pub fn add(&mut self, rules: &[Rule]) {
        self.0.extend(texts(rules));
    }

    /// The rules that count when the files hold the rules `read` and `present` counted before, and
    /// the part of the change that waits for the next start: new allow rules, and ask and deny
    /// rules that are gone.
    pub fn narrow(&self, present: &RuleSet, read: RuleSet) -> (RuleSet, RuleSet) {
        let (allow, new) =
            read.allow.into_iter().partition(|rule: &Rule| self.0.contains(rule.text()));
        let (mut ask, mut deny) = (read.ask, read.deny);
        let deferred =
            RuleSet { allow: new, ask: gone(&present.ask, &ask), deny: gone(&present.deny, &deny) };
        ask.extend(deferred.ask.iter().cloned());
        deny.extend(deferred.deny.iter().cloned());
        (RuleSet { allow, ask, deny }, deferred)
    }
}

fn texts(rules: &[Rule]) -> BTreeSet<String> {
    rules.iter().map(|rule| rule.text().to_owned()).collect()
}

/// The rules of `before` that `now` lacks.
fn gone(before: &[Rule], now: &[Rule]) -> Vec<Rule> {
    let now = texts(now);
    before.iter().filter(|rule| !now.contains(rule.text())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::rule::{Base, List, Origin};
    use super::*;

    fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> RuleSet {
        let base = Base { project: Path::new("/p"), home: None };
        let mut rules = RuleSet::default();
        for (list, texts) in [(List::Allow, allow), (List::Ask, ask), (List::Deny, deny)] {
            rules.add(list, texts, &Origin::File(PathBuf::from("/p/a.toml")), base).unwrap();
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
