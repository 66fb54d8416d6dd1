//! The lines in which two texts differ, as a unified diff.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{
    Algorithm, ChangeTag, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops,
};

/// Time limit for an exact diff; after it, a coarser one will do.
const DIFF_TIMEOUT: Duration = Duration::from_millis(300);

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// The lines of two texts, each with its line end, and the steps from one text to the other.
///
/// Compares slices of `&str`, as the word diff of the screen does: every other type would add
/// the whole algorithm to the program once more.
#[derive(Debug)]
pub struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    ops: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// Compares two texts, coarsely if that takes long.
    pub fn new(old: &'a str, new: &'a str) -> Self {
        let lines = |text: &'a str| text.split_inclusive('\n').collect::<Vec<_>>();
        let (old, new) = (lines(old), lines(new));
        let deadline = Some(Instant::now() + DIFF_TIMEOUT);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
        Self { old, new, ops }
    }

    /// Returns the steps that change a line.
    pub fn changes(&self) -> impl Iterator<Item = &DiffOp> {
        self.ops.iter().filter(|op| op.tag() != DiffTag::Equal)
    }

    /// Returns the changes as passages of a unified diff, with three lines around each.
    pub fn hunks(&self) -> impl Iterator<Item = Hunk<'_>> {
        let groups = group_diff_ops(self.ops.clone(), CONTEXT_LINES).into_iter();
        groups.filter(|ops| !ops.is_empty()).map(|ops| Hunk { diff: self, ops })
    }
}

/// A passage of a unified diff.
#[derive(Debug)]
pub struct Hunk<'a> {
    diff: &'a LineDiff<'a>,
    ops: Vec<DiffOp>,
}

impl fmt::Display for Hunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = |range: fn(&DiffOp) -> Range<usize>| {
            let (first, last) = (self.ops.first().map(range), self.ops.last().map(range));
            first.unwrap_or_default().start..last.unwrap_or_default().end
        };
        let (old, new) = (span(DiffOp::old_range), span(DiffOp::new_range));
        writeln!(f, "@@ -{} +{} @@", HunkRange(&old), HunkRange(&new))?;
        let LineDiff { old, new, .. } = self.diff;
        for change in self.ops.iter().flat_map(|op| op.iter_changes(old.as_slice(), new.as_slice()))
        {
            let (sign, line) = match change.tag() {
                ChangeTag::Equal => (' ', change.value()),
                ChangeTag::Delete => ('-', change.value()),
                ChangeTag::Insert => ('+', change.value()),
            };
            write!(f, "{sign}{line}")?;
            if !line.ends_with('\n') {
                f.write_str("\n\\ No newline at end of file\n")?;
            }
        }
        Ok(())
    }
}

/// The lines of a hunk in one of the texts, as its head says it: `12,3`.
struct HunkRange<'a>(&'a Range<usize>);

impl fmt::Display for HunkRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "{}", self.0.start + 1),
            // Before the first line of nothing stands the line above it.
            0 => write!(f, "{},0", self.0.start),
            lines => write!(f, "{},{lines}", self.0.start + 1),
        }
    }
}
