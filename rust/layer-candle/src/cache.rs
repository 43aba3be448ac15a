//! Where keys and values of earlier tokens are kept.

use candle_core::{Result, Tensor};

pub trait Cache {
    /// What is extended from now on is this layer's.
    fn begin_layer(&mut self, layer: usize);
    /// Puts those of new tokens behind the earlier ones; gives all.
    fn extend(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)>;
    /// The new tokens of all layers are there.
    fn end_pass(&mut self) {}
}

/// None: for training.
pub struct Nothing;

impl Cache for Nothing {
    fn begin_layer(&mut self, _: usize) {}
    fn extend(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((k.clone(), v.clone()))
    }
}

/// Tensors that get longer with each token.
#[derive(Default)]
pub struct Growing {
    layers: Vec<(Tensor, Tensor)>,
    current: usize,
}

impl Cache for Growing {
    fn begin_layer(&mut self, layer: usize) {
        self.current = layer;
    }

    fn extend(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let all = match self.layers.get(self.current) {
            Some((keys, values)) => (Tensor::cat(&[keys, k], 2)?, Tensor::cat(&[values, v], 2)?),
            None => (k.clone(), v.clone()),
        };
        if self.current < self.layers.len() {
            self.layers[self.current] = all.clone();
        } else {
            self.layers.push(all.clone());
        }
        Ok(all)
    }
}

/// A sequence's part of one large tensor: of each layer its keys, then its values,
/// with room for so many tokens.
pub struct Slot {
    /// (2 * layers, heads, room, width of a head)
    part: Tensor,
    length: usize,
    current: usize,
    written: usize,
}

impl Slot {
    pub fn new(part: Tensor) -> Self {
        Self {
            part,
            length: 0,
            current: 0,
            written: 0,
        }
    }

    fn write(&self, row: usize, new: &Tensor) -> Result<Tensor> {
        let row = self.part.narrow(0, row, 1)?;
        row.slice_set(new, 2, self.length)?;
        row.narrow(2, 0, self.length + new.dim(2)?)?.contiguous()
    }
}

impl Cache for Slot {
    fn begin_layer(&mut self, layer: usize) {
        self.current = layer;
    }

    fn extend(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        self.written = k.dim(2)?;
        Ok((
            self.write(2 * self.current, k)?,
            self.write(2 * self.current + 1, v)?,
        ))
    }

    fn end_pass(&mut self) {
        self.length += self.written;
        self.written = 0;
    }
}
