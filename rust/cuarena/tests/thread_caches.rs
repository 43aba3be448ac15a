//! Blocks that threads take, send to each other and drop, all at once.

use std::sync::mpsc;

use cuarena::*;

const THREADS: usize = 4;
const ROUNDS: usize = 5000;

fn filled(arena: &Arena, bytes: usize, value: u8) -> Block {
    let mut block = arena.alloc(bytes).unwrap();
    block.host_mut().unwrap().fill(value);
    block
}

#[test]
fn blocks_that_threads_send_keep_their_bytes() {
    let arena = Arena::builder().pool(16usize << 20).build().unwrap();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS)
        .map(|_| mpsc::sync_channel::<(Block, u8)>(64))
        .unzip();
    std::thread::scope(|scope| {
        for (i, sender) in senders.into_iter().enumerate() {
            let arena = &arena;
            scope.spawn(move || {
                for n in 0..ROUNDS {
                    let value = (n + i) as u8;
                    let block = filled(arena, 1 + n * 7 % 3000, value);
                    drop(filled(arena, 256, value));
                    sender.send((block, value)).unwrap();
                }
            });
        }
        for receiver in receivers {
            scope.spawn(move || {
                for (block, value) in receiver {
                    // SAFETY: the sender has written every byte.
                    let same =
                        |byte: &std::mem::MaybeUninit<u8>| unsafe { byte.assume_init() } == value;
                    assert!(block.host().unwrap().iter().all(same));
                }
            });
        }
    });
    let stats = arena.stats();
    assert_eq!((stats.live_blocks, stats.live_bytes), (0, 0), "{stats:?}");
    assert_eq!(stats.allocs, (2 * THREADS * ROUNDS) as u64);
    assert_eq!(stats.frees, stats.allocs);
    arena.check().unwrap();
}
