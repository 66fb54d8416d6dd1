//! The names that a word of a shell line stands for: its braces spelled out, and the files that its globs match.

use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

/// More spellings than this of one word are not looked at.
const MAX_SPELLINGS: usize = 256;

/// Every spelling of a word with braces, as in `{a,b}.txt`; the word itself when it has none.
pub fn braces(text: &str) -> Vec<String> {
    let mut spellings = vec![text.to_owned()];
    let mut at = 0;
    while at < spellings.len() {
        match alternatives(&spellings[at]) {
            Some(more) if spellings.len() + more.len() <= MAX_SPELLINGS => {
                spellings.splice(at..=at, more);
            }
            _ => at += 1,
        }
    }
    spellings
}

/// The spellings for the first group of braces with a comma in it.
fn alternatives(text: &str) -> Option<Vec<String>> {
    text.match_indices('{').find_map(|(open, _)| {
        let inside = &text[open + 1..];
        let (mut depth, mut start, mut parts) = (0_u32, 0, Vec::new());
        for (at, c) in inside.char_indices() {
            match c {
                '{' => depth += 1,
                ',' if depth == 0 => {
                    parts.push(&inside[start..at]);
                    start = at + 1;
                }
                '}' if depth == 0 => {
                    parts.push(&inside[start..at]);
                    let (before, after) = (&text[..open], &inside[at + 1..]);
                    let spell = |part: &&str| format!("{before}{part}{after}");
                    return (parts.len() > 1).then(|| parts.iter().map(spell).collect());
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        None
    })
}

/// The files and folders that an absolute path with globs matches, hidden ones too; none when it has no globs. At most
/// `most`.
pub fn globs(path: &Path, most: usize) -> Vec<PathBuf> {
    let has_glob = |part: &str| part.contains(['*', '?', '[']);
    if !path.to_str().is_some_and(has_glob) {
        return Vec::new();
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let name = part.as_os_str();
        found = match (part, name.to_str()) {
            (Component::Normal(_), Some(text)) if has_glob(text) => {
                found.iter().flat_map(|folder| matches(folder, text)).take(most).collect()
            }
            _ => found.into_iter().map(|folder| folder.join(name)).collect(),
        };
    }
    found
}

fn matches(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else {
        return Vec::new();
    };
    let matcher = glob.compile_matcher();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| matcher.is_match(entry.file_name()));
    named.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_spelled_out() {
        for (text, expected) in [
            ("a", &["a"][..]),
            (".{env,x}", &[".env", ".x"]),
            ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
            ("{a,{b,c}}", &["a", "b", "c"]),
            ("{a}{b,c}", &["{a}b", "{a}c"]),
            ("{}", &["{}"]),
            ("{,x}", &["", "x"]),
            ("a{b", &["a{b"]),
        ] {
            assert_eq!(braces(text), expected, "{text}");
        }
        assert!(braces(&"{a,b}".repeat(40)).len() <= MAX_SPELLINGS);
    }

    #[test]
    fn globs_match_what_is_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".env", "a.txt", "sub/b.txt"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |glob: &str| {
            let mut found = globs(&dir.path().join(glob), 100);
            found.sort();
            found.iter().map(|path| path.strip_prefix(dir.path()).unwrap().to_owned()).collect()
        };
        let none: Vec<PathBuf> = Vec::new();
        for (glob, expected) in [
            (".e*", vec![".env"]),
            ("?e[n]v", vec![".env"]),
            ("*/*.txt", vec!["sub/b.txt"]),
            ("*", vec![".env", "a.txt", "sub"]),
        ] {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            let found: Vec<PathBuf> = found(glob);
            assert_eq!(found, expected, "{glob}");
        }
        let plain: Vec<PathBuf> = found("a.txt");
        assert_eq!(plain, none);
    }
}
