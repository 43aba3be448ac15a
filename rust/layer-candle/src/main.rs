//! Programs on candle, which know nothing of arenas but for one line. Each
//! prints one line of JSON: how long its steps took, what memory it took, and
//! what it computed.
//!
//! ```text
//! layer-candle train|serve|cache [--keep] [--steps N]
//! ```
//!
//! `CUARENA_ALLOCATOR=off` leaves memory to the driver's pool, as candle does by
//! itself; with `--keep` that pool keeps all that was freed.

mod cache;
mod driver;
mod figures;
mod model;
mod one_cache;
mod options;
mod requests;
mod serve;
mod train;
mod weights;

use candle_core::{Device, Result};

use figures::Figures;
use options::{Options, Scene};

cuarena::device_allocator!(cuarena::Arena::builder().preset(cuarena::Preset::Grow));

fn play(options: &Options) -> Result<Figures> {
    let device = Device::new_cuda(0)?;
    if options.keep {
        driver::keep_all_that_is_freed()?;
    }
    device.set_seed(1)?;
    match options.scene {
        Scene::Train => train::train(&device, options.steps),
        Scene::Serve => serve::serve(&device, options.steps),
        Scene::Cache => one_cache::serve(&device, options.steps),
    }
}

fn run() -> Result<()> {
    let options = Options::of(std::env::args().skip(1))?;
    let figures = play(&options)?;
    println!("{}", figures.report(options.scene.name())?);
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        let text = error.to_string();
        let what = text.lines().next().unwrap_or_default();
        eprintln!("layer-candle: {what}");
        std::process::exit(1);
    }
}
