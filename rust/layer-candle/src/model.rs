//! A small transformer, as a crate on candle would write it.

use candle_core::{DType, Device, Result, Tensor, D};
use candle_nn::ops;

use crate::cache::Cache;

#[derive(Clone, Copy)]
pub struct Sizes {
    pub vocabulary: usize,
    pub width: usize,
    pub heads: usize,
    pub layers: usize,
}

impl Sizes {
    /// How many there are in all matrices.
    pub const fn weights(&self) -> usize {
        (2 * self.vocabulary + 12 * self.layers * self.width) * self.width
    }
}

pub const SMALL: Sizes = Sizes {
    vocabulary: 4096,
    width: 512,
    heads: 8,
    layers: 6,
};

pub const LARGE: Sizes = Sizes {
    vocabulary: 8192,
    width: 2048,
    heads: 16,
    layers: 24,
};

/// Gives a matrix of weights of so many rows and columns.
pub type Weights<'a> = dyn FnMut(usize, usize) -> Result<Tensor> + 'a;

struct Layer {
    qkv: Tensor,
    out: Tensor,
    up: Tensor,
    down: Tensor,
}

pub struct Transformer {
    pub sizes: Sizes,
    embedding: Tensor,
    layers: Vec<Layer>,
    head: Tensor,
}

fn normalized(x: &Tensor) -> Result<Tensor> {
    x.broadcast_div(&(x.sqr()?.mean_keepdim(D::Minus1)? + 1e-5)?.sqrt()?)
}

/// Minus infinity where a row's token must not look: at later ones.
fn mask(rows: usize, columns: usize, dtype: DType, device: &Device) -> Result<Tensor> {
    let before = columns - rows;
    let values: Vec<f32> = (0..rows)
        .flat_map(|row| {
            (0..columns).map(move |at| {
                if at > before + row {
                    f32::NEG_INFINITY
                } else {
                    0.0
                }
            })
        })
        .collect();
    Tensor::from_vec(values, (rows, columns), device)?.to_dtype(dtype)
}

fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (rows, width) = (q.dim(2)?, q.dim(3)?);
    let mut scores = (q.matmul(&k.t()?)? / (width as f64).sqrt())?;
    if rows > 1 {
        scores = scores.broadcast_add(&mask(rows, k.dim(2)?, q.dtype(), q.device())?)?;
    }
    ops::softmax(&scores, D::Minus1)?.matmul(v)
}

impl Layer {
    fn new(width: usize, weights: &mut Weights) -> Result<Self> {
        Ok(Self {
            qkv: weights(width, 3 * width)?,
            out: weights(width, width)?,
            up: weights(width, 4 * width)?,
            down: weights(4 * width, width)?,
        })
    }

    /// Of `batch` sequences, whose tokens are the rows of x.
    fn attend(
        &self,
        x: &Tensor,
        batch: usize,
        heads: usize,
        cache: &mut dyn Cache,
    ) -> Result<Tensor> {
        let (rows, width) = x.dims2()?;
        let parts = normalized(x)?
            .matmul(&self.qkv)?
            .reshape((batch, rows / batch, 3, heads, width / heads))?
            .permute((2, 0, 3, 1, 4))?
            .contiguous()?;
        let (k, v) = cache.extend(&parts.get(1)?, &parts.get(2)?)?;
        attention(&parts.get(0)?, &k, &v)?
            .transpose(1, 2)?
            .reshape((rows, width))?
            .matmul(&self.out)
    }

    fn forward(
        &self,
        x: &Tensor,
        batch: usize,
        heads: usize,
        cache: &mut dyn Cache,
    ) -> Result<Tensor> {
        let x = (x + self.attend(x, batch, heads, cache)?)?;
        let inner = normalized(&x)?
            .matmul(&self.up)?
            .gelu()?
            .matmul(&self.down)?;
        x + inner
    }
}

impl Transformer {
    pub fn new(sizes: Sizes, weights: &mut Weights) -> Result<Self> {
        let embedding = weights(sizes.vocabulary, sizes.width)?;
        let layers = (0..sizes.layers)
            .map(|_| Layer::new(sizes.width, weights))
            .collect::<Result<_>>()?;
        let head = weights(sizes.width, sizes.vocabulary)?;
        Ok(Self {
            sizes,
            embedding,
            layers,
            head,
        })
    }

    /// What follows each of the tokens, which are of `batch` sequences of the same length.
    pub fn forward(&self, tokens: &[u32], batch: usize, cache: &mut dyn Cache) -> Result<Tensor> {
        let ids = Tensor::from_slice(tokens, tokens.len(), self.head.device())?;
        let mut x = self.embedding.index_select(&ids, 0)?;
        for (index, layer) in self.layers.iter().enumerate() {
            cache.begin_layer(index);
            x = layer.forward(&x, batch, self.sizes.heads, cache)?;
        }
        normalized(&x)?.matmul(&self.head)
    }

    /// The most likely token behind the last of one sequence.
    pub fn next(&self, tokens: &[u32], cache: &mut dyn Cache) -> Result<u32> {
        let logits = self.forward(tokens, 1, cache)?;
        logits.get(tokens.len() - 1)?.argmax(0)?.to_scalar()
    }
}
