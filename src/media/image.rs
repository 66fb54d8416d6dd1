//! Reads an image and makes it small enough for every provider.

use std::fs::File;
use std::io::{Cursor, Read as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::protocol::format::{byte_size, thousands};
use crate::protocol::{ImageSource, SizedImage};

/// The largest image file that is read.
pub const MAX_FILE_BYTES: u64 = 30_000_000;

/// The most pixels that are decoded.
const MAX_PIXELS: u64 = 64_000_000;

/// The most memory for decoding: eight bytes for each pixel.
const MAX_MEMORY: u64 = MAX_PIXELS * 8;

/// The longest side that models read. They scale larger images down themselves, more slowly.
const MAX_SIDE: u32 = 1568;

/// The most pixels that models read.
const MAX_SENT_PIXELS: f64 = 1_150_000.0;

/// The most bytes that are sent. In base64 they are 5 MB, the limit of the strictest provider.
const MAX_SENT_BYTES: usize = 3_750_000;

const JPEG_QUALITY: u8 = 85;

/// Why an image cannot be sent. Each reads on after the name of a file and a colon.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("a folder")]
    Folder,
    #[error("not a regular file but a device, pipe or socket")]
    NotAFile,
    #[error("an image of {}; at most {} can be read: make it smaller", byte_size(*.0), byte_size(MAX_FILE_BYTES))]
    TooManyBytes(u64),
    #[error("an image of {}×{} pixels, too large to be read: make it smaller", thousands(u64::from(*.0)), thousands(u64::from(*.1)))]
    TooManyPixels(u32, u32),
    #[error("not an image that models can read: convert it to PNG, JPEG, GIF or WebP")]
    UnknownType,
    #[error("a broken {kind} image: {why}")]
    Broken { kind: &'static str, why: String },
}

/// Returns the media type of an image that models can read, by its first bytes.
pub fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Whether a path has the extension of an image that models can read.
pub fn has_image_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["png", "jpg", "jpeg", "gif", "webp"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Reads an image file and makes it small enough. Blocks.
///
/// # Errors
///
/// If it is no image, broken, or too large to be decoded.
pub fn read(path: &Path) -> Result<SizedImage, ImageError> {
    let unreadable = |error: std::io::Error| ImageError::Unreadable(error.to_string());
    // Opening a pipe would wait for its writer.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(ImageError::Folder);
    }
    if !metadata.is_file() {
        return Err(ImageError::NotAFile);
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.by_ref().take(16).read_to_end(&mut bytes).map_err(unreadable)?;
    image_type(&bytes).ok_or(ImageError::UnknownType)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(ImageError::TooManyBytes(metadata.len()));
    }
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    prepare(&bytes)
}

/// Checks an image and makes it small enough for every provider. Its size is checked by its header,
/// before any of it is decoded. Blocks.
///
/// # Errors
///
/// If it is no image, broken, or too large to be decoded.
pub fn prepare(bytes: &[u8]) -> Result<SizedImage, ImageError> {
    let media_type = image_type(bytes).ok_or(ImageError::UnknownType)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ImageError::TooManyBytes(bytes.len() as u64));
    }
    let (kind, format) = match media_type {
        "image/png" => ("PNG", ImageFormat::Png),
        "image/jpeg" => ("JPEG", ImageFormat::Jpeg),
        "image/gif" => ("GIF", ImageFormat::Gif),
        _ => ("WebP", ImageFormat::WebP),
    };
    let broken = |error: image::ImageError| ImageError::Broken { kind, why: error.to_string() };
    let (picture, orientation) = decode(bytes, format, broken)?;
    let (width, height) = (picture.width(), picture.height());
    let target = sent_size(width, height);
    let upright = orientation == Orientation::NoTransforms;
    if target == (width, height) && bytes.len() <= MAX_SENT_BYTES && upright {
        return Ok(sized(media_type, bytes, width, height));
    }
    let mut picture = match target == (width, height) {
        true => picture,
        false => picture.resize_exact(target.0, target.1, FilterType::CatmullRom),
    };
    picture.apply_orientation(orientation);
    let (media_type, bytes) = encode(&picture, format).map_err(broken)?;
    Ok(sized(media_type, &bytes, picture.width(), picture.height()))
}

fn decode(
    bytes: &[u8],
    format: ImageFormat,
    broken: impl Fn(image::ImageError) -> ImageError,
) -> Result<(DynamicImage, Orientation), ImageError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(&broken)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(ImageError::TooManyPixels(width, height));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    Ok((picture, orientation))
}

/// Returns the size within which models read an image of this size, with the same proportions.
fn sent_size(width: u32, height: u32) -> (u32, u32) {
    let (wide, high) = (f64::from(width), f64::from(height));
    let by_side = f64::from(MAX_SIDE) / wide.max(high);
    let scale = by_side.min((MAX_SENT_PIXELS / (wide * high)).sqrt());
    if scale >= 1.0 {
        return (width, height);
    }
    // Rounding up could pass a limit; but the longest side is not to miss it by an error of rounding.
    let scaled = |side: f64| ((side * scale + 1e-6).floor() as u32).max(1);
    (scaled(wide), scaled(high))
}

/// Encodes a photo as JPEG, and anything else as PNG, which keeps the edges of text sharp.
fn encode(
    picture: &DynamicImage,
    format: ImageFormat,
) -> Result<(&'static str, Vec<u8>), image::ImageError> {
    if format != ImageFormat::Jpeg {
        let mut png = Vec::new();
        let plain = match picture.color().has_alpha() {
            true => DynamicImage::from(picture.to_rgba8()),
            false => DynamicImage::from(picture.to_rgb8()),
        };
        plain.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
        if png.len() <= MAX_SENT_BYTES {
            return Ok(("image/png", png));
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&picture.to_rgb8())?;
    Ok(("image/jpeg", jpeg))
}

fn sized(media_type: &str, bytes: &[u8], width: u32, height: u32) -> SizedImage {
    let data: Arc<str> = STANDARD.encode(bytes).into();
    let source = ImageSource { media_type: media_type.to_owned(), data };
    SizedImage { source, width, height, bytes: bytes.len() as u64 }
}

/// Encodes a PNG of this size, for tests.
#[cfg(test)]
pub fn sample_png(width: u32, height: u32) -> Vec<u8> {
    let mut png = Vec::new();
    let picture = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7]));
    picture.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).unwrap();
    png
}

#[cfg(test)]
mod tests;
