//! Sub-agents: a tool whose body is another agent's loop.
