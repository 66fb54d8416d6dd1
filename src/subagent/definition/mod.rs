//! The definition of a sub-agent: a Markdown file with front matter and the prompt as its body, or
//! the same keys as JSON on the command line.

mod advice;
mod budget;
mod change;
mod fields;
pub(super) mod flag;
mod keys;
mod name;
mod reader;
mod servers;
mod source;
#[cfg(test)]
mod tests;

pub use budget::{BudgetError, BudgetSpec};
pub use fields::{
    Definition, DefinitionFormat, DefinitionTrust, Isolation, MemoryScope, ParsedDefinition,
    ReturnMode,
};
pub use source::{DefinitionError, DefinitionErrors, DefinitionSource, NamedServer};

pub(super) use name::tool_name;
