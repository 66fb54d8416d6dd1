//! The model catalogue: windows, limits, prices and thinking modes, as data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::protocol::{Cost, Usage};

const BUILT_IN: &str = include_str!("../../config/models.toml");

/// The window that a model nobody knows is taken to have, in tokens.
const ASSUMED_WINDOW: u64 = 200_000;

/// All that is known about models. Cheap to clone; the built-in part is read when it is first asked.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    user: Arc<Table>,
    built_in: Arc<OnceLock<Table>>,
}

/// What is known about one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModelInfo {
    /// Whether the catalogue has the model. If not, the window is a guess.
    pub known: bool,
    /// Tokens that a conversation may have, the answer included.
    pub context_window: u64,
    /// Tokens that one answer may have, thinking included.
    pub max_output: Option<u32>,
    pub price: Option<Price>,
    /// How to ask the model to think.
    pub thinking: Thinking,
}

impl ModelInfo {
    /// What `usage` costs with this model.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> Cost {
        self.price.map_or(Cost::UNKNOWN, |price| price.cost(usage))
    }
}

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Nothing is said about it.
    #[default]
    Off,
    /// The model decides; a summary of its thoughts is asked for.
    Adaptive,
    /// The model is told not to think, as it would by default.
    Disabled,
    /// Older models: a fixed budget of thinking tokens.
    Budget(u32),
}

/// How the command line changes the way models think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOverride {
    /// As the catalogue says.
    Adaptive,
    Disabled,
    /// At most so many tokens, where a model takes a number.
    Tokens(u32),
}

impl Thinking {
    /// Whether a summary of thoughts is of use.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Adaptive | Self::Budget(_))
    }
}

impl ThinkingOverride {
    /// The way a model thinks that the catalogue describes like this. A model that cannot think is not made to.
    #[must_use]
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
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WirePrice")]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

impl Price {
    /// What `usage` costs.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> Cost {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_creation_input_tokens, self.cache_write),
            (usage.cache_read_input_tokens, self.cache_read),
        ];
        let sum: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        Cost::known(sum / 1e6)
    }
}

/// A price as it is written: without cache prices, cached tokens cost what others do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePrice {
    input: f64,
    output: f64,
    cache_write: Option<f64>,
    cache_read: Option<f64>,
}

impl TryFrom<WirePrice> for Price {
    type Error = &'static str;

    fn try_from(wire: WirePrice) -> Result<Self, Self::Error> {
        let WirePrice { input, output, cache_write, cache_read } = wire;
        let cache_write = cache_write.unwrap_or(input);
        let cache_read = cache_read.unwrap_or(input);
        if [input, output, cache_write, cache_read].iter().all(|n| n.is_finite() && *n >= 0.0) {
            Ok(Self { input, output, cache_write, cache_read })
        } else {
            Err("a price must be 0 or more, in US dollars per million tokens")
        }
    }
}

/// A `models.toml` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct ModelsError {
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    #[serde(default)]
    models: BTreeMap<String, Entry>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    context_window: Option<u64>,
    max_output: Option<u32>,
    price: Option<Price>,
    thinking: Option<Thinking>,
}

impl Entry {
    fn or(self, below: Self) -> Self {
        Self {
            context_window: self.context_window.or(below.context_window),
            max_output: self.max_output.or(below.max_output),
            price: self.price.or(below.price),
            thinking: self.thinking.or(below.thinking),
        }
    }
}

impl Table {
    /// The model's own entry over that of the name without its date.
    fn find(&self, model: &str) -> Option<Entry> {
        let undated = undated(model).and_then(|name| self.models.get(name));
        match (self.models.get(model), undated) {
            (Some(own), Some(base)) => Some(own.or(*base)),
            (own, base) => own.or(base).copied(),
        }
    }
}

