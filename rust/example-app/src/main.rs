//! Sessions of changing length in one pool of memory, as a server of a model
//! has them: each keeps a vector of numbers, which every round adds to; some
//! end, others come. When what is free lies in pieces the pool is compacted.
//!
//! With a device the vectors are on it and a kernel adds; without one the same
//! program runs on host memory.

mod device;
mod host;
mod sessions;

use std::error::Error;

use sessions::{Sessions, Vectors};

const POOL: usize = 8 << 20;
const ROUNDS: u32 = 400;

fn run<V: Vectors>(vectors: V) -> Result<(), Box<dyn Error>> {
    let mut sessions = Sessions::new(vectors);
    for _ in 0..ROUNDS {
        sessions.round()?;
    }
    println!("{}", sessions.end()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match device::Device::open(POOL)? {
        Some(device) => {
            println!("on the device");
            run(device)
        }
        None => {
            println!("no device: on host memory");
            run(host::Host::open(POOL)?)
        }
    }
}
