//! Snapshots: as bytes, in files, and of refused requests.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cuarena::{Arena, ErrorKind, SnapshotFormat};

/// A folder that goes at the end of its test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cuarena-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn both_formats_have_what_lives() {
    let arena = Arena::open("memory=none,pool=1MiB,name=seen").unwrap();
    let block = arena.alloc(12345).unwrap();
    let json = String::from_utf8(arena.snapshot(SnapshotFormat::Json).unwrap()).unwrap();
    assert!(json.contains("\"name\":\"seen\""), "{json}");
    assert!(json.contains("\"requested_bytes\":12345"), "{json}");
    let pickle = arena.snapshot(SnapshotFormat::PyTorch).unwrap();
    assert!(pickle.starts_with(&[0x80, 2]) && pickle.ends_with(b"."));
    let size = 12345_i32.to_le_bytes();
    assert!(pickle.windows(4).any(|bytes| bytes == size));
    drop(block);
}

#[test]
fn file_is_its_owners() {
    let folder = Folder::new("file");
    let arena = Arena::open("memory=none,pool=1MiB").unwrap();
    let path = folder.0.join("one.json");
    arena.write_snapshot(SnapshotFormat::Json, &path).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let error = arena
        .write_snapshot(SnapshotFormat::Json, folder.0.join("none/one.json"))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.driver_code()),
        (ErrorKind::Driver, Some(2))
    );
    let error = arena
        .write_snapshot(SnapshotFormat::Json, "a\0b")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
}

#[test]
fn refused_request_leaves_one() {
    let folder = Folder::new("refused");
    let pattern = folder.0.join("%n.json");
    let arena = Arena::builder()
        .pool(1 << 20)
        .snapshot_on_oom(pattern.to_str().unwrap())
        .unwrap()
        .build()
        .unwrap();
    let block = arena.alloc(1 << 19).unwrap();
    assert_eq!(
        arena.alloc((1 << 19) + 1).unwrap_err().kind(),
        ErrorKind::OutOfMemory
    );
    let json = fs::read_to_string(folder.0.join("1.json")).unwrap();
    assert!(json.contains("\"asked_bytes\":524289"), "{json}");
    assert!(Arena::builder().snapshot_on_oom("%d").is_err());
    drop(block);
}
