//! How alike two names are, to propose the one that was meant.

use similar::{Algorithm, capture_diff_slices, diff_ratio};

/// Returns how alike two names are, from 0 to 1.
pub fn likeness(one: &str, other: &str) -> f32 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let changes = capture_diff_slices(Algorithm::Myers, &one, &other);
    diff_ratio(&changes, one.len(), other.len())
}
