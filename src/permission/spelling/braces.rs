//! Brace expansion.

use super::quotes::after;

/// Maximum alternatives; with more, a word with braces is open.
pub const MAX_ALTERNATIVES: usize = 64;
/// Longer words are open, and longer lines get no rough reading. Characters.
pub const MAX_WORD: usize = 2048;
/// Stands for `Piece::Limit` in a word that is still quoted. No word of a line can contain it.
pub const LIMIT: char = '\0';

/// The words that braces make of one, still quoted.
pub fn expand(text: Vec<char>, room: &mut usize) -> Vec<Vec<char>> {
    if *room == 0 || text.len() > MAX_WORD {
        return vec![vec![LIMIT]];
    }
    let Some((start, end, commas)) = group(&text) else {
        *room -= 1;
        return vec![text];
    };
    let with = |inner: &[char]| [&text[..start], inner, &text[end + 1..]].concat();
    if commas.is_empty() {
        // A long range stays open.
        let values = range(&text[start + 1..end]).unwrap_or_else(|| vec![vec!['$', '@']]);
        let mut all = Vec::new();
        for value in values {
            if *room == 0 {
                all.push(vec![LIMIT]);
                break;
            }
            all.extend(expand(with(&value), room));
        }
        return all;
    }
    let mut all = Vec::new();
    let mut from = start + 1;
    for to in commas.into_iter().chain([end]) {
        if *room == 0 {
            all.push(vec![LIMIT]);
            break;
        }
        all.extend(expand(with(&text[from..to]), room));
        from = to + 1;
    }
    all
}

/// The texts of `{a..z}`, `{A..Z}` or `{1..9}`; `None` if they are too many or of another form. Between
/// letters of two cases there are signs, and old versions of bash know no step.
fn range(inner: &[char]) -> Option<Vec<Vec<char>>> {
    let inner: String = inner.iter().collect();
    let (first, last) = inner.split_once("..")?;
    let single = |text: &str| -> Option<u32> {
        let mut chars = text.chars();
        let c = chars.next().filter(char::is_ascii_alphabetic)?;
        chars.next().is_none().then_some(u32::from(c))
    };
    if let (Some(first), Some(last)) = (single(first), single(last)) {
        let is_upper = |code: u32| code < u32::from('a');
        if is_upper(first) != is_upper(last) {
            return None;
        }
        let letters = first.min(last)..=first.max(last);
        return Some(letters.filter_map(char::from_u32).map(|c| vec![c]).collect());
    }
    let number = |text: &str| {
        let is_plain = text == "0" || !text.trim_start_matches('-').starts_with(['0', '+']);
        text.parse::<i64>().ok().filter(|number| is_plain && number.abs() < 1 << 40)
    };
    let (first, last) = (number(first)?, number(last)?);
    let numbers = first.min(last)..=first.max(last);
    let is_short = first.abs_diff(last) < MAX_ALTERNATIVES as u64;
    is_short.then(|| numbers.map(|number| number.to_string().chars().collect()).collect())
}

/// The first braces that expand: where they open and close, and their commas (none for a range).
fn group(text: &[char]) -> Option<(usize, usize, Vec<usize>)> {
    let (mut open, mut at): (Vec<(usize, Vec<usize>)>, usize) = (Vec::new(), 0);
    let mut first: Option<(usize, usize, Vec<usize>)> = None;
    while at < text.len() {
        match text[at] {
            '{' => open.push((at, Vec::new())),
            ',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            '}' => {
                if let Some((start, commas)) = open.pop() {
                    let is_range = || text[start..at].windows(2).any(|two| two == ['.', '.']);
                    let is_first = first.as_ref().is_none_or(|(first, ..)| start < *first);
                    if is_first && (!commas.is_empty() || is_range()) {
                        first = Some((start, at, commas));
                    }
                }
                if open.is_empty() && first.is_some() {
                    return first;
                }
            }
            _ => {}
        }
        at = if matches!(text[at], '{' | '}' | ',') { at + 1 } else { after(text, at) };
    }
    first
}
