//! The changed words of lines: those in which removed lines differ from the added ones that replace them.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Maximum lines removed and added in one place that are compared word by word.
pub(super) const MAX_PAIRED_LINES: usize = 12;

/// Maximum bytes of a line that is compared.
const MAX_PAIRED_BYTES: usize = 500;

/// Parts of a line, in order.
type WordRanges = Vec<Range<usize>>;

/// A line of a diff with printable text.
pub(super) struct DiffRow {
    pub sign: char,
    pub number: usize,
    pub text: String,
}

/// The changed words of each line: removed lines are compared with the added ones that replace them.
pub(super) fn changed_words(block: &[DiffRow]) -> Vec<WordRanges> {
    let mut words = vec![Vec::new(); block.len()];
    let removed = block.iter().take_while(|row| row.sign == '-').count();
    let added = block.len() - removed;
    if removed.max(added) > MAX_PAIRED_LINES {
        return words;
    }
    let mut next = removed;
    for old in 0..removed {
        let mut pairs = (next..block.len()).filter(|new| removed != added || *new == removed + old);
        let found =
            pairs.find_map(|new| Some((new, compare_words(&block[old].text, &block[new].text)?)));
        if let Some((new, (in_old, in_new))) = found {
            (words[old], words[new]) = (in_old, in_new);
            next = new + 1;
        }
    }
    words
}

/// The ranges in which two lines differ; `None` if they have too little in common.
fn compare_words(old: &str, new: &str) -> Option<(WordRanges, WordRanges)> {
    if old.len().max(new.len()) > MAX_PAIRED_BYTES {
        return None;
    }
    let (old_words, new_words) = (split_words(old), split_words(new));
    let old_texts: Vec<&str> = old_words.iter().map(|word| &old[word.clone()]).collect();
    let new_texts: Vec<&str> = new_words.iter().map(|word| &new[word.clone()]).collect();
    let mut common = 0;
    let (mut in_old, mut in_new) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let same = &old_texts[old_index..old_index + len];
                common += same.iter().map(|word| word.trim().len()).sum::<usize>();
            }
            op => {
                push_range(&mut in_old, &old_words[op.old_range()], old);
                push_range(&mut in_new, &new_words[op.new_range()], new);
            }
        }
    }
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
    (2 * common >= letters(old).max(letters(new)) && common > 0).then_some((in_old, in_new))
}

/// Appends changed words, joined with those before them if only blanks are between.
fn push_range(ranges: &mut Vec<Range<usize>>, words: &[Range<usize>], text: &str) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    match ranges.last_mut() {
        Some(before) if text[before.end..first.start].trim().is_empty() => before.end = last.end,
        _ => ranges.push(first.start..last.end),
    }
}

/// Splits a line into words, blanks and single signs.
fn split_words(text: &str) -> WordRanges {
    let kind = |letter: char| match letter {
        letter if letter.is_alphanumeric() || letter == '_' => 0,
        letter if letter.is_whitespace() => 1,
        _ => 2,
    };
    let mut words: Vec<(u8, Range<usize>)> = Vec::new();
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        match words.last_mut() {
            Some((of, word)) if *of == kind(letter) && *of != 2 => word.end = end,
            _ => words.push((kind(letter), at..end)),
        }
    }
    words.into_iter().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(old: &str, new: &str) -> Option<(Vec<String>, Vec<String>)> {
        let (in_old, in_new) = compare_words(old, new)?;
        let texts = |ranges: WordRanges, text: &str| {
            ranges.into_iter().map(|range| text[range].to_owned()).collect()
        };
        Some((texts(in_old, old), texts(in_new, new)))
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn changed_words_are_those_that_differ() {
        let found = words("if [ $count -gt $from ]; then", "if [ $count -ge $from ]; then");
        assert_eq!(found, Some((owned(&["gt"]), owned(&["ge"]))));
        let found = words("map(|i| i.price).sum()", "map(|i| off(i.price)).sum()");
        assert_eq!(found, Some((owned(&[]), owned(&["off(", ")"]))));
        assert_eq!(words("let x = 1;", "println!(\"{total}\");"), None);
    }

    #[test]
    fn a_removed_line_is_compared_with_the_one_that_replaces_it() {
        let row = |sign, text: &str| DiffRow { sign, number: 1, text: text.to_owned() };
        let block =
            [row('-', "let total = a;"), row('+', "// A comment."), row('+', "let total = b;")];
        let words = changed_words(&block);
        let starts: Vec<_> =
            words.iter().map(|words| words.first().map(|word| word.start)).collect();
        assert_eq!(starts, [Some(12), None, Some(12)]);
    }
}
