//! Vectors in the memory of a GPU.

use std::error::Error;

use cuarena::interop::cudarc::{ArenaExt, ArenaSlice, ArenaStream, BuilderExt};
use cuarena::{Arena, Block, CompactOptions};
use cudarc::driver::{sys, CudaContext, CudaFunction, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::sessions::Vectors;

/// `y[i] = a * x[i] + y[i]`.
const KERNEL: &str = include_str!("axpy.ptx");

const LONGEST: usize = 100_000;

pub struct Device {
    stream: ArenaStream,
    kernel: CudaFunction,
    ones: ArenaSlice<f32>,
}

impl Device {
    /// None where there is no device.
    pub fn open(pool: usize) -> Result<Option<Self>, Box<dyn Error>> {
        // SAFETY: opens the driver's library and closes it.
        if !unsafe { sys::is_culib_present() } {
            return Ok(None);
        }
        let Ok(context) = CudaContext::new(0) else {
            return Ok(None);
        };
        let kernel = context
            .load_module(Ptx::from_src(KERNEL))?
            .load_function("axpy_f32")?;
        // What every round reads has a place of its own.
        let constants = Arena::builder().cuda(&context).pool(1 << 20).build()?;
        let arena = Arena::builder()
            .cuda(&context)
            .pool(pool)
            .name("sessions")
            .build()?;
        let cuda = context.new_stream()?;
        let ones = constants
            .cuda_stream(&cuda)?
            .clone_htod(&vec![1.0; LONGEST])?;
        let stream = arena.cuda_stream(&cuda)?;
        Ok(Some(Self {
            stream,
            kernel,
            ones,
        }))
    }

    fn slice(&self, vector: Block) -> Result<ArenaSlice<f32>, Box<dyn Error>> {
        // SAFETY: each vector was a slice of `f32` of this stream.
        Ok(unsafe { self.stream.slice_of(vector)? })
    }
}

impl Vectors for Device {
    type Vector = Block;

    fn zeros(&self, len: usize) -> cuarena::Result<Block> {
        self.stream.alloc_zeros::<f32>(len)?.into_block()
    }

    fn add(&self, vector: Block, amount: f32) -> Result<Block, Box<dyn Error>> {
        let slice = self.slice(vector)?;
        let count = slice.len();
        let mut launch = self.stream.cuda().launch_builder(&self.kernel);
        launch.arg(&amount).arg(&self.ones).arg(&slice).arg(&count);
        // SAFETY: these are the kernel's arguments; it stays within both
        // slices, whose home is this stream.
        unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32))? };
        Ok(slice.into_block()?)
    }

    fn read(&self, vector: Block) -> Result<Vec<f32>, Box<dyn Error>> {
        let slice = self.slice(vector)?;
        Ok(self.stream.cuda().clone_dtoh(&slice)?)
    }

    /// In the order of the stream: the host does not wait.
    fn compact(&self) -> cuarena::Result<u64> {
        let options = CompactOptions::new().stream(self.stream.stream());
        Ok(self.arena().compact_to(&options)?.moves)
    }

    fn arena(&self) -> &Arena {
        self.stream.arena()
    }
}
