//! Images, PDFs and notebooks for models: recognized, checked before they are decoded, and made as
//! small as models read them.

mod image;
mod notebook;
mod pdf;

#[cfg(test)]
pub use self::image::sample_png;
pub use self::image::{ImageError, MAX_FILE_BYTES, has_image_name, image_type, prepare, read};
pub use self::notebook::{NotebookContent, read_notebook};
#[cfg(test)]
pub use self::pdf::sample_pdf;
pub use self::pdf::{PdfPages, is_pdf, parse_pages, read_pages};
