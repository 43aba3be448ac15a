//! Compaction in a program that keeps addresses of its own: a table of rows, as
//! a kernel would read it, is kept true by the closure.
//!
//! ```text
//! cargo run --example compaction
//! ```

use std::collections::HashMap;
use std::ops::ControlFlow;

use cuarena::{Address, Arena, BlockId, CompactOptions, Error, TypedBlock};

const ROWS: usize = 500;

/// Rows of different lengths, and where each is.
struct Table {
    rows: HashMap<BlockId, TypedBlock<u32>>,
    places: HashMap<BlockId, Address>,
}

impl Table {
    fn new(arena: &Arena) -> Result<Self, Error> {
        let mut rows = HashMap::new();
        for n in 0..ROWS {
            let mut row = arena.alloc_typed(100 + n)?;
            row.host_mut()?.fill(n as u32);
            rows.insert(row.as_block().id(), row);
        }
        let place = |info: cuarena::BlockInfo| info.address.map(|at| (info.block, at));
        let places = arena.blocks().filter_map(place).collect();
        Ok(Self { rows, places })
    }

    /// Two rows of three go.
    fn thin_out(&mut self) {
        let mut n = 0;
        self.rows.retain(|_, _| {
            n += 1;
            n % 3 == 0
        });
        let rows = &self.rows;
        self.places.retain(|id, _| rows.contains_key(id));
    }

    /// The rows have their values, and are where the table says.
    fn check(&self) -> Result<(), Error> {
        for (id, row) in &self.rows {
            let view = row.host()?;
            // SAFETY: every row was filled.
            let values = unsafe { view.assume_init() };
            assert!(values.iter().all(|v| *v == values[0]));
            assert_eq!(row.as_block().info()?.address, self.places.get(id).copied());
        }
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let arena = Arena::builder().pool(1 << 20).build()?;
    let mut table = Table::new(&arena)?;
    table.thin_out();

    // So many bytes are free, but apart.
    let wanted = arena.stats().free_bytes;
    let error = arena.alloc(wanted).unwrap_err();
    println!("{error}\nfragmented: {}", error.is_fragmented());

    // A part of it, in small batches, as between two frames of a game.
    let little = CompactOptions::new().max_bytes(64 << 10).batch_moves(16);
    let mut steps = 0;
    loop {
        let report = arena.compact_with(&little, |batch| {
            for relocation in batch {
                table.places.insert(relocation.block(), relocation.to());
            }
            ControlFlow::Continue(())
        })?;
        table.check()?;
        if report.moves == 0 {
            break;
        }
        steps += 1;
    }
    println!(
        "{steps} steps, {:?} moved in all",
        arena.stats().bytes_moved
    );

    let block = arena.alloc(wanted)?;
    println!("and now {} bytes fit: {block:?}", block.len());
    Ok(())
}
