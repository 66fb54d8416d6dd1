//! Child processes: their group, their output, their end.
