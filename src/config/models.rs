//! The model catalogue: windows, limits, prices, thinking modes and efforts, as data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::protocol::{Cost, Usage, printable_path};

mod effort;
mod price;
#[cfg(test)]
mod tests;

pub use effort::{EffortScale, Reasoning, Thinking, ThinkingOverride};
pub use price::{LongRates, Price, PriceRange, Pricing, Rates};

const BUILT_IN: &str = include_str!("../../config/models.toml");

/// The window that a model nobody knows is taken to have, in tokens.
const ASSUMED_WINDOW: u64 = 200_000;
/// The room for an answer of a model nobody knows, in tokens.
const ASSUMED_OUTPUT: u32 = 16_000;

/// All that is known about models. Cheap to clone; the built-in part is read when it is first asked.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    user: Arc<Table>,
    built_in: Arc<OnceLock<Table>>,
}

/// What is known about one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// Whether the catalogue has the model itself. If not, all else is its family's, or a guess.
    pub known: bool,
    /// Tokens that a conversation may have, the answer included.
    pub context_window: u64,
    /// The most tokens that the model gives in one answer, thinking included.
    pub max_output: Option<u32>,
    /// Tokens that one answer may have unless the user says otherwise.
    pub default_output: u32,
    pub pricing: Pricing,
    /// How to ask the model to think.
    pub thinking: Thinking,
    /// The efforts that the model takes; `None` where nobody knows.
    pub effort: Option<Arc<EffortScale>>,
}

impl ModelInfo {
    /// What one request costs with this model.
    #[must_use]
    pub fn cost(&self, request: Usage) -> Cost {
        self.pricing.cost(request)
    }

    /// The most tokens to ask for in one answer, when the user wants so many.
    #[must_use]
    pub fn output_limit(&self, wanted: Option<u32>) -> u32 {
        let wanted = wanted.unwrap_or(self.default_output);
        self.max_output.map_or(wanted, |most| wanted.min(most))
    }

    /// Changes how the model thinks, and what an effort may make of that.
    pub fn override_thinking(&mut self, by: ThinkingOverride) {
        self.thinking = by.apply(self.thinking);
        self.effort = self.effort.take().map(|scale| Arc::new(by.limit((*scale).clone())));
    }

    /// Puts the user's effort into the model's terms. One that the model does not take is left out;
    /// of a model whose efforts nobody knows, the user knows better.
    #[must_use]
    pub fn reasoning<'a>(&self, effort: Option<&'a str>) -> Reasoning<'a> {
        match (&self.effort, effort) {
            (Some(scale), Some(effort)) => scale.apply(self.thinking, effort),
            (None, effort) | (_, effort @ None) => Reasoning { thinking: self.thinking, effort },
        }
    }
}

/// A `models.toml` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", printable_path(file))]
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
    models: BTreeMap<String, Entry<Price>>,
    /// What holds for models without an entry of their own, by how their names begin.
    #[serde(default)]
    families: BTreeMap<String, Entry<PriceRange>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<P> {
    context_window: Option<u64>,
    max_output: Option<u32>,
    default_output: Option<u32>,
    price: Option<P>,
    thinking: Option<Thinking>,
    effort: Option<Arc<EffortScale>>,
}

impl<P> Default for Entry<P> {
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            default_output: None,
            price: None,
            thinking: None,
            effort: None,
        }
    }
}

impl<P> Entry<P> {
    fn or(self, below: Self) -> Self {
        Self {
            context_window: self.context_window.or(below.context_window),
            max_output: self.max_output.or(below.max_output),
            default_output: self.default_output.or(below.default_output),
            price: self.price.or(below.price),
            thinking: self.thinking.or(below.thinking),
            effort: self.effort.or(below.effort),
        }
    }
}

impl Table {
    /// The model's own entry over that of the name without its date.
    fn find(&self, model: &str) -> Option<Entry<Price>> {
        let undated = undated(model).and_then(|name| self.models.get(name));
        [self.models.get(model), undated].into_iter().flatten().cloned().reduce(Entry::or)
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
        // Gemini's API itself puts this folder before a name.
        let model = model.strip_prefix("models/").unwrap_or(model);
        let own = [&*self.user, self.table()].into_iter().filter_map(|table| table.find(model));
        let own = own.reduce(Entry::or);
        let family = self.family(model);
        let known = own.is_some();
        let own = own.unwrap_or_default();
        let pricing = match (own.price, family.price) {
            (Some(price), _) => Pricing::Known(price),
            (None, Some(range)) => Pricing::Family(range),
            (None, None) => Pricing::Unknown,
        };
        let window = own.context_window.or(family.context_window);
        let default_output = own.default_output.or(family.default_output);
        ModelInfo {
            known,
            context_window: window.unwrap_or(ASSUMED_WINDOW),
            max_output: own.max_output.or(family.max_output),
            default_output: default_output.unwrap_or(ASSUMED_OUTPUT),
            pricing,
            thinking: own.thinking.or(family.thinking).unwrap_or_default(),
            effort: own.effort.or(family.effort),
        }
    }

    /// The family with the longest name that `model` begins with.
    fn family(&self, model: &str) -> Entry<PriceRange> {
        let tables = [&*self.user, self.table()];
        let names = tables.iter().flat_map(|table| table.families.keys());
        let Some(name) = names.filter(|name| is_of(model, name)).max_by_key(|name| name.len())
        else {
            return Entry::default();
        };
        let entries = tables.iter().filter_map(|table| table.families.get(name).cloned());
        entries.reduce(Entry::or).unwrap_or_default()
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

/// Whether `model` begins with the family's name, as a whole: `gpt-5.5` is of `gpt-5`, `gpt-50` is not.
fn is_of(model: &str, family: &str) -> bool {
    let rest = model.strip_prefix(family);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '@']))
}

/// `model` without the date at its end: eight digits after `-` or `@`, or `-2026-04-23`.
fn undated(model: &str) -> Option<&str> {
    let number = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (name, date) = model.rsplit_once(['-', '@'])?;
    if number(date, 8) {
        return Some(name);
    }
    let (name, month) = name.rsplit_once('-').filter(|_| number(date, 2))?;
    let (name, year) = name.rsplit_once('-').filter(|_| number(month, 2))?;
    number(year, 4).then_some(name)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
