//! A transformer learns, of batches whose sequences have another length each time.

use candle_core::{Device, Error, Result, Tensor, Var};
use candle_nn::{loss, AdamW, Optimizer, ParamsAdamW};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::cache::Nothing;
use crate::figures::Figures;
use crate::model::{Transformer, SMALL};
use crate::weights::{tokens, weight};

const STEPS: usize = 150;
const BATCH: usize = 8;

fn trainable(device: &Device) -> Result<(Transformer, Vec<Var>)> {
    let mut vars = Vec::new();
    let model = Transformer::new(SMALL, &mut |rows, columns| {
        let var = Var::from_tensor(&weight(rows, columns, device)?)?;
        vars.push(var.clone());
        Ok(var.as_tensor().clone())
    })?;
    Ok((model, vars))
}

/// Of a model that is to repeat each token.
fn loss_of(model: &Transformer, batch: &[u32], device: &Device) -> Result<Tensor> {
    let targets = Tensor::from_slice(batch, batch.len(), device)?;
    loss::cross_entropy(&model.forward(batch, BATCH, &mut Nothing)?, &targets)
}

pub fn train(device: &Device, steps: Option<usize>) -> Result<Figures> {
    let mut figures = Figures::new()?;
    let mut random = StdRng::seed_from_u64(1);
    let (model, vars) = trainable(device)?;
    let mut optimizer = AdamW::new(vars, ParamsAdamW::default())?;
    let mut losses = Vec::new();
    for _ in 0..steps.unwrap_or(STEPS) {
        let length = random.random_range(64..=512);
        let batch = tokens(&mut random, BATCH * length, SMALL);
        losses.push(figures.step(device, || {
            let loss = loss_of(&model, &batch, device)?;
            optimizer.backward_step(&loss)?;
            loss.to_scalar::<f32>()
        })?);
    }
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    if last.is_nan() || last >= first {
        return Err(Error::Msg(format!("the loss went from {first} to {last}")));
    }
    figures.result = format!("loss {first} to {last}");
    Ok(figures)
}
