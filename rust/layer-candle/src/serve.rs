//! A transformer serves requests, each with a cache of its own that gets longer.

use candle_core::{Device, Result};

use crate::cache::Growing;
use crate::figures::Figures;
use crate::model::{Transformer, SMALL};
use crate::requests::Requests;
use crate::weights::weight;

const STEPS: usize = 250;
const ACTIVE: usize = 12;

pub fn serve(device: &Device, steps: Option<usize>) -> Result<Figures> {
    let mut figures = Figures::new()?;
    let model = Transformer::new(SMALL, &mut |rows, columns| weight(rows, columns, device))?;
    let mut caches = |_| Ok(Growing::default());
    Requests::new(ACTIVE, SMALL, &mut caches)?.serve(
        &model,
        device,
        steps.unwrap_or(STEPS),
        &mut figures,
    )?;
    Ok(figures)
}
