//! Transcripts on disk: append-only, one file per agent, repaired at resume.
