//! Permissions: rules, modes, and the gate that asks.
//!
//! [`judge`] is a pure function from rules, mode and call to allow, ask or deny, with the reason.
//! The [`Gate`] adds what changes while agents run: the mode, the grants of each agent, and the
//! questions waiting for the user. A call is judged by its effects ([`crate::protocol::Access`]),
//! never by which agent makes it.

mod agent_permissions;
mod base_dirs;
mod bounds;
mod call_access;
mod danger;
mod gate;
mod git_store;
mod judge;
mod lookalike;
mod mentions;
mod path;
mod pattern;
mod pattern_roots;
mod program;
mod protected;
mod question;
mod read_only;
mod recursive;
mod restriction;
mod rule;
mod rule_file;
mod script;
mod session_rules;
mod shell;
mod source;
mod spelling;
mod suggest;
mod variables;
mod wrapper;
mod writers;

pub use agent_permissions::{InheritedPermissions, ModePolicy};
pub use bounds::{ToolBounds, check as check_bound, entry_tool};
pub use gate::{
    AgentGate, BypassDisabledError, Gate, GateDecision, GateSettings, QuestionDraft, Verdict,
};
pub use judge::{Call, Decision, HookAdvice, Judgement, Policy, judge};
pub use path::Places;
pub use protected::{ProtectedPlace, ProtectionReason};
pub use question::{AnswerError, Approval};
pub use rule::{Rule, RuleBase, RuleError, RuleList, RuleOrigin, RuleSet};
pub use source::RuleSource;
