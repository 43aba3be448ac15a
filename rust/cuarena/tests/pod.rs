//! Plain data that safe code reads.

#![cfg(feature = "bytemuck")]
#![forbid(unsafe_code)]

use cuarena::{Arena, ErrorKind, MemoryKind, Placement, PodBlock};

fn arena() -> Arena {
    let builder = Arena::builder().placement(Placement::Low);
    builder.pool(1 << 20).build().unwrap()
}

#[test]
fn zeroed_values_are_zero_though_the_bytes_were_used() {
    let arena = arena();
    drop(arena.alloc_filled(1000, u64::MAX).unwrap());
    let block: PodBlock<u64> = arena.alloc_zeroed(1000).unwrap();
    assert!(block.host().unwrap().iter().all(|&value| value == 0));
    assert_eq!((block.len(), block.is_empty()), (1000, false));
    arena.check().unwrap();
}

#[test]
fn filled_and_copied_values_are_kept_when_blocks_move() {
    let arena = arena();
    let hole = arena.alloc(100_000).unwrap();
    let filled = arena.alloc_filled(1000, 2.5_f32).unwrap();
    let copied = arena.alloc_copied(b"of the program").unwrap();
    drop(hole);
    assert!(arena.compact().unwrap().moves >= 2);
    assert_eq!(filled.host().unwrap()[..], [2.5; 1000]);
    assert_eq!(copied.host().unwrap()[..], *b"of the program");
    arena.check().unwrap();
}

#[test]
fn values_are_written_where_they_are_read() {
    let arena = arena();
    let mut block = arena.alloc_zeroed::<i32>(10).unwrap();
    block.host_mut().unwrap()[3] = -3;
    block.write(4, &[4, 5]).unwrap();
    let mut some = [0; 4];
    block.read(2, &mut some).unwrap();
    assert_eq!(some, [0, -3, 4, 5]);
    assert_eq!(
        format!("{:?}", block.host_mut().unwrap()),
        "[0, 0, 0, -3, 4, 5, 0, 0, 0, 0]"
    );
    let typed = block.into_typed();
    assert_eq!(typed.len(), 10);
}

#[test]
fn an_empty_one_has_no_values() {
    let arena = arena();
    let mut block = arena.alloc_copied::<u16>(&[]).unwrap();
    assert!(block.host().unwrap().is_empty() && block.is_empty());
    block.read(0, &mut []).unwrap();
    block.write(0, &[]).unwrap();
}

#[test]
#[should_panic(expected = "range")]
fn values_past_the_end_are_not_read() {
    let block = arena().alloc_zeroed::<u8>(10).unwrap();
    let _ = block.read(8, &mut [0; 3]);
}

#[test]
fn memory_that_the_cpu_does_not_reach_is_refused() {
    let builder = Arena::builder().memory(MemoryKind::None).pool(1 << 20);
    let arena = builder.build().unwrap();
    let refused = |error: cuarena::Error| {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("CPU cannot reach"), "{error}");
    };
    refused(arena.alloc_filled(10, 1_u8).unwrap_err());
    refused(arena.alloc_copied(&[1_u8]).unwrap_err());
    let zeroed = arena.alloc_zeroed::<u8>(10).unwrap_err();
    assert_eq!(zeroed.kind(), ErrorKind::Unsupported);
    assert_eq!(arena.stats().live_blocks, 0);
}
