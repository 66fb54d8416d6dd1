//! Commands in, events out: owns the main agent of a session.
