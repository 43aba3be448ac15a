//! Vectors that come and go on a GPU, in slices of cudarc.

use std::error::Error;

use cuarena::{Amount, Arena, Preset};
use cudarc::driver::CudaContext;

// Every allocation of the program, and of all crates in it, is a block of an
// arena now.
cuarena::device_allocator!(Arena::builder()
    .preset(Preset::Grow)
    .limit(Amount::percent(80)));

fn main() -> Result<(), Box<dyn Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    for round in 0..1000 {
        let len = 1 + round * 7919 % 100_000;
        let vector = stream.clone_htod(&vec![round as f32; len])?;
        let copy = stream.clone_dtod(&vector)?;
        drop(vector);
        assert_eq!(stream.clone_dtoh(&copy)?[len - 1], round as f32);
    }
    let stats = cuarena::layer::stats(Some(0))?;
    println!(
        "{} allocations, {} of them of the driver",
        stats.allocs + stats.driver_allocs,
        stats.driver_allocs
    );
    Ok(())
}
