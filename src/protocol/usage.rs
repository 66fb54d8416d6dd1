//! Tokens and money, as providers report them and budgets add them up.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of one or more requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to the cache.
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    /// Prompt tokens served from the provider's cache.
    #[serde(default)]
    pub cache_read_input_tokens: u64,
    /// Prompt tokens written to the provider's cache.
    #[serde(default)]
    pub cache_creation_input_tokens: u64,
}

impl Usage {
    /// Returns the tokens that a budget counts: input, output and cache writes; cache reads are shown separately.
    pub fn counted(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_creation_input_tokens
    }

    /// Returns how much of the model's window the conversation fills after this request.
    pub fn context(&self) -> u64 {
        self.counted() + self.cache_read_input_tokens
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// A sum of money in US dollars, some of whose parts may have no known price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The sum of the parts whose price is known.
    pub usd: f64,
    /// Whether some part had no price, so that the real sum is higher.
    pub incomplete: bool,
    /// Whether some part was counted at its upper bound, so that the real sum may be lower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Cost {
    /// A part without a known price.
    pub const UNKNOWN: Self = Self { usd: 0.0, incomplete: true, estimated: false };

    /// A known price.
    pub fn known(usd: f64) -> Self {
        Self { usd, incomplete: false, estimated: false }
    }

    /// An upper bound.
    pub fn at_most(usd: f64) -> Self {
        Self { usd, incomplete: false, estimated: true }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.usd += other.usd;
        self.incomplete |= other.incomplete;
        self.estimated |= other.estimated;
    }
}
