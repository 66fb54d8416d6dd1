//! Parses one-line lists of tools and rules: `Bash(git diff:*), Read`.

/// Splits at commas and spaces outside of parentheses. An empty text is an empty list. The error
/// names the unmatched parenthesis.
pub fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Err(format!("`)` without `(` in `{text}`")),
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            items.extend(take(&mut item));
        } else {
            item.push(c);
        }
    }
    if depth > 0 {
        return Err(format!("`(` without `)` in `{text}`"));
    }
    items.extend(take(&mut item));
    Ok(items)
}

fn take(item: &mut String) -> Option<String> {
    Some(std::mem::take(item)).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_spaces_separate_but_not_inside_parentheses() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" , ", &[]),
            ("Read", &["Read"]),
            ("Bash(git diff:*),Read", &["Bash(git diff:*)", "Read"]),
            ("Read Grep,  Glob\n", &["Read", "Grep", "Glob"]),
            ("Bash(echo (a, b) c) Edit(src/**)", &["Bash(echo (a, b) c)", "Edit(src/**)"]),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).unwrap(), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_parenthesis_without_partner_is_an_error() {
        assert_eq!(parse("Bash(git").unwrap_err(), "`(` without `)` in `Bash(git`");
        assert_eq!(parse("Read)").unwrap_err(), "`)` without `(` in `Read)`");
    }
}
