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

const BUILT_IN_MODELS: &str = include_str!(concat!(env!("OUT_DIR"), "/models.json"));

/// Context window assumed for an unknown model, in tokens.
const DEFAULT_WINDOW: u64 = 200_000;
/// Output limit assumed for an unknown model, in tokens.
const DEFAULT_OUTPUT: u32 = 16_000;

/// The model catalogue. Cheap to clone; the built-in part is parsed on first use.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    user: Arc<ModelTable>,
    built_in: Arc<OnceLock<ModelTable>>,
}

/// Properties of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// Whether the catalogue lists the model itself. If not, the rest comes from its family or is a guess.
    pub known: bool,
    /// Size of the context window in tokens, including the answer.
    pub context_window: u64,
    /// Maximum tokens of one answer, including thinking.
    pub max_output: Option<u32>,
    /// Tokens of one answer unless the user sets a limit.
    pub default_output: u32,
    pub pricing: Pricing,
    /// Whether the catalogue says that the model reads no images.
    pub is_text_only: bool,
    /// How the model is asked to think.
    pub thinking: Thinking,
    /// The efforts that the model takes; `None` if unknown.
    pub effort: Option<Arc<EffortScale>>,
}

impl ModelInfo {
    /// Returns the cost of one request with this model.
    pub fn cost(&self, request: Usage) -> Cost {
        self.pricing.cost(request)
    }

    /// Returns the output limit to request; `wanted` is the user's.
    pub fn output_limit(&self, wanted: Option<u32>) -> u32 {
        let wanted = wanted.unwrap_or(self.default_output);
        self.max_output.map_or(wanted, |most| wanted.min(most))
    }

    /// Overrides how the model thinks and limits its efforts accordingly.
    pub fn override_thinking(&mut self, by: ThinkingOverride) {
        self.thinking = by.apply(self.thinking);
        self.effort = self.effort.take().map(|scale| Arc::new(by.limit_scale((*scale).clone())));
    }

    /// Translates the user's effort for the model. An effort that the model does not take is
    /// dropped; if the efforts are unknown, the user's is passed on.
    pub fn reasoning<'a>(&self, effort: Option<&'a str>) -> Reasoning<'a> {
        match (&self.effort, effort) {
            (Some(scale), Some(effort)) => scale.apply(self.thinking, effort),
            (None, effort) | (_, effort @ None) => Reasoning { thinking: self.thinking, effort },
        }
    }
}

/// An invalid `models.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", printable_path(file))]
pub struct ModelsError {
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// The error, and what is allowed.
    pub message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    #[serde(default)]
    models: BTreeMap<String, ModelEntry<Price>>,
    /// Entries for models that have none of their own, by the prefix of their names.
    #[serde(default)]
    families: BTreeMap<String, ModelEntry<PriceRange>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry<P> {
    context_window: Option<u64>,
    max_output: Option<u32>,
    default_output: Option<u32>,
    price: Option<P>,
    images: Option<bool>,
    thinking: Option<Thinking>,
    effort: Option<Arc<EffortScale>>,
}

impl<P> Default for ModelEntry<P> {
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            default_output: None,
            price: None,
            images: None,
            thinking: None,
            effort: None,
        }
    }
}

impl<P> ModelEntry<P> {
    fn merge_over(self, below: Self) -> Self {
        Self {
            context_window: self.context_window.or(below.context_window),
            max_output: self.max_output.or(below.max_output),
            default_output: self.default_output.or(below.default_output),
            price: self.price.or(below.price),
            images: self.images.or(below.images),
            thinking: self.thinking.or(below.thinking),
            effort: self.effort.or(below.effort),
        }
    }
}

impl ModelTable {
    /// Finds the model's entry, merged over that of its name without the date.
    fn find(&self, model: &str) -> Option<ModelEntry<Price>> {
        let undated = without_date(model).and_then(|name| self.models.get(name));
        [self.models.get(model), undated]
            .into_iter()
            .flatten()
            .cloned()
            .reduce(ModelEntry::merge_over)
    }
}

impl Catalogue {
    /// The built-in catalogue.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The built-in catalogue, overridden by the user's from `path`.
    pub fn with_user_models(text: &str, path: &Path) -> Result<Self, ModelsError> {
        let user = toml::from_str(text).map_err(|error| ModelsError {
            file: path.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        Ok(Self { user: Arc::new(user), ..Self::default() })
    }

    /// Looks up `model`, which may have a date suffix such as `-20251001`.
    pub fn get(&self, model: &str) -> ModelInfo {
        // Gemini's API puts this prefix before names.
        let model = model.strip_prefix("models/").unwrap_or(model);
        let own =
            [&*self.user, self.built_in_table()].into_iter().filter_map(|table| table.find(model));
        let own = own.reduce(ModelEntry::merge_over);
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
            context_window: window.unwrap_or(DEFAULT_WINDOW),
            max_output: own.max_output.or(family.max_output),
            default_output: default_output.unwrap_or(DEFAULT_OUTPUT),
            pricing,
            is_text_only: own.images.or(family.images) == Some(false),
            thinking: own.thinking.or(family.thinking).unwrap_or_default(),
            effort: own.effort.or(family.effort),
        }
    }

    /// Returns the entry of the longest family name that is a prefix of `model`.
    fn family(&self, model: &str) -> ModelEntry<PriceRange> {
        let tables = [&*self.user, self.built_in_table()];
        let names = tables.iter().flat_map(|table| table.families.keys());
        let Some(name) =
            names.filter(|name| is_in_family(model, name)).max_by_key(|name| name.len())
        else {
            return ModelEntry::default();
        };
        let entries = tables.iter().filter_map(|table| table.families.get(name).cloned());
        entries.reduce(ModelEntry::merge_over).unwrap_or_default()
    }

    /// Returns the full name of an alias such as `opus`; any other name is returned unchanged.
    pub fn resolve_alias<'a>(&'a self, name: &'a str) -> &'a str {
        let tables = [&*self.user, self.built_in_table()];
        tables.iter().find_map(|table| table.aliases.get(name)).map_or(name, String::as_str)
    }

    /// Returns aliases and their full names, sorted.
    pub fn aliases(&self) -> BTreeMap<&str, &str> {
        let tables = [self.built_in_table(), &*self.user];
        let pairs = tables.into_iter().flat_map(|table| &table.aliases);
        pairs.map(|(alias, name)| (alias.as_str(), name.as_str())).collect()
    }

    /// Returns the full names of all known models, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: BTreeSet<&str> = [self.built_in_table(), &*self.user]
            .iter()
            .flat_map(|table| table.models.keys())
            .map(String::as_str)
            .collect();
        names.into_iter()
    }

    fn built_in_table(&self) -> &ModelTable {
        // A test keeps the built-in file readable.
        self.built_in.get_or_init(|| serde_json::from_str(BUILT_IN_MODELS).unwrap_or_default())
    }
}

/// Whether `model` belongs to the family: `gpt-5.5` is of `gpt-5`, `gpt-50` is not.
fn is_in_family(model: &str, family: &str) -> bool {
    let rest = model.strip_prefix(family);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '@', ':']))
}

/// Strips a trailing date from `model`: eight digits after `-` or `@`, or `-2026-04-23`.
fn without_date(model: &str) -> Option<&str> {
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
