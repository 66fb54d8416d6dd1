//! Paths of images, as terminals write them into a draft when a file is dropped.

use crate::protocol::SizedImage;

/// The extensions of images: those that models read, and others, of which one line says so. No text has any of these.
const EXTENSIONS: [&str; 10] =
    [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".avif"];

/// An image that is a text too: a mention is for the agent, which reads the text.
const DRAWING: &str = ".svg";

/// The longest path that is looked for.
const MAX_PATH: usize = 4096;

/// A path of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePath {
    /// As it is in the draft.
    pub written: String,
    /// Without quotes and escapes. Once it is found, relative to the working directory if it is there.
    pub path: String,
    /// The absolute path, once it is found.
    pub file: Option<String>,
}

/// An image that is being put into a draft.
pub struct NewImage<'a> {
    pub number: usize,
    /// Where the draft names it; absent if it comes from the clipboard.
    pub path: Option<&'a ImagePath>,
    pub image: SizedImage,
}

impl ImagePath {
    /// Parses a text that is one path of an image: plain, quoted, with escaped blanks, or a `file:` URL.
    pub fn parse(text: &str) -> Option<Self> {
        let written = text.trim();
        if written.is_empty() || written.len() > MAX_PATH || written.contains(['\n', '\0']) {
            return None;
        }
        let quoted = ['\'', '"'].iter().find_map(|quote| {
            let inner = written.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains(*quote)).then(|| inner.to_owned())
        });
        let path = match (quoted, written.strip_prefix("file://")) {
            (Some(path), _) => path,
            (None, Some(url)) => decode_percent(url.strip_prefix("localhost").unwrap_or(url))?,
            (None, None) => unescape(written)?,
        };
        let is_named = is_image(&path) || path.to_ascii_lowercase().ends_with(DRAWING);
        is_named.then(|| Self { written: written.to_owned(), path, file: None })
    }

    /// Parses a text that is nothing but paths of images, as terminals write several dropped files: on lines
    /// of their own, or with blanks between them.
    pub fn parse_all(text: &str) -> Vec<Self> {
        if let Some(only) = Self::parse(text) {
            // A file's name may have blanks, but hardly the whole path of another image.
            let rooted = |path: &Self| path.path.starts_with(['/', '~']);
            let several = split_words(text).and_then(|words| Self::parse_each(&words));
            let several = several.filter(|paths| paths.iter().all(rooted));
            return several.unwrap_or_else(|| vec![only]);
        }
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let by_lines = Self::parse_each(&lines);
        by_lines.or_else(|| Self::parse_each(&split_words(text)?)).unwrap_or_default()
    }

    fn parse_each(words: &[&str]) -> Option<Vec<Self>> {
        words.iter().map(|word| Self::parse(word)).collect()
    }

    /// Returns the path of a mention, which is written `@shot.png` or `@"my shot.png"`.
    pub fn from_mention(written: &str, path: &str) -> Option<Self> {
        is_image(path).then(|| Self {
            written: written.to_owned(),
            path: path.to_owned(),
            file: None,
        })
    }

    /// Returns the path of an image that an earlier prompt had, which its mark stands for.
    pub fn from_past(mark: &str, file: &str) -> Self {
        Self { written: mark.to_owned(), path: file.to_owned(), file: None }
    }
}

fn is_image(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    EXTENSIONS.iter().any(|extension| lower.ends_with(extension))
}

/// Splits a text at blanks that are neither quoted nor escaped. `None` if a quote is not closed.
fn split_words(text: &str) -> Option<Vec<&str>> {
    let (mut words, mut start, mut quote, mut escaped) = (Vec::new(), None, None, false);
    for (at, letter) in text.char_indices() {
        let in_word = start.is_some();
        if escaped {
            escaped = false;
        } else if quote == Some(letter) {
            quote = None;
        } else if quote.is_none() {
            match letter {
                '\\' => escaped = true,
                '\'' | '"' if !in_word => quote = Some(letter),
                _ => {}
            }
            if letter.is_whitespace() && !escaped {
                words.extend(start.take().map(|start: usize| &text[start..at]));
                continue;
            }
        }
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| &text[start..]));
    quote.is_none().then_some(words)
}

/// Removes backslashes before other characters, as terminals write them when a file is dropped.
/// `None` if a blank has none: then it is more than a path, unless it begins like one.
fn unescape(text: &str) -> Option<String> {
    let is_whole = text.starts_with(['/', '~']);
    let (mut path, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => path.push(letters.next()?),
            letter if letter.is_whitespace() && !is_whole => return None,
            letter => path.push(letter),
        }
    }
    Some(path)
}

fn decode_percent(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digits = [*high, *low];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            (b'%', _) => return None,
            (byte, _) => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Option<String> {
        ImagePath::parse(text).map(|found| found.path)
    }

    #[test]
    fn a_path_is_recognized_as_terminals_write_it() {
        for (text, expected) in [
            ("/tmp/shot.png", "/tmp/shot.png"),
            (" /tmp/shot.PNG\n", "/tmp/shot.PNG"),
            ("shot.webp", "shot.webp"),
            ("'/tmp/my shot.jpg'", "/tmp/my shot.jpg"),
            ("\"~/a b.gif\"", "~/a b.gif"),
            (r"/tmp/my\ shot\ (1).jpeg", "/tmp/my shot (1).jpeg"),
            ("/tmp/my shot.png", "/tmp/my shot.png"),
            ("file:///tmp/my%20shot.png", "/tmp/my shot.png"),
            ("file://localhost/tmp/a.png", "/tmp/a.png"),
        ] {
            assert_eq!(path(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_paths_of_images() {
        for text in [
            "",
            "see shot.png",
            "/tmp/a.png\n/tmp/b.png",
            "notes.txt",
            "file:///a%2",
            "'a.png' 'b.png'",
        ] {
            assert_eq!(path(text), None, "{text}");
        }
    }

    #[test]
    fn several_dropped_files_are_each_a_path() {
        let all = |text: &str| -> Vec<String> {
            ImagePath::parse_all(text).into_iter().map(|found| found.path).collect()
        };
        for (text, expected) in [
            ("/a/b.png", &["/a/b.png"][..]),
            ("a.gif w.webp", &["a.gif", "w.webp"]),
            ("/t/a.gif /t/w.webp ", &["/t/a.gif", "/t/w.webp"]),
            ("'/t/my a.gif' '/t/w.webp'", &["/t/my a.gif", "/t/w.webp"]),
            (r"/t/my\ a.gif /t/w.webp", &["/t/my a.gif", "/t/w.webp"]),
            ("/t/my a.gif\n/t/w.webp\n", &["/t/my a.gif", "/t/w.webp"]),
            ("/t/my a.gif", &["/t/my a.gif"]),
            ("file:///t/a%20b.png file:///t/c.png", &["/t/a b.png", "/t/c.png"]),
            ("a.gif and w.webp", &[]),
            ("a.gif\nnotes.txt", &[]),
            ("'a.gif w.webp", &[]),
            ("", &[]),
        ] {
            assert_eq!(all(text), expected, "{text}");
        }
    }

    #[test]
    fn an_image_that_models_cannot_read_is_a_path_too_but_a_drawing_is_none_as_a_mention() {
        for name in ["a.bmp", "a.TIFF", "a.heic", "a.svg"] {
            assert_eq!(path(name).as_deref(), Some(name));
        }
        assert!(ImagePath::from_mention("@a.bmp", "a.bmp").is_some());
        assert_eq!(ImagePath::from_mention("@a.svg", "a.svg"), None);
    }
}
