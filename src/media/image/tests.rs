use pretty_assertions::assert_eq;

use super::*;

fn decoded(image: &SizedImage) -> Vec<u8> {
    STANDARD.decode(&*image.source.data).unwrap()
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

#[test]
fn a_small_image_is_sent_as_it_is() {
    let picture = DynamicImage::new_rgb8(40, 30);
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(&picture, format);
        let image = prepare(&bytes).unwrap();
        assert_eq!(image.source.media_type, media_type);
        assert_eq!((image.width, image.height, decoded(&image)), (40, 30, bytes));
    }
}

#[test]
fn a_large_image_keeps_its_proportions_within_what_models_read() {
    assert_eq!(sent_size(1568, 733), (1568, 733));
    assert_eq!(sent_size(3840, 2160), (1429, 804));
    assert_eq!(sent_size(10_000, 1), (1568, 1));
    let image = prepare(&sample_png(1600, 400)).unwrap();
    assert_eq!((image.width, image.height), (1568, 392));
    assert_eq!(image.source.media_type, "image/png");
    let again = prepare(&decoded(&image)).unwrap();
    assert_eq!((again.width, again.height), (1568, 392));
    let photo = prepare(&encoded(&DynamicImage::new_rgb8(1200, 1200), ImageFormat::Jpeg)).unwrap();
    assert_eq!((photo.width, photo.source.media_type.as_str()), (1072, "image/jpeg"));
}

#[test]
fn a_photo_is_turned_as_its_camera_says() {
    let mut photo = encoded(&DynamicImage::new_rgb8(40, 30), ImageFormat::Jpeg);
    // Exif with one entry: orientation 6, a quarter to the right.
    let exif =
        b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    photo.splice(2..2, *exif);
    let image = prepare(&photo).unwrap();
    assert_eq!((image.width, image.height), (30, 40));
    assert_eq!(prepare(&decoded(&image)).unwrap().width, 30);
}

#[test]
fn an_image_of_many_bytes_is_encoded_again() {
    // Noise does not compress.
    let mut random = fastrand::Rng::with_seed(7);
    let noise =
        image::RgbaImage::from_fn(1072, 1072, |_, _| image::Rgba(random.u32(..).to_be_bytes()));
    let bytes = encoded(&noise.into(), ImageFormat::Png);
    assert!(bytes.len() > MAX_SENT_BYTES);
    let image = prepare(&bytes).unwrap();
    assert_eq!(image.source.media_type, "image/jpeg");
    assert!(image.source.data.len() <= 5_000_000, "{}", image.source.data.len());
}

#[test]
fn what_cannot_be_sent_says_why() {
    let png = sample_png(20, 20);
    let why = |bytes: &[u8]| prepare(bytes).unwrap_err().to_string();
    assert_eq!(
        why(b"BM plain"),
        "not an image that models can read: convert it to PNG, JPEG, GIF or WebP"
    );
    let cut = why(&png[..png.len() / 2]);
    assert!(cut.starts_with("a broken PNG image: "), "{cut}");
    // The header alone says how large it is.
    let mut huge = png;
    huge[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    let crc = crc32(&huge[12..29]);
    huge[29..33].copy_from_slice(&crc.to_be_bytes());
    assert_eq!(
        why(&huge),
        "an image of 100,000×100,000 pixels, too large to be read: make it smaller"
    );
}

#[test]
fn only_regular_image_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read(dir.path()), Err(ImageError::Folder));
    assert_eq!(read(Path::new("/dev/zero")), Err(ImageError::NotAFile));
    let text = dir.path().join("a.png");
    std::fs::write(&text, "text").unwrap();
    assert_eq!(read(&text), Err(ImageError::UnknownType));
    let big = dir.path().join("big.png");
    std::fs::write(&big, sample_png(3, 3)).unwrap();
    assert_eq!(read(&big).unwrap().size(), "3×3 · 98 bytes");
    std::fs::File::options().append(true).open(&big).unwrap().set_len(50_000_000).unwrap();
    assert_eq!(read(&big), Err(ImageError::TooManyBytes(50_000_000)));
}

/// The checksum of a PNG chunk.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}
