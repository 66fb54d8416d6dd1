//! Reads pages of a PDF as a PDF of their own.

use std::io::Cursor;
use std::ops::RangeInclusive;
use std::panic::catch_unwind;

use lopdf::{Document, LoadOptions};

/// The most pages that are read at once.
pub const MAX_PAGES: u32 = 20;

/// The most pages of a document that is read whole.
pub const MAX_WHOLE_PAGES: u32 = 10;

/// The most bytes of a PDF for a model. In base64 they are 28 MB; a request may have 32 MB.
const MAX_SENT_BYTES: usize = 21_000_000;

/// The most bytes that one compressed part may unfold to.
const MAX_UNFOLDED: usize = 64_000_000;

/// Pages of a PDF, as a PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdfPages {
    pub bytes: Vec<u8>,
    pub pages: u32,
}

/// Why pages of a PDF cannot be read. Each reads on after the name of a file and "is".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PdfError {
    #[error("a broken PDF: {0}")]
    Broken(String),
    #[error("an encrypted PDF: decrypt it first, for example with `qpdf --decrypt`")]
    Encrypted,
    #[error("a PDF of {0} pages: give `pages`, such as \"1-{most}\", at most {MAX_PAGES} at once", most = MAX_WHOLE_PAGES)]
    TooManyPages(u32),
    #[error("a PDF of {0}: there is no page {1}")]
    NoSuchPage(String, u32),
    #[error("a PDF whose pages are too large to be sent: give fewer in `pages`")]
    TooManyBytes,
}

/// Whether a file is a PDF, by its first bytes.
pub fn is_pdf(start: &[u8]) -> bool {
    start.starts_with(b"%PDF-")
}

/// Parses pages such as `3` or `1-5`.
///
/// # Errors
///
/// One sentence for the model.
pub fn parse_pages(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|page| *page > 0);
    let (Some(first), Some(last)) = (number(first), number(last)) else {
        return Err(format!("pages must be like \"3\" or \"1-5\", not {text:?}."));
    };
    if last < first || last - first >= MAX_PAGES {
        return Err(format!("pages must be a range of 1 to {MAX_PAGES} pages, not {text:?}."));
    }
    Ok(first..=last)
}

/// Reads these pages of a PDF, or all of a short one. Blocks.
///
/// # Errors
///
/// If it is broken, encrypted, or too long.
pub fn read_pages(
    bytes: Vec<u8>,
    pages: Option<RangeInclusive<u32>>,
) -> Result<PdfPages, PdfError> {
    // The parser reads files from anywhere.
    let read = catch_unwind(move || extract(bytes, pages));
    read.unwrap_or_else(|_| Err(PdfError::Broken("it cannot be parsed".to_owned())))
}

fn extract(bytes: Vec<u8>, pages: Option<RangeInclusive<u32>>) -> Result<PdfPages, PdfError> {
    let broken = |error: lopdf::Error| PdfError::Broken(error.to_string());
    let options =
        LoadOptions { max_decompressed_size: Some(MAX_UNFOLDED), ..LoadOptions::default() };
    let mut document = match Document::load_from_with_options(Cursor::new(&bytes), options) {
        // One with an empty password is decrypted, but a provider gets the file as it is.
        Ok(document) if document.is_encrypted() || document.was_encrypted() => {
            return Err(PdfError::Encrypted);
        }
        Ok(document) => document,
        Err(_) if has_encryption(&bytes) => return Err(PdfError::Encrypted),
        Err(error) => return Err(broken(error)),
    };
    let count = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    if count == 0 {
        return Err(match has_encryption(&bytes) {
            true => PdfError::Encrypted,
            false => PdfError::Broken("it has no pages".to_owned()),
        });
    }
    let pages = match pages {
        None if count > MAX_WHOLE_PAGES => return Err(PdfError::TooManyPages(count)),
        None => 1..=count,
        Some(pages) if *pages.end() > count => {
            let has = crate::protocol::count(count as usize, "page");
            return Err(PdfError::NoSuchPage(has, *pages.end()));
        }
        Some(pages) => pages,
    };
    let taken = pages.end() - pages.start() + 1;
    let bytes = if taken == count {
        bytes
    } else {
        let others: Vec<u32> = (1..=count).filter(|page| !pages.contains(page)).collect();
        document.delete_pages(&others);
        document.prune_objects();
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).map_err(|error| PdfError::Broken(error.to_string()))?;
        bytes
    };
    match bytes.len() {
        0..=MAX_SENT_BYTES => Ok(PdfPages { bytes, pages: taken }),
        _ => Err(PdfError::TooManyBytes),
    }
}

fn has_encryption(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|part| part == b"/Encrypt")
}

/// Writes a PDF with this many pages, for tests.
#[cfg(test)]
pub fn sample_pdf(pages: u32) -> Vec<u8> {
    use lopdf::{Object, dictionary};

    let mut document = Document::with_version("1.5");
    let tree = document.new_object_id();
    let page = |document: &mut Document, number: u32| -> Object {
        let size = vec![0.into(), 0.into(), 200.into(), (100 + i64::from(number)).into()];
        let page = dictionary! { "Type" => "Page", "Parent" => tree, "MediaBox" => size };
        document.add_object(page).into()
    };
    let kids: Vec<Object> = (1..=pages).map(|number| page(&mut document, number)).collect();
    let root = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => i64::from(pages) };
    document.objects.insert(tree, root.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// The heights of the pages, by which the sample tells them apart.
    fn heights(bytes: &[u8]) -> Vec<i64> {
        let document = Document::load_mem(bytes).unwrap();
        let height = |id: &lopdf::ObjectId| {
            let page = document.get_dictionary(*id).unwrap();
            page.get(b"MediaBox").unwrap().as_array().unwrap()[3].as_i64().unwrap() - 100
        };
        document.get_pages().values().map(height).collect()
    }

    #[test]
    fn a_short_pdf_is_read_whole_and_of_a_long_one_the_pages_that_are_asked_for() {
        let short = sample_pdf(3);
        let whole = PdfPages { bytes: short.clone(), pages: 3 };
        assert_eq!(read_pages(short, None), Ok(whole));
        let long = sample_pdf(30);
        assert_eq!(read_pages(long.clone(), None), Err(PdfError::TooManyPages(30)));
        let some = read_pages(long.clone(), Some(4..=6)).unwrap();
        assert_eq!((some.pages, heights(&some.bytes)), (3, vec![4, 5, 6]));
        assert!(some.bytes.len() < long.len());
        let why = read_pages(long, Some(29..=31)).unwrap_err().to_string();
        assert_eq!(why, "a PDF of 30 pages: there is no page 31");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |bytes: &[u8]| read_pages(bytes.to_vec(), None).unwrap_err().to_string();
        assert!(why(b"%PDF-1.5\nrubbish").starts_with("a broken PDF: "));
        assert!(why(&sample_pdf(3)[..90]).starts_with("a broken PDF: "));
        let text = String::from_utf8_lossy(&sample_pdf(1)).into_owned();
        let locked = text.replace("/Root", "/Encrypt 99 0 R/Root");
        assert_eq!(why(locked.as_bytes()), PdfError::Encrypted.to_string());
        assert_eq!(why(&sample_pdf(0)), "a broken PDF: it has no pages");
    }

    #[test]
    fn pages_are_a_number_or_a_range() {
        assert_eq!(parse_pages("3"), Ok(3..=3));
        assert_eq!(parse_pages(" 1 - 20"), Ok(1..=20));
        for bad in ["", "0", "5-3", "1-21", "x", "1,2", "1-"] {
            assert!(parse_pages(bad).is_err(), "{bad}");
        }
    }
}
