//! Images for models: recognized by their first bytes, checked before they are decoded, and made
//! as small as models read them.

mod image;

#[cfg(test)]
pub use self::image::sample_png;
pub use self::image::{ImageError, MAX_FILE_BYTES, has_image_name, image_type, prepare, read};
