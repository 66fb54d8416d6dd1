//! From a web server's bytes to text for a model.

use super::ToolError;
use crate::exec::Cleaner;

/// Width of the lines that a page is wrapped to.
const WIDTH: usize = 120;
/// Characters of a page that a model gets.
const MAX_CHARS: usize = 50_000;

/// What a body is, by its media type and its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
}

/// The readable text of a body. `content_type` is the header's value, empty if there is none.
pub fn readable(content_type: &str, body: &[u8]) -> Result<String, ToolError> {
    let text = match kind(content_type, body)? {
        Kind::Text => decode(content_type, body),
        Kind::Html => html(&decode(content_type, body))?,
    };
    let text = Cleaner::whole(text.trim());
    Ok(match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            format!("{}\n… {rest} more characters left out …", &text[..end])
        }
        None => text,
    })
}

fn kind(content_type: &str, body: &[u8]) -> Result<Kind, ToolError> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let binary = body.iter().take(8192).any(|&byte| byte == 0);
    let text_like = ["json", "xml", "javascript", "yaml", "toml", "x-sh", "x-www-form-urlencoded"];
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(Kind::Html),
        _ if binary => Err(refused(&media)),
        "" | "application/octet-stream" if is_utf8(body) => Ok(Kind::Text),
        _ if media.starts_with("text/") => Ok(Kind::Text),
        _ if text_like.iter().any(|end| media.ends_with(end)) => Ok(Kind::Text),
        _ => Err(refused(&media)),
    }
}

/// Whether it is UTF-8, but for a character that is cut at the end.
fn is_utf8(body: &[u8]) -> bool {
    std::str::from_utf8(body).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn refused(media: &str) -> ToolError {
    let media = if media.is_empty() { "unknown type" } else { media };
    ToolError::failed(format!(
        "The answer is binary ({media}). Download it with Bash if you need it."
    ))
}

/// UTF-8 unless the header names one of the two old Western sets, whose bytes are characters as they are.
fn decode(content_type: &str, body: &[u8]) -> String {
    let header = content_type.to_ascii_lowercase();
    if header.contains("iso-8859-1") || header.contains("windows-1252") {
        return body.iter().map(|&byte| char::from(byte)).collect();
    }
    String::from_utf8_lossy(body).into_owned()
}

fn html(page: &str) -> Result<String, ToolError> {
    html2text::config::plain()
        .allow_width_overflow()
        .no_table_borders()
        .string_from_read(page.as_bytes(), WIDTH)
        .map_err(|error| ToolError::failed(format!("Cannot read the page as HTML: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_text_with_its_links() {
        let page = b"<title>t</title><script>x()</script><h1>Head</h1><p>One <a href='https://a.b/c'>link</a>.</p>";
        let text = readable("text/html; charset=utf-8", page).unwrap();
        assert!(text.contains("Head") && text.contains("https://a.b/c"), "{text}");
        assert!(!text.contains("x()"));
    }

    #[test]
    fn other_text_stays_as_it_is_and_binary_is_refused() {
        assert_eq!(readable("application/json", b"{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(readable("", b"plain").unwrap(), "plain");
        assert_eq!(readable("text/plain; charset=ISO-8859-1", b"caf\xe9").unwrap(), "caf\u{e9}");
        for (media, body) in [("image/png", &b"x"[..]), ("text/plain", b"a\0b"), ("", b"\xff\xfe")]
        {
            let error = readable(media, body).unwrap_err().to_string();
            assert!(error.starts_with("The answer is binary"), "{error}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let text = readable("text/plain", "é".repeat(MAX_CHARS + 7).as_bytes()).unwrap();
        assert!(text.ends_with("é\n… 7 more characters left out …"));
    }
}
