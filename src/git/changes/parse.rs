//! Reads git's text of a diff.

use crate::protocol::{ChangeKind, DiffText, FileChange, FileMode};

/// Reads a diff of several files. The last one of a cut diff may lack its end.
pub(super) fn parse_diff(text: &str, is_cut: bool) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    let mut in_hunks = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if let Some(names) = bare.strip_prefix("diff --git ") {
            let path = common_name(names);
            let (kind, diff) = (ChangeKind::Modified, String::new());
            let text = DiffText::Plain;
            files.push(FileChange { path, kind, diff, text, mode: None });
            in_hunks = false;
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        in_hunks |= bare.starts_with("@@");
        match in_hunks {
            true => file.diff.push_str(line),
            false => read_header(bare, file),
        }
    }
    if is_cut
        && let Some(last) = files.last_mut()
        && !last.diff.ends_with('\n')
    {
        let whole = last.diff.rfind('\n').map_or(0, |end| end + 1);
        last.diff.truncate(whole);
    }
    files
}

/// Takes what a line before the hunks says about its file.
fn read_header(line: &str, file: &mut FileChange) {
    let name = |text: &str, prefix: &str| {
        let text = text.trim_end_matches('\t');
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let text = quoted.unwrap_or(text);
        text.strip_prefix(prefix).unwrap_or(text).to_owned()
    };
    if let Some(mode) = line.strip_prefix("new file mode ") {
        (file.kind, file.mode) = (ChangeKind::Added, file_mode(mode));
    } else if let Some(mode) = line.strip_prefix("new mode ") {
        file.mode = file_mode(mode);
    } else if line.starts_with("deleted file mode ") {
        file.kind = ChangeKind::Deleted;
    } else if let Some(from) = line.strip_prefix("rename from ") {
        file.kind = ChangeKind::Renamed { from: name(from, "") };
    } else if let Some(to) = line.strip_prefix("rename to ") {
        file.path = name(to, "");
    } else if let Some(old) = line.strip_prefix("--- ").filter(|old| *old != "/dev/null") {
        file.path = name(old, "a/");
    } else if let Some(new) = line.strip_prefix("+++ ").filter(|new| *new != "/dev/null") {
        file.path = name(new, "b/");
    }
}

/// The name in `a/NAME b/NAME`, or all of it if the two differ.
fn common_name(names: &str) -> String {
    let half = names.len().saturating_sub(1) / 2;
    let (old, new) = (names.get(..half), names.get(half + 1..));
    let bare = |text: Option<&str>, prefix: &str| {
        let text = text?;
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        quoted.unwrap_or(text).strip_prefix(prefix).map(str::to_owned)
    };
    match (bare(old, "a/"), bare(new, "b/")) {
        (Some(old), Some(new)) if old == new => new,
        _ => names.to_owned(),
    }
}

/// Reads a mode as git prints it.
fn file_mode(mode: &str) -> Option<FileMode> {
    match mode.trim() {
        // Its diff is what it leads to.
        "120000" => Some(FileMode::Link { target: None }),
        "100755" => Some(FileMode::Executable),
        _ => None,
    }
}
