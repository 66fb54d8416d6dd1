//! Converts a web server's bytes to text for a model.

use super::api::ToolError;
use crate::exec::OutputCleaner;

/// Line width of a wrapped page.
const WRAP_WIDTH: usize = 120;
/// Maximum nesting: layout time grows with its square, so deeper pages are not laid out.
const MAX_DEPTH: usize = 400;
/// Elements that end by themselves when the same one begins, or that have no content.
const UNCLOSED_TAGS: [&str; 24] = [
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "br", "hr",
    "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr",
];
/// SVG elements: only these are closed by a slash at the end of a tag.
const SVG_TAGS: [&str; 9] =
    ["path", "circle", "rect", "line", "polygon", "polyline", "ellipse", "use", "stop"];
/// Maximum characters of a page for the model.
const MAX_CHARS: usize = 50_000;

/// The kind of a body, by its media type and first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Html,
    Text,
}

/// Returns the readable text of a body. `content_type` is the header's value, empty if there is none.
pub fn readable(content_type: &str, body: &[u8]) -> Result<String, ToolError> {
    let text = match kind(content_type, body)? {
        BodyKind::Text => decode(content_type, body),
        BodyKind::Html => html(&decode(content_type, body))?,
    };
    let text = OutputCleaner::clean(text.trim());
    Ok(match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            format!("{}\n… {rest} more characters left out …", &text[..end])
        }
        None => text,
    })
}

fn kind(content_type: &str, body: &[u8]) -> Result<BodyKind, ToolError> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let binary = body.iter().take(8192).any(|&byte| byte == 0);
    let text_like = ["json", "xml", "javascript", "yaml", "toml", "x-sh", "x-www-form-urlencoded"];
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(BodyKind::Html),
        _ if binary => Err(refused(&media)),
        "" | "application/octet-stream" if is_utf8(body) => Ok(BodyKind::Text),
        _ if media.starts_with("text/") => Ok(BodyKind::Text),
        _ if text_like.iter().any(|end| media.ends_with(end)) => Ok(BodyKind::Text),
        _ => Err(refused(&media)),
    }
}

/// Whether it is UTF-8, except for a character that is cut at the end.
fn is_utf8(body: &[u8]) -> bool {
    std::str::from_utf8(body).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn refused(media: &str) -> ToolError {
    let media = if media.is_empty() { "unknown type" } else { media };
    ToolError::failed(format!(
        "The answer is binary ({media}). Download it with Bash if you need it."
    ))
}

/// Decodes UTF-8, unless the header names one of the two old Western character sets, whose bytes are code points.
fn decode(content_type: &str, body: &[u8]) -> String {
    let header = content_type.to_ascii_lowercase();
    if header.contains("iso-8859-1") || header.contains("windows-1252") {
        return body.iter().map(|&byte| char::from(byte)).collect();
    }
    String::from_utf8_lossy(body).into_owned()
}

fn html(page: &str) -> Result<String, ToolError> {
    if deepest(page) > MAX_DEPTH {
        return Ok(without_tags(page));
    }
    html2text::config::plain()
        .allow_width_overflow()
        .no_table_borders()
        .string_from_read(page.as_bytes(), WRAP_WIDTH)
        .map_err(|error| ToolError::failed(format!("Cannot read the page as HTML: {error}.")))
}

/// Estimates the maximum nesting of a page's elements, without building a tree.
fn deepest(page: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() || UNCLOSED_TAGS.contains(&name.as_str()) {
            continue;
        }
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if !(tag.ends_with('/') && SVG_TAGS.contains(&name.as_str())) {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

fn without_tags(page: &str) -> String {
    let mut pieces = page.split('<');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str(piece.split_once('>').map_or("", |(_, after)| after));
    }
    text
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

    #[test]
    fn a_page_of_endless_nesting_is_read_without_a_layout() {
        for tag in ["div", "div/", "b class=x", "ul><li", "table><tr><td"] {
            let page = format!("top{}deep", format!("<{tag}>").repeat(50_000));
            assert_eq!(readable("text/html", page.as_bytes()).unwrap(), "topdeep");
        }
        let page = "<div><p>one<p>two<br><img src=x></div><path d=x/>".repeat(500);
        assert_eq!(deepest(&page), 1);
    }
}
