//! The budget of one sub-agent, as a definition or a call requests it.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::budget::Limits;

/// Limits of an agent; those left out do not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BudgetSpec {
    /// US dollars.
    pub max_usd: Option<f64>,
    /// Tokens: input, output and cache writes.
    pub max_tokens: Option<u64>,
    /// Requests to its model.
    pub max_turns: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: Option<u32>,
    /// Seconds.
    pub max_wall_s: Option<u64>,
}

/// Why a limit is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    #[error("unknown key `budget.{}`; allowed: {}", .0.escape_debug(), BudgetSpec::KEYS.join(", "))]
    Unknown(String),
    #[error("`budget.{0}` must be an amount above 0, such as 0.50")]
    Amount(&'static str),
    #[error("`budget.{0}` must be a whole number of at least 1")]
    Count(&'static str),
}

/// The largest whole number below which all are exact in an `f64`.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl BudgetSpec {
    const KEYS: [&'static str; 5] =
        ["max_usd", "max_tokens", "max_turns", "max_tool_calls", "max_wall_s"];

    /// Takes the smaller of each limit.
    pub fn min(self, other: Self) -> Self {
        Self {
            max_usd: least(self.max_usd, other.max_usd),
            max_tokens: least(self.max_tokens, other.max_tokens),
            max_turns: least(self.max_turns, other.max_turns),
            max_tool_calls: least(self.max_tool_calls, other.max_tool_calls),
            max_wall_s: least(self.max_wall_s, other.max_wall_s),
        }
    }

    /// The limits of its account. Turns are counted per run.
    pub fn account(&self) -> Limits {
        Limits {
            usd: self.max_usd,
            tokens: self.max_tokens,
            turns: None,
            tool_calls: self.max_tool_calls,
            wall: self.max_wall_s.map(Duration::from_secs),
        }
    }

    /// Sets one limit by its name; a value that is not a number is `None`.
    ///
    /// # Errors
    /// If there is no such limit, or it would leave nothing to spend.
    pub fn set(&mut self, key: &str, value: Option<f64>) -> Result<(), BudgetError> {
        match key {
            "max_usd" => {
                let amount = value.filter(|amount| amount.is_finite() && *amount > 0.0);
                self.max_usd = Some(amount.ok_or(BudgetError::Amount("max_usd"))?);
            }
            "max_tokens" => self.max_tokens = Some(count("max_tokens", value)?),
            "max_turns" => self.max_turns = Some(count("max_turns", value)?),
            "max_tool_calls" => self.max_tool_calls = Some(count("max_tool_calls", value)?),
            "max_wall_s" => self.max_wall_s = Some(count("max_wall_s", value)?),
            other => return Err(BudgetError::Unknown(other.to_owned())),
        }
        Ok(())
    }
}

fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other < one { other } else { one }),
        (one, other) => one.or(other),
    }
}

fn count<T: TryFrom<u64>>(key: &'static str, value: Option<f64>) -> Result<T, BudgetError> {
    let whole = value.filter(|it| it.fract() == 0.0 && (1.0..=MAX_EXACT).contains(it));
    whole.and_then(|it| T::try_from(it as u64).ok()).ok_or(BudgetError::Count(key))
}

/// Written by hand, because every error must name its field: a model has to fix what it sent.
impl<'de> Deserialize<'de> for BudgetSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LimitsVisitor;

        impl<'de> Visitor<'de> for LimitsVisitor {
            type Value = BudgetSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a budget, an object with {}", BudgetSpec::KEYS.join(", "))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BudgetSpec, A::Error> {
                let mut spec = BudgetSpec::default();
                while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
                    let known = BudgetSpec::KEYS.contains(&key.as_str());
                    if !(known && value.is_null()) {
                        spec.set(&key, value.as_f64()).map_err(A::Error::custom)?;
                    }
                }
                Ok(spec)
            }
        }

        deserializer.deserialize_map(LimitsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<BudgetSpec, String> {
        BudgetSpec::deserialize(value).map_err(|error| error.to_string())
    }

    #[test]
    fn each_limit_is_read_and_null_is_none() {
        let all = json!({ "max_usd": 0.5, "max_tokens": 50_000, "max_turns": 3.0, "max_tool_calls": 4, "max_wall_s": 60 });
        let expected = BudgetSpec {
            max_usd: Some(0.5),
            max_tokens: Some(50_000),
            max_turns: Some(3),
            max_tool_calls: Some(4),
            max_wall_s: Some(60),
        };
        assert_eq!(read(all).unwrap(), expected);
        let none = read(json!({ "max_usd": null, "max_turns": null })).unwrap();
        assert_eq!(none, BudgetSpec::default());
    }

    #[test]
    fn what_leaves_nothing_to_spend_or_is_no_number_is_an_error_that_names_the_field() {
        let whole = "must be a whole number of at least 1";
        for key in ["max_tokens", "max_turns", "max_tool_calls", "max_wall_s"] {
            for wrong in [json!(0), json!(-1), json!(1.5), json!("3"), json!(1e300), json!([1])] {
                let error = read(json!({ key: wrong })).unwrap_err();
                assert_eq!(error, format!("`budget.{key}` {whole}"), "{wrong}");
            }
        }
        let error = read(json!({ "max_turns": 5_000_000_000_u64 })).unwrap_err();
        assert_eq!(error, format!("`budget.max_turns` {whole}"));
        for wrong in [json!(0), json!(-0.5), json!("1"), json!(true)] {
            let error = read(json!({ "max_usd": wrong })).unwrap_err();
            assert_eq!(error, "`budget.max_usd` must be an amount above 0, such as 0.50");
        }
        for unknown in [json!({ "usd": 1 }), json!({ "usd": null })] {
            assert_eq!(
                read(unknown).unwrap_err(),
                "unknown key `budget.usd`; allowed: max_usd, max_tokens, max_turns, max_tool_calls, max_wall_s"
            );
        }
        assert!(read(json!(5)).unwrap_err().contains("a budget, an object with max_usd"));
    }

    #[test]
    fn the_smaller_of_two_counts_field_by_field() {
        let one = BudgetSpec { max_usd: Some(1.0), max_turns: Some(5), ..BudgetSpec::default() };
        let other = BudgetSpec { max_usd: Some(0.5), max_wall_s: Some(9), ..one };
        let least = BudgetSpec { max_turns: Some(5), ..other };
        assert_eq!(one.min(other), least);
        assert_eq!(other.min(one), least);
        assert_eq!(one.min(BudgetSpec::default()), one);
    }

    #[test]
    fn the_schema_has_each_field_once_with_its_type() {
        let schema = schemars::schema_for!(BudgetSpec).to_value();
        let fields = schema["properties"].as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), BudgetSpec::KEYS);
        assert_eq!(fields["max_turns"]["type"][0], "integer");
        assert_eq!(fields["max_usd"]["type"][0], "number");
        assert_eq!(schema["additionalProperties"], false);
    }
}
