//! Words known only at run time: which may become options, and which values the line itself gives to their variables.

use crate::permission::spelling::unquoted;

/// A part of an uncertain word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPart {
    /// This character.
    Char(char),
    /// The value of a variable; in quotes it stays one word.
    Variable { name: String, quoted: bool },
    /// Any text that stays within the word, such as a quoted substitution or a glob.
    Text,
    /// Any text that bash may split into several words.
    Words,
}

/// Maximum alternatives; a longer list counts as any text.
const MAX_ALTERNATIVES: usize = 64;
/// Builtins that set variables without an assignment.
const SETTERS: &[&str] = &[
    "read",
    "printf",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "unset",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "select",
    "wait",
    "coproc",
    "eval",
    "source",
    ".",
    "set",
    "shift",
    "trap",
];

/// Splits a word, as written in the line, into its parts. Braces are not expanded.
pub fn parts(raw: &str) -> Vec<WordPart> {
    let text: Vec<char> = raw.chars().collect();
    let (mut parts, mut at, mut quoted) = (Vec::new(), 0, false);
    while let Some(&c) = text.get(at) {
        let next = text.get(at + 1).copied();
        let any = if quoted { WordPart::Text } else { WordPart::Words };
        match (c, next) {
            ('\\', Some('\n')) => at += 2,
            ('\\', Some(escaped)) => {
                if quoted && !matches!(escaped, '$' | '`' | '"' | '\\') {
                    parts.push(WordPart::Char('\\'));
                }
                parts.push(WordPart::Char(escaped));
                at += 2;
            }
            ('"', _) => {
                quoted = !quoted;
                at += 1;
            }
            ('\'', _) if !quoted => {
                let end = position(&text, at + 1, '\'');
                parts.extend(text[at + 1..end].iter().copied().map(WordPart::Char));
                at = end + 1;
            }
            ('$', Some('(')) if text.get(at + 2) == Some(&'(') => {
                parts.push(WordPart::Text);
                at = closing(&text, at + 1);
            }
            ('$', Some('(')) => {
                parts.push(any);
                at = closing(&text, at + 1);
            }
            ('`', _) => {
                parts.push(any);
                at = position(&text, at + 1, '`') + 1;
            }
            // The name of a pipe, which is a path.
            ('<' | '>', Some('(')) if !quoted => {
                parts.push(WordPart::Char('/'));
                at = closing(&text, at + 1);
            }
            ('$', Some(_)) => at = variable(&text, at, quoted, &mut parts),
            ('~', _) if at == 0 => {
                parts.push(WordPart::Char('/'));
                at += text.iter().take_while(|c| **c != '/').count();
            }
            ('*' | '?' | '[' | '{', _) if !quoted => {
                parts.push(WordPart::Text);
                at += 1;
            }
            _ => {
                parts.push(WordPart::Char(c));
                at += 1;
            }
        }
    }
    parts
}

/// Reads the expansion of a `$` at `at`, and returns the position after it.
fn variable(text: &[char], at: usize, quoted: bool, parts: &mut Vec<WordPart>) -> usize {
    let is_letter = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
    let length = |from: usize| text[from.min(text.len())..].iter().take_while(is_letter).count();
    let any = if quoted { WordPart::Text } else { WordPart::Words };
    let (name, end) = match text.get(at + 1) {
        Some('{') => {
            let end = at + 2 + length(at + 2);
            if text.get(end) != Some(&'}') {
                parts.push(any);
                return position(text, at + 1, '}') + 1;
            }
            (&text[at + 2..end], end + 1)
        }
        Some('?' | '#' | '$') => {
            parts.push(WordPart::Text);
            return at + 2;
        }
        Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
            let end = at + 1 + length(at + 1);
            (&text[at + 1..end], end)
        }
        Some('\'') if !quoted => {
            // Its text is decoded elsewhere, if nothing else makes the word uncertain.
            parts.push(WordPart::Text);
            let mut end = at + 2;
            while end < text.len() && text[end] != '\'' {
                end += if text[end] == '\\' { 2 } else { 1 };
            }
            return end + 1;
        }
        Some('"') => return at + 1,
        _ => {
            parts.push(any);
            return at + 2;
        }
    };
    let name: String = name.iter().collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        true => parts.push(any),
        false => parts.push(WordPart::Variable { name, quoted }),
    }
    end
}

