//! Changed files as lines: for each its name, what happened to it, and its diff.

use std::path::Path;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::protocol::{ChangeKind, DiffText, FileChange, FileMode, WorkingTreeChanges};
use crate::tui::format::count;
use crate::tui::text::{
    DiffFile, Highlighter, count_changes, reveal_line, truncate_line, whole_diff,
};
use crate::tui::theme::Theme;

/// The most lines of diffs on a page.
const MAX_LINES: usize = 20_000;

/// The lines of a page about changes.
pub fn change_lines(
    changes: &WorkingTreeChanges,
    width: u16,
    highlighter: &Highlighter,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let WorkingTreeChanges { files, is_cut } = changes;
    if files.is_empty() {
        return vec![Line::styled("nothing has changed since the last commit", theme.dim)];
    }
    let counts: Vec<_> = files.iter().map(|file| count_changes(&file.diff)).collect();
    let (added, removed) =
        counts.iter().fold((0, 0), |sum, change| (sum.0 + change.0, sum.1 + change.1));
    let mut summary = vec![Span::styled(count(files.len(), "file"), theme.text)];
    summary.extend(signed(added, removed, theme));
    let mut lines = vec![Line::from(summary)];
    let mut hidden = 0;
    for (file, (added, removed)) in files.iter().zip(counts) {
        if lines.len() > MAX_LINES {
            hidden += 1;
            continue;
        }
        lines.push(Line::default());
        lines.push(truncate_line(title(file, added, removed, theme), usize::from(width)));
        let path = Path::new(&file.path);
        let code = Some(DiffFile { path, highlighter });
        lines.extend(whole_diff(&file.diff, code, width, theme));
    }
    if hidden > 0 || *is_cut {
        let more = match hidden {
            0 => "more changes are not shown".to_owned(),
            hidden => format!("{} more", count(hidden, "file")),
        };
        lines.extend([
            Line::default(),
            Line::styled(format!("… {more} · git diff HEAD shows all"), theme.dim),
        ]);
    }
    lines
}

fn title(file: &FileChange, added: usize, removed: usize, theme: &Theme) -> Line<'static> {
    let revealed = |text: &str| reveal_line(&theme.glyphs.number(text));
    let name = revealed(&file.path);
    let mut spans = vec![Span::styled(name, theme.text.add_modifier(Modifier::BOLD))];
    let note = match &file.kind {
        ChangeKind::Modified => String::new(),
        ChangeKind::Added => "new".to_owned(),
        ChangeKind::Deleted => "deleted".to_owned(),
        ChangeKind::Renamed { from } => format!("renamed from {}", revealed(from)),
        ChangeKind::Untracked => "untracked".to_owned(),
    };
    if !note.is_empty() {
        spans.push(Span::styled(format!("  {note}"), theme.dim));
    }
    let (mode, says_all) = match &file.mode {
        None => (String::new(), false),
        Some(FileMode::Executable) => ("  executable".to_owned(), false),
        Some(FileMode::Link { target: None }) => ("  a link".to_owned(), true),
        Some(FileMode::Link { target: Some(target) }) => {
            (format!("  a link to {}", revealed(target)), true)
        }
    };
    spans.push(Span::styled(mode, theme.question));
    if (added, removed) == (0, 0) && !says_all && !matches!(file.kind, ChangeKind::Renamed { .. }) {
        spans.push(Span::styled("  no text to compare", theme.dim));
    }
    let text = match file.text {
        DiffText::Plain => "",
        DiffText::OnDisk => "  as on disk, git stores other bytes",
        DiffText::Stored => "  as git stores it, the file has other bytes",
    };
    spans.push(Span::styled(text, theme.question));
    spans.extend(signed(added, removed, theme));
    Line::from(spans)
}

/// Counts of lines, such as `  +3 −1`, without zeros.
fn signed(added: usize, removed: usize, theme: &Theme) -> Vec<Span<'static>> {
    let counts = [(added, "  +", theme.good), (removed, "  −", theme.bad)];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    counts.map(|(count, sign, style)| Span::styled(format!("{sign}{count}"), style)).collect()
}
