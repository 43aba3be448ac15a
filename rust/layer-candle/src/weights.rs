//! Weights and tokens, which are random: the same ones in each run.

use candle_core::{Device, Result, Tensor};
use rand::rngs::StdRng;
use rand::Rng;

use crate::model::Sizes;

pub fn weight(rows: usize, columns: usize, device: &Device) -> Result<Tensor> {
    Tensor::randn(0_f32, 0.02, (rows, columns), device)
}

pub fn tokens(random: &mut StdRng, count: usize, sizes: Sizes) -> Vec<u32> {
    (0..count)
        .map(|_| random.random_range(0..sizes.vocabulary as u32))
        .collect()
}