/// Whether the word may become an option whatever values the line gives its variables.
pub fn may_be_option(raw: &str) -> bool {
    let parts = parts(raw);
    parts.contains(&WordPart::Words) || matches!(parts.first(), Some(WordPart::Text))
}

/// Whether bash makes one word of this one: nothing in it is split, and it holds no list.
pub fn is_one_word(raw: &str) -> bool {
    let has_list = ["$@", "${@", "[@]", "$*", "${*"].iter().any(|list| raw.contains(list));
    let is_split = |part: &WordPart| {
        matches!(part, WordPart::Words | WordPart::Variable { quoted: false, .. })
    };
    !has_list && !parts(raw).iter().any(is_split)
}

/// Whether the line itself says all that this word may become, names of files apart.
pub fn is_known(raw: &str, line: &str) -> bool {
    let is_unknown = |part: &WordPart| matches!(part, WordPart::Text | WordPart::Words);
    !parts(raw).iter().any(is_unknown) && resolved(raw, line).is_some()
}

/// The words that this one becomes with the values that the line gives its variables: a list of
/// words for each combination of values. `None` if a value is uncertain.
pub fn resolved(raw: &str, line: &str) -> Option<Vec<Vec<String>>> {
    // A NUL separates words; uncertain text that stays within a word adds nothing to it.
    let mut texts = vec![String::new()];
    for (at, part) in parts(raw).into_iter().enumerate() {
        match part {
            WordPart::Char(c) => texts.iter_mut().for_each(|text| text.push(c)),
            // It may be part of an option's name, or begin one.
            WordPart::Text if at > 0 && texts.iter().any(|text| names_option(text)) => return None,
            WordPart::Text => texts.iter_mut().for_each(|text| text.push('?')),
            WordPart::Words => return None,
            WordPart::Variable { name, quoted: true } if path(&name, line).is_some() => {
                let path = path(&name, line)?;
                texts.iter_mut().for_each(|text| text.push(path));
            }
            WordPart::Variable { name, quoted } => {
                let values = values(&name, line)?;
                // If the line sets it later, or never, it is empty.
                let is_set = is_set_by_loop(&name, line);
                let mut longer = if is_set { Vec::new() } else { texts.clone() };
                for value in &values {
                    let value = value.text(quoted)?;
                    longer.extend(texts.iter().map(|text| format!("{text}{value}")));
                }
                texts = longer;
            }
        }
        if texts.len() > MAX_ALTERNATIVES || texts.is_empty() {
            return None;
        }
    }
    // An empty unquoted expansion is no word.
    let is_quoted = raw.contains(['"', '\'', '\\']);
    let split = |text: String| -> Option<Vec<String>> {
        let parts: Vec<&str> = text.split('\0').collect();
        match is_quoted {
            true if parts.len() > 1 && parts.contains(&"") => None,
            true => Some(parts.into_iter().map(str::to_owned).collect()),
            false => {
                Some(parts.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect())
            }
        }
    };
    texts.into_iter().map(split).collect()
}

/// Whether the next character belongs to an option's name or begins a word.
fn names_option(text: &str) -> bool {
    let word = text.rsplit('\0').next().unwrap_or_default();
    word.is_empty() || word.starts_with('-') && !word.contains('=')
}

/// The short form of the folder that the variable holds, if the line only reads it.
fn path(name: &str, line: &str) -> Option<char> {
    let path = match name {
        "PWD" => '.',
        "HOME" => '/',
        _ => return None,
    };
    let mut before = line.split(name).collect::<Vec<_>>();
    before.pop();
    before.iter().all(|text| text.ends_with('$') || text.ends_with("${")).then_some(path)
}

/// One value that the line gives to a variable.
struct AssignedValue(Vec<WordPart>);

impl AssignedValue {
    /// The value's text, with a NUL where bash splits it; `None` if it is not certain enough.
    fn text(&self, quoted: bool) -> Option<String> {
        let is_certain = self.0.iter().all(|part| matches!(part, WordPart::Char(_)));
        let begins = matches!(self.0.first(), Some(WordPart::Char(_)));
        let stays = self.0.iter().all(|part| matches!(part, WordPart::Char(_) | WordPart::Text));
        if !(is_certain || quoted && begins && stays) {
            return None;
        }
        let chars = self.0.iter().map(|part| if let WordPart::Char(c) = part { *c } else { '?' });
        if quoted {
            return Some(chars.collect());
        }
        let text: String =
            chars.map(|c| if matches!(c, ' ' | '\t' | '\n') { '\0' } else { c }).collect();
        // Bash expands globs in an unquoted value.
        (!text.contains(['*', '?', '['])).then_some(text)
    }
}

