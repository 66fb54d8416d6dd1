//! Token prices, and how certain they are.

use serde::{Deserialize, Serialize};

use crate::protocol::{Cost, Usage};

/// US dollars per million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

impl Rates {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self { input: 0.0, output: 0.0, cache_write: 0.0, cache_read: 0.0 };

    /// Creates checked rates. Without cache prices, cached tokens cost the same as others.
    fn new(
        input: f64,
        output: f64,
        cache_write: Option<f64>,
        cache_read: Option<f64>,
    ) -> Result<Self, &'static str> {
        let cache_write = cache_write.unwrap_or(input);
        let cache_read = cache_read.unwrap_or(input);
        if [input, output, cache_write, cache_read].iter().all(|n| n.is_finite() && *n >= 0.0) {
            Ok(Self { input, output, cache_write, cache_read })
        } else {
            Err("a price must be 0 or more, in US dollars per million tokens")
        }
    }

    fn usd(&self, usage: Usage) -> f64 {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_creation_input_tokens, self.cache_write),
            (usage.cache_read_input_tokens, self.cache_read),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}

/// The price of one request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WirePrice")]
pub struct Price {
    pub rates: Rates,
    /// The rates of long requests, where they differ.
    pub long: Option<LongRates>,
}

/// The rates of requests with more than `above` input tokens, including cached ones. They apply to the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LongRates {
    pub above: u64,
    pub rates: Rates,
}

impl Price {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self { rates: Rates::FREE, long: None };

    /// Computes the cost of one request. The sum of several requests cannot be priced: the rates
    /// depend on the length of each.
    pub fn usd(&self, request: Usage) -> f64 {
        let input = request.context() - request.output_tokens;
        let long = self.long.filter(|long| input > long.above);
        long.map_or(self.rates, |long| long.rates).usd(request)
    }
}

/// The lowest and highest price in a family of models.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRange {
    pub least: Price,
    pub most: Price,
}

/// The known price of a model, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pricing {
    #[default]
    Unknown,
    Known(Price),
    /// The model itself is unknown; this is the range of its family. The highest price is charged.
    Family(PriceRange),
}

impl Pricing {
    /// Whether the price is unknown, so that no dollar budget can be enforced.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// Computes the cost of one request.
    pub fn cost(&self, request: Usage) -> Cost {
        match self {
            Self::Unknown => Cost::UNKNOWN,
            Self::Known(price) => Cost::known(price.usd(request)),
            Self::Family(range) => Cost::at_most(range.most.usd(request)),
        }
    }
}

/// A price as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePrice {
    input: f64,
    output: f64,
    cache_write: Option<f64>,
    cache_read: Option<f64>,
    long: Option<WireLong>,
}

/// The price of long requests as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireLong {
    above: u64,
    input: f64,
    output: f64,
    cache_write: Option<f64>,
    cache_read: Option<f64>,
}

impl TryFrom<WirePrice> for Price {
    type Error = &'static str;

    fn try_from(wire: WirePrice) -> Result<Self, Self::Error> {
        let WirePrice { input, output, cache_write, cache_read, long } = wire;
        let rates = Rates::new(input, output, cache_write, cache_read)?;
        let long = match long {
            None => None,
            Some(WireLong { above, input, output, cache_write, cache_read }) => {
                let rates = Rates::new(input, output, cache_write, cache_read)?;
                Some(LongRates { above, rates })
            }
        };
        Ok(Self { rates, long })
    }
}
