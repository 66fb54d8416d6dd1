//! Thinking modes and effort levels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// The request does not mention thinking.
    #[default]
    Off,
    /// The model decides; the request asks for a summary of its thoughts.
    Adaptive,
    /// The request turns off thinking, which is on by default.
    Disabled,
    /// Older models: a fixed budget of thinking tokens.
    Budget(u32),
}

/// A command-line override of how models think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOverride {
    /// As the catalogue says.
    Adaptive,
    Disabled,
    /// A maximum number of tokens, for models that take a number.
    Tokens(u32),
}

impl Thinking {
    /// Whether to expect a summary of thoughts.
    pub fn is_on(self) -> bool {
        matches!(self, Self::Adaptive | Self::Budget(_))
    }
}

impl ThinkingOverride {
    /// Applies the override to the catalogue's mode. A model that cannot think is not made to.
    pub fn apply(self, thinking: Thinking) -> Thinking {
        match (self, thinking) {
            (Self::Disabled | Self::Tokens(0), Thinking::Adaptive | Thinking::Disabled) => {
                Thinking::Disabled
            }
            (Self::Disabled | Self::Tokens(0), Thinking::Off | Thinking::Budget(_)) => {
                Thinking::Off
            }
            (Self::Tokens(limit), Thinking::Budget(_)) => Thinking::Budget(limit),
            (Self::Tokens(_) | Self::Adaptive, thinking) => thinking,
        }
    }

    /// Limits the efforts: one that stands for thinking tokens must not undo the override.
    pub(super) fn limit_scale(self, scale: EffortScale) -> EffortScale {
        match (self, scale) {
            (Self::Disabled | Self::Tokens(0), EffortScale::Budgets(_)) => {
                EffortScale::Words(Vec::new())
            }
            (Self::Tokens(limit), EffortScale::Budgets(mut budgets)) => {
                budgets.values_mut().for_each(|budget| *budget = (*budget).min(limit));
                EffortScale::Budgets(budgets)
            }
            (_, scale) => scale,
        }
    }
}

/// The efforts that a model takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`effort` must be a list of words, or a table from words to thinking tokens"
)]
pub enum EffortScale {
    /// Words that are sent as they are. An empty list: the model takes none.
    Words(Vec<String>),
    /// Words that stand for a thinking budget in tokens, for models that only take budgets.
    Budgets(BTreeMap<String, u32>),
}

/// The thinking parameters of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reasoning<'a> {
    pub thinking: Thinking,
    pub effort: Option<&'a str>,
}

impl EffortScale {
    /// Whether the model takes this effort.
    pub fn takes(&self, effort: &str) -> bool {
        match self {
            Self::Words(words) => words.iter().any(|word| word == effort),
            Self::Budgets(budgets) => budgets.contains_key(effort),
        }
    }

    /// Translates an effort for the model. One that the model does not take is dropped.
    pub(super) fn apply<'a>(&self, thinking: Thinking, effort: &'a str) -> Reasoning<'a> {
        match self {
            Self::Words(_) => Reasoning { thinking, effort: self.takes(effort).then_some(effort) },
            Self::Budgets(budgets) => {
                let budget = budgets.get(effort).map(|budget| Thinking::Budget(*budget));
                Reasoning { thinking: budget.unwrap_or(thinking), effort: None }
            }
        }
    }

    /// Returns the words, lowest effort first.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Self::Words(words) => words.iter().map(String::as_str).collect(),
            Self::Budgets(budgets) => {
                let mut pairs: Vec<_> = budgets.iter().collect();
                pairs.sort_by_key(|(_, budget)| **budget);
                pairs.into_iter().map(|(word, _)| word.as_str()).collect()
            }
        }
    }
}