impl Catalogue {
    /// The catalogue that comes with the program.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The built-in catalogue under the one of a person, read from `path`. What that file leaves out stays.
    pub fn with_user(text: &str, path: &Path) -> Result<Self, ModelsError> {
        let user = toml::from_str(text).map_err(|error| ModelsError {
            file: path.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        Ok(Self { user: Arc::new(user), ..Self::default() })
    }

    /// What is known about `model`, which may carry a date, such as `-20251001`.
    #[must_use]
    pub fn get(&self, model: &str) -> ModelInfo {
        let (user, built_in) = (self.user.find(model), self.table().find(model));
        let known = user.is_some() || built_in.is_some();
        let entry = user.unwrap_or_default().or(built_in.unwrap_or_default());
        ModelInfo {
            known,
            context_window: entry.context_window.unwrap_or(ASSUMED_WINDOW),
            max_output: entry.max_output,
            price: entry.price,
            thinking: entry.thinking.unwrap_or_default(),
        }
    }

    /// The full name that a short one such as `opus` stands for; any other name stands for itself.
    #[must_use]
    pub fn resolve_alias<'a>(&'a self, name: &'a str) -> &'a str {
        let tables = [&*self.user, self.table()];
        tables.iter().find_map(|table| table.aliases.get(name)).map_or(name, String::as_str)
    }

    /// Short names and the full names that they stand for, sorted.
    #[must_use]
    pub fn aliases(&self) -> BTreeMap<&str, &str> {
        let tables = [self.table(), &*self.user];
        let pairs = tables.into_iter().flat_map(|table| &table.aliases);
        pairs.map(|(alias, name)| (alias.as_str(), name.as_str())).collect()
    }

    /// The full names of all models that are known, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: BTreeSet<&str> = [self.table(), &*self.user]
            .iter()
            .flat_map(|table| table.models.keys())
            .map(String::as_str)
            .collect();
        names.into_iter()
    }

    fn table(&self) -> &Table {
        // A test keeps the built-in file readable.
        self.built_in.get_or_init(|| toml::from_str(BUILT_IN).unwrap_or_default())
    }
}

/// `model` without `-` or `@` and eight digits at its end.
fn undated(model: &str) -> Option<&str> {
    let (name, date) = model.rsplit_once(['-', '@'])?;
    (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Catalogue, ModelsError> {
        Catalogue::with_user(text, Path::new("models.toml"))
    }

    #[test]
    fn the_built_in_file_is_readable_and_whole() {
        let table: Table = toml::from_str(BUILT_IN).unwrap();
        assert!(!table.models.is_empty());
        for (name, entry) in &table.models {
            let window = entry.context_window.unwrap();
            assert!(u64::from(entry.max_output.unwrap()) < window, "{name}");
            assert!(entry.thinking.is_some(), "{name}");
            assert!(entry.price.is_some() || !name.starts_with("claude-"), "{name}");
        }
        for (alias, name) in &table.aliases {
            assert!(table.models.contains_key(name), "{alias}");
        }
    }

    #[test]
    fn dated_names_are_their_base_names_and_others_are_unknown() {
        let catalogue = Catalogue::built_in();
        let haiku = catalogue.get("claude-haiku-4-5");
        assert!(haiku.known && haiku.context_window == 200_000 && haiku.max_output == Some(64_000));
        assert!(matches!(haiku.thinking, Thinking::Budget(1024..)));
        assert_eq!(catalogue.get("claude-haiku-4-5-20251001"), haiku);
        assert_eq!(catalogue.get("claude-haiku-4-5@20251001"), haiku);
        for name in ["claude-opus-5-5", "claude-haiku-4-5-2025100", "llama3", "20251001", ""] {
            let info = catalogue.get(name);
            let expected = ModelInfo {
                known: false,
                context_window: 200_000,
                max_output: None,
                price: None,
                thinking: Thinking::Off,
            };
            assert_eq!(info, expected, "{name}");
        }
    }

    #[test]
    fn short_names_stand_for_full_ones() {
        let catalogue = with("aliases.opus = 'my-opus'").unwrap();
        let table = [
            ("opus", "my-opus"),
            ("sonnet", "claude-sonnet-5"),
            ("haiku", "claude-haiku-4-5"),
            ("fable", "claude-fable-5"),
            ("Opus", "Opus"),
            ("llama3", "llama3"),
        ];
        for (alias, name) in table {
            assert_eq!(catalogue.resolve_alias(alias), name);
        }
        assert_eq!(catalogue.aliases()["opus"], "my-opus");
    }

    #[test]
    fn cost_counts_each_kind_of_token_at_its_price() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_read_input_tokens: 2_000_000,
            cache_creation_input_tokens: 10_000,
        };
        let catalogue = Catalogue::built_in();
        let cost = catalogue.get("claude-opus-5").cost(usage);
        assert!((cost.usd - (5.0 + 2.5 + 1.0 + 0.0625)).abs() < 1e-9, "{cost:?}");
        assert!(!cost.incomplete);
        assert_eq!(catalogue.get("llama3").cost(usage), Cost::UNKNOWN);
    }

    #[test]
    fn a_person_changes_single_fields_and_adds_models() {
        let text = "
            [models.claude-opus-5]
            context_window = 150_000
            [models.claude-haiku-4-5-20251001]
            max_output = 9
            [models.llama3]
            price = { input = 1, output = 2 }
            thinking = { budget = 2_000 }
        ";
        let catalogue = with(text).unwrap();
        let built_in = Catalogue::built_in().get("claude-opus-5");
        assert_eq!(
            catalogue.get("claude-opus-5"),
            ModelInfo { context_window: 150_000, ..built_in }
        );
        let haiku = catalogue.get("claude-haiku-4-5-20251001");
        assert_eq!((haiku.max_output, haiku.context_window), (Some(9), 200_000));
        let llama = catalogue.get("llama3");
        assert_eq!((llama.known, llama.thinking), (true, Thinking::Budget(2000)));
        let price = Price { input: 1.0, output: 2.0, cache_write: 1.0, cache_read: 1.0 };
        assert_eq!(llama.price, Some(price));
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_is_allowed() {
        let error = with("\n[models.x]\nwindow = 5\n").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.to_string().starts_with("models.toml:3: unknown field `window`"), "{error}");
        assert!(error.message.contains("context_window"), "{error}");
        let mistakes = [
            "models.x.price = { input = -1, output = 2 }",
            "models.x.thinking = 'hard'",
            "models =",
        ];
        for text in mistakes {
            assert_eq!(with(text).unwrap_err().line, 1, "{text}");
        }
    }
}
