//! Paths of images, as terminals write them into a draft when a file is dropped.

/// The extensions of images that models read.
const EXTENSIONS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// The longest path that is looked for.
const MAX_PATH: usize = 4096;

/// A path of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePath {
    /// As it is in the draft.
    pub written: String,
    /// Without quotes and escapes.
    pub path: String,
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
        is_image(&path).then(|| Self { written: written.to_owned(), path })
    }

    /// Returns the path of a mention, which is written `@shot.png` or `@"my shot.png"`.
    pub fn from_mention(written: &str, path: &str) -> Option<Self> {
        is_image(path).then(|| Self { written: written.to_owned(), path: path.to_owned() })
    }
}

fn is_image(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    EXTENSIONS.iter().any(|extension| lower.ends_with(extension))
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
}
