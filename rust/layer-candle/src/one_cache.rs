//! Weights are loaded, what they were read into is freed, one cache takes all that the device has
//! left, and requests use its slots.

use candle_core::{DType, Device, Result, Tensor};

use crate::cache::Slot;
use crate::driver;
use crate::figures::Figures;
use crate::model::{Transformer, LARGE};
use crate::requests::Requests;
use crate::weights::weight;

const STEPS: usize = 80;
/// Requests that are served at once, each in a slot.
const ACTIVE: usize = 6;
/// Tokens of a slot.
const ROOM: usize = 1024;
const ROW: usize = ROOM * LARGE.width / LARGE.heads;
const SLOT_BYTES: usize = 2 * LARGE.layers * LARGE.heads * ROW * 2;
const WEIGHTS_BYTES: usize = LARGE.weights() * 2;
/// What the cache leaves for everything else.
const REST_BYTES: usize = 1 << 30;

/// Weights as they are read, of which what is kept has half the bytes.
fn load(device: &Device) -> Result<Transformer> {
    let mut read = Vec::new();
    let model = Transformer::new(LARGE, &mut |rows, columns| {
        read.push(weight(rows, columns, device)?);
        read[read.len() - 1].to_dtype(DType::BF16)
    })?;
    drop(read);
    device.synchronize()?;
    Ok(model)
}

fn cache_of(slots: usize, device: &Device) -> Result<Tensor> {
    let shape = (slots, 2 * LARGE.layers, LARGE.heads, ROW);
    Tensor::zeros(shape, DType::BF16, device)
}

/// The largest cache that can be had, of whole slots, where so much was free before the weights.
/// It begins with what would be left if nothing but these were held.
fn take_largest(device: &Device, free_bytes: u64) -> Result<Tensor> {
    let rest = Tensor::zeros(REST_BYTES, DType::U8, device)?;
    let left = (free_bytes as usize).saturating_sub(WEIGHTS_BYTES + REST_BYTES);
    let mut slots = left / SLOT_BYTES;
    let cache = loop {
        match cache_of(slots, device) {
            Err(_) if slots > ACTIVE => slots -= 1,
            cache => break cache?,
        }
    };
    drop(rest);
    device.synchronize()?;
    cache.reshape((slots, 2 * LARGE.layers, LARGE.heads, ROOM, ROW / ROOM))
}

pub fn serve(device: &Device, steps: Option<usize>) -> Result<Figures> {
    let mut figures = Figures::new()?;
    let free_before = driver::free_bytes()?;
    let model = load(device)?;
    let told = driver::free_bytes()?;
    let cache = take_largest(device, free_before)?;
    let bytes = cache.elem_count() * cache.dtype().size_in_bytes();
    figures.told_and_cache = Some((told, bytes as u64));
    let mut slots = |number| Ok(Slot::new(cache.get(number)?));
    Requests::new(ACTIVE, LARGE, &mut slots)?.serve(
        &model,
        device,
        steps.unwrap_or(STEPS),
        &mut figures,
    )?;
    Ok(figures)
}
