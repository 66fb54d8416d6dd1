//! The permission modes.

use serde::{Deserialize, Serialize};

/// How freely tools may act. Named as on the command line.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    schemars::JsonSchema,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
#[value(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Reads freely, asks for everything else.
    #[default]
    Default,
    /// Edits inside the working directories run without asking.
    AcceptEdits,
    /// Changes nothing: explores and plans.
    Plan,
    /// Denies whatever no rule allows, without asking.
    DontAsk,
    /// Runs everything that no rule denies.
    BypassPermissions,
}

impl PermissionMode {
    /// Returns the name as users write it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
