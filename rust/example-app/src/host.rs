//! Vectors in host memory.

use std::error::Error;

use cuarena::{Arena, TypedBlock};

use crate::sessions::Vectors;

pub struct Host(Arena);

impl Host {
    pub fn open(pool: usize) -> cuarena::Result<Self> {
        Ok(Self(Arena::builder().pool(pool).name("sessions").build()?))
    }
}

impl Vectors for Host {
    type Vector = TypedBlock<f32>;

    fn zeros(&self, len: usize) -> cuarena::Result<TypedBlock<f32>> {
        let mut vector = self.0.alloc_typed(len)?;
        vector.host_mut()?.fill(0.0);
        Ok(vector)
    }

    fn add(
        &self,
        mut vector: TypedBlock<f32>,
        amount: f32,
    ) -> Result<TypedBlock<f32>, Box<dyn Error>> {
        let mut view = vector.host_mut()?;
        // SAFETY: all of it was written.
        for number in unsafe { view.assume_init() } {
            *number += amount;
        }
        drop(view);
        Ok(vector)
    }

    fn read(&self, vector: TypedBlock<f32>) -> Result<Vec<f32>, Box<dyn Error>> {
        let view = vector.host()?;
        // SAFETY: all of it was written.
        Ok(unsafe { view.assume_init() }.to_vec())
    }

    fn compact(&self) -> cuarena::Result<u64> {
        Ok(self.0.compact()?.moves)
    }

    fn arena(&self) -> &Arena {
        &self.0
    }
}
