//! Disks that are full or cannot be written. These need to mount a small file system, which only
//! the superuser may; elsewhere they say so and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, TINY, same_run};

/// A mounted file system in memory.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn new(path: PathBuf, options: &str) -> Option<Disk> {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(&path);
        match mount.output() {
            Ok(output) if output.status.success() => Some(Disk(path)),
            _ => {
                println!("skipped: this test may not mount a file system here");
                None
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::new();
    let scene = [&TINY[..], &["--frames", "60"]].concat();
    let hash = place.hash(&scene, &["--out", "whole"]);
    // The whole run has about 500 kB.
    for (name, size) in [
        ("none", 0),
        ("start", 20),
        ("few", 60),
        ("some", 200),
        ("most", 300),
    ] {
        let size = format!("size={}k", size + 4);
        let Some(disk) = Disk::new(place.path(name), &size) else {
            return;
        };
        let out = format!("{name}/a");
        let began = place.call(&[&scene[..], &["--out", &out]].concat());
        assert!(matches!(began.code, Some(1 | 2)), "{began:#?}");
        began
            .says(&out)
            .says("No space left on device")
            .says("--resume");
        // Nothing has changed: it fails again, and does no harm.
        let again = place.call(&[&scene[..], &["--out", &out, "--resume"]].concat());
        assert!(matches!(again.code, Some(1 | 2)), "{again:#?}");
        again.says("No space left on device");
        disk.remount("size=64m");
        assert_eq!(place.hash(&scene, &["--out", &out, "--resume"]), hash);
        same_run(&disk.0.join("a"), &place.path("whole"));
        place.expect(0, &["check", &out], &[]);
        let leftovers = fs::read_dir(disk.0.join("a")).unwrap();
        let names = leftovers.map(|entry| entry.unwrap().file_name());
        assert!(
            !names
                .into_iter()
                .any(|name| name.to_string_lossy().ends_with(".tmp"))
        );
    }
}

#[test]
fn a_disk_that_cannot_be_written_is_named() {
    let place = Place::new();
    let Some(disk) = Disk::new(place.path("disk"), "size=4m") else {
        return;
    };
    place.expect(0, &TINY, &["--out", "disk/a", "--frames", "2"]);
    disk.remount("ro");
    let new = place.expect(2, &TINY, &["--out", "disk/b"]);
    new.says("disk/b").says("--out");
    for how in ["--overwrite", "--resume"] {
        let old = place.expect(2, &TINY, &["--out", "disk/a", "--frames", "4", how]);
        old.says("disk/a").says("--out");
    }
    // Reading needs no writing.
    place.expect(0, &["check", "disk/a"], &[]);
    place.expect(
        0,
        &["export", "disk/a", "--to", "obj", "--out", "elsewhere"],
        &[],
    );
}
