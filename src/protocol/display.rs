//! Settings of the screen, as the configuration names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the terminal notifies the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationMethod {
    /// In the way that suits the terminal.
    #[default]
    Auto,
    Off,
    Bell,
    Osc9,
    Osc99,
    Osc777,
}

/// Where sub-agents are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PaneLayout {
    // Depends on the size of the screen.
    #[default]
    Auto,
    Right,
    Below,
    Rows,
}

/// How much moves on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MotionMode {
    #[default]
    Full,
    // No spinner, text twice a second, clocks every ten seconds.
    Reduced,
}
