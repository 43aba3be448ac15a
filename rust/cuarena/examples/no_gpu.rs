//! A first program: it takes a GPU's memory if there is one, and the host's if
//! not, and does the same with either.
//!
//! ```text
//! cargo run --example no_gpu
//! ```

use cuarena::{Arena, Error, MemoryKind, Preset, Request};

/// An arena that takes what it needs, up to 256 MiB.
fn arena_of(memory: MemoryKind) -> Result<Arena, Error> {
    Arena::builder()
        .preset(Preset::Grow)
        .memory(memory)
        .limit(256 << 20)
        .name("example")
        .build()
}

fn main() -> Result<(), Error> {
    let arena = match arena_of(MemoryKind::Device) {
        Err(error) if error.is_no_device() => {
            println!("{error}; so host memory it is");
            arena_of(MemoryKind::Pageable)?
        }
        arena => arena?,
    };

    let layers = arena.tag("layers")?;
    let request = Request::new().tag(layers);
    let mut kept = Vec::new();
    for size in (1..=64).map(|n| n * 100_000) {
        let block = arena.alloc_with(size, &request)?;
        if size % 3 == 0 {
            kept.push(block);
        } // others are free again here
    }

    for info in arena.blocks().take(3) {
        println!("{:?}: {} bytes", info.block, info.requested);
    }
    let stats = arena.stats();
    println!(
        "{} blocks of {} MiB live; {} MiB reserved, {} at most; {} allocations so far",
        stats.live_blocks,
        stats.live_bytes >> 20,
        stats.reserved_bytes >> 20,
        stats.peak_reserved_bytes >> 20,
        stats.allocs,
    );

    match arena.alloc(1 << 30) {
        Err(error) => println!("as expected: {error}"),
        Ok(block) => println!("more than the limit: {block:?}"),
    }
    drop(kept);
    println!("{} MiB given back", arena.trim(0)? >> 20);
    arena.close()?;
    Ok(())
}
