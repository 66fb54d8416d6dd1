//! What may run: rules, modes, and the gate that asks.
//!
//! [`judge`] is a pure function from rules, mode and call to allow, ask or deny, with the reason.
//! The [`Gate`] adds what changes while agents run: the mode, the grants of each agent, and the
//! questions that wait for a person. A call is judged by what it would touch
//! ([`crate::protocol::Access`]), never by which agent makes it.

mod bases;
mod bounds;
mod danger;
mod facts;
mod gate;
mod git_store;
mod judge;
mod lookalike;
mod mentions;
mod path;
mod pattern;
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
mod standing;
mod starts;
mod suggest;
mod variables;
mod wrapper;
mod writers;

pub use bounds::{Bounds, check as check_bound, tool_of};
pub use gate::{AgentGate, BeforeQuestion, BypassDisabled, Gate, GateSettings, Verdict};
pub use judge::{Advice, Call, Decision, Judgement, Policy, judge};
pub use path::Places;
pub use protected::{ProtectedPlace, Reason};
pub use question::{AnswerError, Approval};
pub use rule::{Base, List, Origin, Rule, RuleError, RuleSet};
pub use source::RuleSource;
pub use standing::{ModeOf, Rights};
