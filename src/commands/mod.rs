//! Commands (`/name` in a prompt) and skills (loaded by models) that users write. A command is a
//! Markdown file, a skill a folder with a `SKILL.md`.

mod def;
mod expand;
mod folder;
mod reader;
mod set;
mod skill_tool;
mod sources;
#[cfg(test)]
mod tests;

pub use def::{CommandDef, CommandError, CommandOrigin, CommandProblem};
pub use expand::Expansion;
pub use set::CommandSet;
pub use skill_tool::{SKILL_TOOL, skill_tool};
pub use sources::CommandSources;
