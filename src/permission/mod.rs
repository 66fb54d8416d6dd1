//! Permissions: rules, modes, and the gate that asks.
//!
//! [`judge`] is a pure function from rules, mode and call to allow, ask or deny, with the reason.
//! The [`Gate`] adds what changes while agents run: the mode, the grants of each agent, and the
//! questions waiting for the user. A call is judged by its effects ([`crate::protocol::Access`]),
//! never by which agent makes it.

mod agent_permissions;
mod base_dirs;
mod bounds;
mod call;
mod call_access;
mod danger;
mod doubt;
mod gate;
mod git_store;
mod interpreter;
mod judge;
mod lookalike;
mod mentions;
mod path;
mod pattern;
mod pattern_roots;
mod places;
mod program;
mod protected;
mod question;
mod read_only;
mod recursive;
mod rule;
mod rule_file;
mod script;
mod session_rules;
mod shell;
mod source;
mod spelling;
mod suggest;
mod unreadable;
mod variables;
mod wrapper;
mod writers;

pub use agent_permissions::{InheritedPermissions, ModePolicy};
pub use bounds::{ToolBounds, check as check_bound, entry_tool};
pub use call::{Call, HookAdvice};
pub use gate::agent::{AgentGate, GateDecision, QuestionDraft};
pub use gate::{BypassDisabledError, Gate, GateSettings};
pub use judge::{Decision, Judgement, Policy, judge};
pub use places::Places;
pub use protected::{ProtectedPlace, ProtectionReason};
pub use question::{AnswerError, Approval, Verdict};
pub use rule::{Rule, RuleBase, RuleError, RuleList, RuleOrigin, RuleSet};
pub use source::RuleSource;
pub use unreadable::UnreadableFiles;
