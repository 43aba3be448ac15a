//! Vectors that come and go on a GPU, in slices of cudarc.

use std::error::Error;

use cudarc::driver::CudaContext;

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
    println!("2000 allocations");
    Ok(())
}
