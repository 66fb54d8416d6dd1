//! What all hooks of one moment say together.

use serde_json::Value;

/// The hooks' word on a moment. Empty when they had nothing to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// On a call that is about to run.
    pub opinion: Option<Opinion>,
    /// It must not be as it is: why, for the model, or for the person whose prompt it is.
    pub block: Option<String>,
    /// What a call is to run with instead of its own input.
    pub input: Option<Value>,
    /// What the model is to know.
    pub context: Vec<String>,
    /// The run is to end here: why, for the person; may be empty.
    pub stop: Option<String>,
}

/// Whether a call may run, as hooks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// Nobody need be asked.
    Allow,
    /// A person must be asked.
    Ask {
        why: String,
    },
    Deny {
        why: String,
    },
}

impl Opinion {
    /// The stricter one counts; two equally strict ones both give their reason.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny { why }, Self::Deny { why: more }) => {
                Self::Deny { why: joined(why, &more) }
            }
            (deny @ Self::Deny { .. }, _) | (_, deny @ Self::Deny { .. }) => deny,
            (Self::Ask { why }, Self::Ask { why: more }) => Self::Ask { why: joined(why, &more) },
            (ask @ Self::Ask { .. }, _) | (_, ask @ Self::Ask { .. }) => ask,
            (Self::Allow, Self::Allow) => Self::Allow,
        }
    }
}

impl Said {
    /// With what another hook says of the same moment. Of two inputs the later hook's counts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let Self { opinion, block, input, context, stop } = other;
        self.context.extend(context);
        Self {
            opinion: both(self.opinion, opinion, Opinion::and),
            block: both(self.block, block, |one, more| joined(one, &more)),
            input: input.or(self.input),
            context: self.context,
            stop: self.stop.or(stop),
        }
    }

    /// What the model is to know, as one text.
    #[must_use]
    pub fn context_text(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| self.context.join("\n\n"))
    }
}

fn both<T>(one: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(join(one, other)),
        (one, other) => one.or(other),
    }
}

fn joined(mut one: String, more: &str) -> String {
    one.push('\n');
    one.push_str(more);
    one
}
