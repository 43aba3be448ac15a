//! Programs on cudarc's own slices, which know nothing of arenas: what each
//! computes is right, whoever gives it memory. On the stand-in driver accesses
//! that nothing orders are reported besides, and `CUARENA_STANDIN_STRICT=1`
//! makes a report the end of the process.
//!
//! A name on the command line runs the programs that have it in theirs, and
//! `pairs` one that takes the time.

mod errors;
mod graphs;
mod pairs;
mod slices;
mod streams;
mod threads;

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;

#[cfg(feature = "linked")]
cuarena::device_allocator!(cuarena::Arena::builder()
    .preset(cuarena::Preset::Grow)
    .name("programs"));

pub type Outcome = Result<(), Box<dyn Error>>;

/// What each program begins with.
pub struct Device {
    pub context: Arc<CudaContext>,
    /// `y[i] = a * x[i] + y[i]`
    pub axpy: CudaFunction,
}

const KERNEL: &str = include_str!("../../example-app/src/axpy.ptx");

impl Device {
    fn open() -> Result<Self, Box<dyn Error>> {
        let context = CudaContext::new(0)?;
        let module = context.load_module(Ptx::from_src(KERNEL))?;
        let axpy = module.load_function("axpy_f32")?;
        Ok(Self { context, axpy })
    }
}

type Program = (&'static str, fn(&Device) -> Outcome);

const PROGRAMS: &[Program] = &[
    ("slices: allocated and freed", slices::allocated_and_freed),
    ("slices: copied", slices::copied),
    ("slices: computed", slices::computed),
    ("streams: several", streams::several),
    ("streams: freed on another", streams::freed_on_another),
    ("streams: ended", streams::ended),
    ("threads: each with a stream", threads::each_with_a_stream),
    ("threads: slices sent", threads::slices_sent),
    ("errors: too much", errors::too_much),
    ("errors: freed twice", errors::freed_twice),
    ("graphs: launched again", graphs::launched_again),
    ("graphs: beside others", graphs::beside_others),
];

/// What the layer did, where this program can ask it.
#[cfg(feature = "linked")]
fn check_served() {
    let stats = cuarena::layer::stats(Some(0)).expect("figures");
    println!("{stats:?}");
    if std::env::var("CUARENA_ALLOCATOR").as_deref() != Ok("off") {
        assert!(
            stats.allocs > 1000,
            "expected over 1000 allocations of the arena"
        );
        assert!(stats.captured > 0, "expected allocations of graphs");
        let arena = stats.arena.expect("an arena");
        assert_eq!(arena.live_blocks, 0, "every slice was dropped");
    }
}

#[cfg(not(feature = "linked"))]
fn check_served() {}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let device = Device::open().expect("a device");
    if wanted == "pairs" {
        return pairs::timed(&device).expect("pairs");
    }
    for (name, program) in PROGRAMS.iter().filter(|(name, _)| name.contains(&wanted)) {
        program(&device).unwrap_or_else(|error| panic!("{name}: {error}"));
        device.context.synchronize().expect("a wait");
        device
            .context
            .check_err()
            .unwrap_or_else(|error| panic!("{name}: parked: {error:?}"));
        println!("ok {name}");
    }
    if wanted.is_empty() {
        check_served();
    }
}
