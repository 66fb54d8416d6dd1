//! The combined output of all hooks of one event.

use serde_json::Value;

/// The output of an event's hooks. Empty if they had nothing to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutput {
    /// The decision on a call that is about to run.
    pub decision: Option<PermissionDecision>,
    /// Blocks the event. Holds the reason, for the model, or for the user whose prompt it is.
    pub block: Option<String>,
    /// Replaces the input of a call.
    pub input: Option<Value>,
    /// Context for the model.
    pub context: Vec<String>,
    /// Ends the run. Holds the reason for the user, which may be empty.
    pub stop: Option<String>,
}

/// A hook's decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    /// Runs without asking.
    Allow,
    /// Asks the user.
    Ask {
        why: String,
    },
    Deny {
        why: String,
    },
}

impl PermissionDecision {
    /// Returns the stricter of two decisions; if they are equally strict, joins their reasons.
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny { why }, Self::Deny { why: more }) => {
                Self::Deny { why: join_lines(why, &more) }
            }
            (deny @ Self::Deny { .. }, _) | (_, deny @ Self::Deny { .. }) => deny,
            (Self::Ask { why }, Self::Ask { why: more }) => {
                Self::Ask { why: join_lines(why, &more) }
            }
            (ask @ Self::Ask { .. }, _) | (_, ask @ Self::Ask { .. }) => ask,
            (Self::Allow, Self::Allow) => Self::Allow,
        }
    }
}

impl HookOutput {
    /// Whether it lets a call run without a question, or changes it.
    pub(super) fn allows(&self) -> bool {
        self.decision == Some(PermissionDecision::Allow) || self.input.is_some()
    }

    /// Merges the output of another hook for the same event. The later hook's input wins.
    pub fn merge(mut self, other: Self) -> Self {
        let Self { decision, block, input, context, stop } = other;
        self.context.extend(context);
        Self {
            decision: merge_options(self.decision, decision, PermissionDecision::merge),
            block: merge_options(self.block, block, |one, more| join_lines(one, &more)),
            input: input.or(self.input),
            context: self.context,
            stop: self.stop.or(stop),
        }
    }

    /// Returns the context for the model as one text.
    pub fn context_text(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| self.context.join("\n\n"))
    }
}

fn merge_options<T>(one: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(join(one, other)),
        (one, other) => one.or(other),
    }
}

fn join_lines(mut one: String, more: &str) -> String {
    one.push('\n');
    one.push_str(more);
    one
}
