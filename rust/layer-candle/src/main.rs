//! A small model in candle, which knows nothing of arenas but for one line: it
//! learns, generates with a growing cache, and its numbers are those of the CPU.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{linear, loss, ops, Linear, Module, Optimizer, VarBuilder, VarMap, SGD};

cuarena::device_allocator!(cuarena::Arena::builder().preset(cuarena::Preset::Grow));

const WIDTH: usize = 256;
const STEPS: usize = 100;

struct Model {
    first: Linear,
    second: Linear,
}

impl Model {
    fn new(builder: VarBuilder) -> Result<Self> {
        Ok(Self {
            first: linear(WIDTH, 4 * WIDTH, builder.pp("first"))?,
            second: linear(4 * WIDTH, WIDTH, builder.pp("second"))?,
        })
    }
}

impl Module for Model {
    fn forward(&self, inputs: &Tensor) -> Result<Tensor> {
        self.second.forward(&self.first.forward(inputs)?.relu()?)
    }
}

/// The loss before and after some steps.
fn learn(device: &Device) -> Result<(f32, f32)> {
    let vars = VarMap::new();
    let model = Model::new(VarBuilder::from_varmap(&vars, DType::F32, device))?;
    let mut optimizer = SGD::new(vars.all_vars(), 0.1)?;
    let inputs = Tensor::randn(0_f32, 1.0, (512, WIDTH), device)?;
    let (mut first, mut last) = (None, 0.0);
    for _ in 0..STEPS {
        let loss = loss::mse(&model.forward(&inputs)?, &inputs)?;
        optimizer.backward_step(&loss)?;
        last = loss.to_scalar::<f32>()?;
        first.get_or_insert(last);
    }
    Ok((first.unwrap_or(last), last))
}

/// Attention over what came before, whose cache gets longer by one each step.
fn generate(device: &Device, seeds: &[Tensor]) -> Result<Vec<f32>> {
    let mut cache = seeds[0].to_device(device)?;
    for seed in &seeds[1..] {
        let query = seed.to_device(device)?;
        let scores = query.matmul(&cache.t()?)?.affine(0.05, 0.0)?;
        let next = ops::softmax(&scores, 1)?.matmul(&cache)?;
        cache = Tensor::cat(&[&cache, &next], 0)?;
    }
    cache.flatten_all()?.to_vec1()
}

fn compare(device: &Device) -> Result<()> {
    let seeds = (0..STEPS)
        .map(|_| Tensor::randn(0_f32, 1.0, (1, WIDTH), &Device::Cpu))
        .collect::<Result<Vec<_>>>()?;
    let here = generate(&Device::Cpu, &seeds)?;
    let there = generate(device, &seeds)?;
    let far = here
        .iter()
        .zip(&there)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(far < 1e-2, "the device is {far} from the CPU");
    Ok(())
}

fn main() -> Result<()> {
    let device = Device::new_cuda(0)?;
    let (first, last) = learn(&device)?;
    assert!(last < first, "the loss went from {first} to {last}");
    compare(&device)?;
    device.synchronize()?;
    let stats = cuarena::layer::stats(Some(0)).expect("figures");
    println!("right: the loss went from {first} to {last}; {stats:?}");
    if std::env::var("CUARENA_ALLOCATOR").as_deref() != Ok("off") {
        assert!(
            stats.allocs > 1000,
            "expected over 1000 allocations of the arena"
        );
    }
    Ok(())
}
