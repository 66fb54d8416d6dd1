//! The composition root: configuration in, a running program out. The only file that sees everything.
