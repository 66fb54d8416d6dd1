//! The command line: clap types, nothing else.
