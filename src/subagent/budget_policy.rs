//! `budget_policy`: the share of its parent's budget that a fork gets.

use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::definition::BudgetSpec;
use crate::budget::Budget;

/// How a fork's tokens are derived from what its parent has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetPolicy {
    Equal,
    Proportional,
    Remaining,
    Fixed(u64),
}

impl BudgetPolicy {
    /// The share of what is left of `budget`, beside `live` other agents that share it.
    pub fn share(self, budget: &Budget, live: usize) -> BudgetSpec {
        let (left, live) = (budget.left(), u64::try_from(live).unwrap_or(u64::MAX));
        BudgetSpec {
            max_tokens: self.tokens(left.tokens, live),
            max_usd: self.usd(left.usd, live),
            ..BudgetSpec::default()
        }
    }

    /// The share of `left` tokens, beside `live` agents that share them. `None` if the
    /// parent has no limit.
    fn tokens(self, left: Option<u64>, live: u64) -> Option<u64> {
        match self {
            Self::Fixed(tokens) => Some(tokens),
            Self::Remaining => left,
            Self::Proportional => left.map(|left| (left / 2).max(1)),
            Self::Equal => left.map(|left| (left / (live + 2)).max(1)),
        }
    }

    /// The same for US dollars; a fixed number of tokens says nothing about them.
    fn usd(self, left: Option<f64>, live: u64) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::Remaining => left,
            Self::Proportional => left.map(|left| left / 2.0),
            Self::Equal => left.map(|left| left / (live + 2) as f64),
        }
    }
}

impl FromStr for BudgetPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`budget_policy` must be equal, proportional, remaining or fixed:N with N tokens of at least 1, not {text:?}"
            )
        };
        match text {
            "equal" => Ok(Self::Equal),
            "proportional" => Ok(Self::Proportional),
            "remaining" => Ok(Self::Remaining),
            other => {
                let number = other.strip_prefix("fixed:").and_then(|n| n.trim().parse().ok());
                number.filter(|tokens| *tokens > 0).map(Self::Fixed).ok_or_else(wrong)
            }
        }
    }
}

impl<'de> Deserialize<'de> for BudgetPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for BudgetPolicy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BudgetPolicy".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
