//! What debugging finds from Rust: writes past a block, and what lives.

use cuarena::{Arena, ErrorKind, Fill};

fn arena() -> Arena {
    Arena::builder()
        .pool(1 << 20)
        .guard(64)
        .fill(Fill::Both)
        .quarantine(64 << 10)
        .stacks(4)
        .build()
        .unwrap()
}

#[test]
fn a_write_past_a_block_is_found_once() {
    let arena = arena();
    let block = arena.alloc(100).unwrap();
    arena.check_guards().unwrap();
    // SAFETY: nothing else uses the block; the byte behind it is the arena's,
    // and is there.
    unsafe {
        let pin = block.pin().unwrap();
        pin.device_ptr().as_ptr::<u8>().add(100).write(1);
    }
    let error = arena.check_guards().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("behind it"), "{error}");
    arena.check_guards().unwrap();
}

#[test]
fn leaks_are_told_by_tag() {
    let arena = arena();
    let tag = arena.tag("weights").unwrap();
    let request = cuarena::Request::new().tag(tag);
    let block = arena.alloc_with(300, &request).unwrap();
    let lines = arena.leaks().unwrap();
    assert_eq!(lines[0], "1 blocks of 300 bytes live");
    assert!(lines[1].starts_with("tag 'weights': 1 blocks of 300 bytes; the oldest"));
    drop(block);
    assert_eq!(arena.leaks().unwrap()[0], "0 blocks of 0 bytes live");
}

#[test]
fn new_bytes_have_the_pattern() {
    let arena = arena();
    let mut block = arena.alloc(64).unwrap();
    let mut view = block.host_mut().unwrap();
    // SAFETY: the arena has written the bytes.
    assert!(unsafe { view.assume_init() }
        .iter()
        .all(|&byte| byte == 0xcd));
}
