//! Full and read-only disks. These tests mount a small file system, which needs root; without it
//! they print a note and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Sandbox, TINY, assert_same_run};

/// A file system in memory, unmounted on drop.
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
                println!("skipped: mounting a file system needs root");
                None
            }
        }
    }

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
fn a_run_on_a_full_disk_resumes_without_loss() {
    let sandbox = Sandbox::new();
    let scene = [&TINY[..], &["--frames", "60"]].concat();
    let hash = sandbox.hash(&scene, &["--out", "whole"]);
    // The run takes about 500 kB.
    for (name, size) in [
        ("none", 0),
        ("start", 20),
        ("few", 60),
        ("some", 200),
        ("most", 300),
    ] {
        let size = format!("size={}k", size + 4);
        let Some(disk) = Disk::new(sandbox.path(name), &size) else {
            return;
        };
        let out = format!("{name}/a");
        let first = sandbox.call(&[&scene[..], &["--out", &out]].concat());
        assert!(matches!(first.code, Some(1 | 2)), "{first:#?}");
        first
            .prints(&out)
            .prints("No space left on device")
            .prints("--resume");
        // The disk is still full: the run fails again, without further loss.
        let again = sandbox.call(&[&scene[..], &["--out", &out, "--resume"]].concat());
        assert!(matches!(again.code, Some(1 | 2)), "{again:#?}");
        again.prints("No space left on device");
        disk.remount("size=64m");
        assert_eq!(sandbox.hash(&scene, &["--out", &out, "--resume"]), hash);
        assert_same_run(&disk.0.join("a"), &sandbox.path("whole"));
        sandbox.expect(0, &["check", &out], &[]);
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
fn a_read_only_disk_is_named() {
    let sandbox = Sandbox::new();
    let Some(disk) = Disk::new(sandbox.path("disk"), "size=4m") else {
        return;
    };
    sandbox.expect(0, &TINY, &["--out", "disk/a", "--frames", "2"]);
    disk.remount("ro");
    let new = sandbox.expect(2, &TINY, &["--out", "disk/b"]);
    new.prints("disk/b").prints("--out");
    for how in ["--overwrite", "--resume"] {
        let old = sandbox.expect(2, &TINY, &["--out", "disk/a", "--frames", "4", how]);
        old.prints("disk/a").prints("--out");
    }
    // `check` and `export` work on a read-only run.
    sandbox.expect(0, &["check", "disk/a"], &[]);
    sandbox.expect(
        0,
        &["export", "disk/a", "--to", "obj", "--out", "elsewhere"],
        &[],
    );
}