/// The values that the line gives to the variable. `None` if the line may set it in any other way, or never.
fn values(name: &str, line: &str) -> Option<Vec<AssignedValue>> {
    // Bash sets `_` and many upper-case names itself.
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let plain = unquoted(line);
    let is_break = |c: char| c.is_whitespace() || ";|&()".contains(c);
    if plain.split(is_break).any(|word| SETTERS.contains(&word)) {
        return None;
    }
    let text: Vec<char> = line.chars().collect();
    let letters: Vec<char> = name.chars().collect();
    let is_letter = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let mut all = Vec::new();
    for at in 0..text.len() {
        let end = at + letters.len();
        if !text[at..].starts_with(&letters) || text.get(end).is_some_and(is_letter) {
            continue;
        }
        match (text[..at].last(), text.get(end)) {
            (Some(c), _) if is_letter(c) || "$-./".contains(*c) => {}
            (Some('{'), _) if text[..at].ends_with(&['$', '{']) => {}
            (_, Some('.' | '/' | '-')) => {}
            (before, Some('=')) if before.is_none_or(|c| is_break(*c)) => {
                all.push(value(&text, end + 1)?.0);
            }
            (Some(' '), Some(' ')) if is_loop(&text[..at]) => all.extend(loop_values(&text, end)?),
            _ => return None,
        }
    }
    (!all.is_empty() && all.len() <= MAX_ALTERNATIVES).then_some(all)
}

fn is_loop(before: &[char]) -> bool {
    let before: String = before.iter().rev().take(5).rev().collect();
    before.split_whitespace().next_back() == Some("for") && before.trim_end().len() < before.len()
}

/// Whether the part of the line that uses the variable is entirely one loop over it.
fn is_set_by_loop(name: &str, line: &str) -> bool {
    let plain = unquoted(line);
    let is_break = |c: char| c.is_whitespace() || ";|&()".contains(c);
    let words: Vec<&str> = plain.split(is_break).filter(|word| !word.is_empty()).collect();
    let is_meant = |word: &&str| *word == name || word.contains('$') && word.contains(name);
    let first = words.iter().position(is_meant);
    let is_header = first.is_some_and(|at| at > 0 && words[at - 1] == "for" && words[at] == name);
    let dones = words.iter().filter(|word| **word == "done").count();
    is_header && dones == 1 && words.last() == Some(&"done")
}

/// The words of `for name in words;`, starting after the name.
fn loop_values(text: &[char], from: usize) -> Option<Vec<AssignedValue>> {
    if !text[from..].starts_with(&[' ', 'i', 'n', ' ']) {
        return None;
    }
    let (mut at, mut all) = (from + 4, Vec::new());
    loop {
        match text.get(at)? {
            ' ' => at += 1,
            ';' | '\n' => return Some(all),
            _ => {
                let (value, end) = value(text, at)?;
                if end == at {
                    return None;
                }
                all.push(value);
                at = end;
            }
        }
    }
}

/// The word at this position, and the position after it. `None` if bash may read it in more than one way.
fn value(text: &[char], from: usize) -> Option<(AssignedValue, usize)> {
    let mut at = from;
    while let Some(&c) = text.get(at) {
        at = match c {
            '\'' => position(text, at + 1, '\'') + 1,
            '"' => {
                let end = position(text, at + 1, '"');
                let plain = |c: &char| !matches!(c, '$' | '`' | '\\');
                if !text[at + 1..end].iter().all(plain) {
                    return None;
                }
                end + 1
            }
            c if c.is_whitespace() || ";|&".contains(c) => break,
            '(' | ')' | '<' | '>' | '$' | '`' | '\\' | '{' => return None,
            _ => at + 1,
        };
    }
    let end = at.min(text.len());
    let raw: String = text[from..end].iter().collect();
    Some((AssignedValue(parts(&raw)), end))
}

fn position(text: &[char], from: usize, mark: char) -> usize {
    let rest = text.iter().skip(from);
    rest.clone().position(|c| *c == mark).map_or(text.len(), |place| from + place)
}

/// The position after the parenthesis that closes the one at `from`; the end of the text if none does.
fn closing(text: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while let Some(&c) = text.get(at) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '\\' => at += 1,
            '\'' => at = position(text, at + 1, '\''),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}
