//! Reads the images that the user names, for a prompt.

use std::path::Path;

use crate::disk::{passes_link, repository_root, resolve};
use crate::media::{self, ImageError};
use crate::protocol::{SizedImage, printable_path};

/// Reads an image that the user names. `None` if there is no such file. `hides` returns whether the
/// rules hide a file. The project is the repository around `cwd`, unless that holds the whole `home`.
/// Blocks.
///
/// # Errors
/// One line for the user. A link of this project or of another one is an error if it leads elsewhere:
/// what the user sees and names must be what is read.
pub fn read_named_image(
    file: &Path,
    cwd: &Path,
    home: Option<&Path>,
    hides: impl Fn(&Path) -> bool,
) -> Result<Option<SizedImage>, String> {
    if std::fs::symlink_metadata(file).is_err() {
        return Ok(None);
    }
    let name = printable_path(file);
    if hides(file) {
        return Err(format!("{name}: a rule for Read hides it"));
    }
    let failed = |why: ImageError| format!("{name}: {why}");
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| failed(ImageError::Unreadable(error.to_string())))
    };
    let (target, cwd) = (real(file)?, real(cwd)?);
    let project = repository_root(&cwd, home).unwrap_or(&cwd);
    let leads_away = |link: &Path| link.starts_with(project) || leaves_project(link, &target, home);
    if passes_link(file, leads_away) && !target.starts_with(&cwd) {
        let target = printable_path(&target);
        return Err(format!("{name} is a link to {target}: name that path to send it"));
    }
    media::read(&target).map(Some).map_err(failed)
}

/// Whether the target is outside of the project that holds the link: the repository around it, or
/// its folder if there is none. A link in the `home`, above it or on the way to it is the user's own.
fn leaves_project(link: &Path, target: &Path, home: Option<&Path>) -> bool {
    let folder = link.parent().unwrap_or(link);
    let is_users = home.is_some_and(|home| {
        passes_link(home, |other| other == link)
            || resolve(home).is_some_and(|home| home.starts_with(folder))
    });
    !is_users && !target.starts_with(repository_root(folder, home).unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_of_any_project_leads_to_nothing_outside_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let home = top.join("home");
        for folder in ["me/app/.git", "me/other/.git", "me/other/sub", "me/plain", "me/shots"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        let (cwd, me) = (home.join("me/app"), home.join("me"));
        for file in ["a.png", "other/a.png", "plain/a.png", "shots/a.png", "app/a.png"] {
            let mut png = std::io::Cursor::new(Vec::new());
            image::DynamicImage::new_rgb8(2, 2)
                .write_to(&mut png, image::ImageFormat::Png)
                .unwrap();
            fs::write(me.join(file), png.into_inner()).unwrap();
        }
        for (target, link) in [
            ("../a.png", "other/out.png"),
            ("../../a.png", "other/sub/out.png"),
            ("../a.png", "other/sub/in.png"),
            ("../shots", "other/folder"),
            ("../app/a.png", "other/app.png"),
            ("../a.png", "plain/out.png"),
            ("a.png", "plain/in.png"),
            ("other/a.png", "own.png"),
            ("other/out.png", "chain.png"),
            ("shots", "pictures"),
            ("../shots", "app/shots"),
        ] {
            symlink(target, me.join(link)).unwrap();
        }
        symlink("home", top.join("homes")).unwrap();
        fs::create_dir(top.join("users")).unwrap();
        symlink("../home/me", top.join("users/me")).unwrap();
        let read = |file: &str, home: &Path| {
            read_named_image(&me.join(file), &cwd, Some(home), |_| false).map(|read| read.is_some())
        };
        let homes = ["home/me", "homes/me", "users/me"].map(|home| top.join(home));
        for (file, target) in [
            ("other/out.png", "a.png"),
            ("other/sub/out.png", "a.png"),
            ("other/folder/a.png", "shots/a.png"),
            ("plain/out.png", "a.png"),
            ("chain.png", "a.png"),
            ("app/shots/a.png", "shots/a.png"),
        ] {
            let (file, target) = (me.join(file), me.join(target));
            let line = format!(
                "{} is a link to {}: name that path to send it",
                file.display(),
                target.display()
            );
            for home in &homes {
                let read = read(file.to_str().unwrap(), home);
                assert_eq!(read, Err(line.clone()));
            }
        }
        for file in [
            "a.png",
            "other/a.png",
            "other/sub/in.png",
            "other/app.png",
            "plain/in.png",
            "own.png",
            "pictures/a.png",
            "../../homes/me/a.png",
        ] {
            for home in &homes {
                assert_eq!(read(file, home), Ok(true), "{file}");
            }
        }
        let through_home = homes[2].join("a.png");
        assert_eq!(read(through_home.to_str().unwrap(), &homes[2]), Ok(true));
    }
}
