//! The loop: ask the model, run the tools it asked for, repeat.
