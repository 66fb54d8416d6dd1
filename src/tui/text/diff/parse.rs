//! The lines of a unified diff: hunks, changed lines with their numbers, and notes.

/// One line of a diff's body.
pub(super) struct ChangedLine<'a> {
    pub sign: char,
    pub number: usize,
    pub text: &'a str,
}

/// The lines of a diff. A carriage return at the end belongs to the line end if all lines of the file have
/// one; else it is a part of what differs.
pub(super) fn source_lines(diff: &str) -> impl Iterator<Item = &str> + Clone {
    let is_content = |line: &&str| line.starts_with(['+', '-', ' ']);
    let mut content = diff.split_terminator('\n').filter(is_content);
    let is_part = content.any(|line| !line.ends_with('\r'));
    diff.split_terminator('\n').map(move |line| match is_part {
        true => line,
        false => line.strip_suffix('\r').unwrap_or(line),
    })
}

/// Counts the added and the removed lines of a unified diff.
pub fn count_changes(diff: &str) -> (usize, usize) {
    let mut position = DiffPosition::default();
    let (mut added, mut removed) = (0, 0);
    for line in source_lines(diff) {
        if let DiffLineKind::Change(change) = position.read(line) {
            added += usize::from(change.sign == '+');
            removed += usize::from(change.sign == '-');
        }
    }
    (added, removed)
}

/// The kind of a line in a diff.
pub(super) enum DiffLineKind<'a> {
    Nothing,
    Hunk { first: bool },
    Change(ChangedLine<'a>),
    Note,
}

/// The current position in both files.
#[derive(Default)]
pub(super) struct DiffPosition {
    old: usize,
    new: usize,
    /// Remaining lines of the hunk, so that a removed line `-- x` is not mistaken for a file name.
    old_left: usize,
    new_left: usize,
    hunks: usize,
}

impl DiffPosition {
    pub(super) fn read<'a>(&mut self, line: &'a str) -> DiffLineKind<'a> {
        if let Some(hunk) = Hunk::parse(line) {
            (self.old, self.old_left) = hunk.old;
            (self.new, self.new_left) = hunk.new;
            self.hunks += 1;
            return DiffLineKind::Hunk { first: self.hunks == 1 };
        }
        if self.old_left == 0 && self.new_left == 0 {
            // Names of files stand only before the first hunk: after it, nothing is left out.
            return match self.hunks {
                0 => DiffLineKind::Nothing,
                _ => DiffLineKind::Note,
            };
        }
        let (sign, text) = match line.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => (sign, &line[1..]),
            Some('\\' | '…') => return DiffLineKind::Note,
            // Some writers drop the space of an empty line.
            _ => (' ', line),
        };
        let number = if sign == '-' { self.old } else { self.new };
        if sign != '+' {
            self.old += 1;
            self.old_left = self.old_left.saturating_sub(1);
        }
        if sign != '-' {
            self.new += 1;
            self.new_left = self.new_left.saturating_sub(1);
        }
        DiffLineKind::Change(ChangedLine { sign, number, text })
    }
}

/// The start and the length of a hunk in both files.
struct Hunk {
    old: (usize, usize),
    new: (usize, usize),
}

impl Hunk {
    /// Reads `@@ -1,7 +1,9 @@`.
    fn parse(line: &str) -> Option<Self> {
        let ranges = line.strip_prefix("@@ -")?;
        let (ranges, _) = ranges.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        Some(Self { old: parse_range(old)?, new: parse_range(new)? })
    }
}

fn parse_range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

pub(super) fn max_line_number(diff: &str) -> usize {
    let hunks = diff.lines().filter_map(Hunk::parse);
    hunks
        .map(|hunk| {
            (hunk.old.0.saturating_add(hunk.old.1)).max(hunk.new.0.saturating_add(hunk.new.1))
        })
        .max()
        .unwrap_or(1)
}
