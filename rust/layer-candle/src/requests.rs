//! Requests that are served side by side, and end at random.

use candle_core::{Device, Result};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::cache::Cache;
use crate::figures::Figures;
use crate::model::{Sizes, Transformer};
use crate::weights::tokens;

struct Request<C> {
    cache: C,
    /// Tokens that are not in the cache yet: the prompt, then the last one of the answer.
    pending: Vec<u32>,
}

/// Makes the cache of the request of that number.
type Caches<'a, C> = dyn FnMut(usize) -> Result<C> + 'a;

pub struct Requests<'a, C> {
    all: Vec<Request<C>>,
    new_cache: &'a mut Caches<'a, C>,
    random: StdRng,
    sizes: Sizes,
    answers: u64,
}

/// One in so many requests ends in a step.
const STEPS_OF_A_REQUEST: u32 = 40;

fn prompt(random: &mut StdRng, sizes: Sizes) -> Vec<u32> {
    let length = random.random_range(32..=512);
    tokens(random, length, sizes)
}

/// Tells whether two runs had the same answers.
fn mixed(hash: u64, token: u32) -> u64 {
    (hash ^ u64::from(token)).wrapping_mul(0x0100_0000_01b3)
}

impl<'a, C: Cache> Requests<'a, C> {
    pub fn new(count: usize, sizes: Sizes, new_cache: &'a mut Caches<'a, C>) -> Result<Self> {
        let mut requests = Self {
            all: Vec::new(),
            new_cache,
            random: StdRng::seed_from_u64(2),
            sizes,
            answers: 0,
        };
        for number in 0..count {
            let request = requests.begun(number)?;
            requests.all.push(request);
        }
        Ok(requests)
    }

    fn begun(&mut self, number: usize) -> Result<Request<C>> {
        Ok(Request {
            cache: (self.new_cache)(number)?,
            pending: prompt(&mut self.random, self.sizes),
        })
    }

    /// The next token of each.
    fn advance(&mut self, model: &Transformer) -> Result<()> {
        for request in &mut self.all {
            let token = model.next(&request.pending, &mut request.cache)?;
            request.cache.end_pass();
            request.pending = vec![token];
            self.answers = mixed(self.answers, token);
        }
        Ok(())
    }

    fn replace_those_that_end(&mut self) -> Result<()> {
        for number in 0..self.all.len() {
            if self.random.random_ratio(1, STEPS_OF_A_REQUEST) {
                self.all[number] = self.begun(number)?;
            }
        }
        Ok(())
    }

    /// So many steps, each of which is one token of each request.
    pub fn serve(
        &mut self,
        model: &Transformer,
        device: &Device,
        steps: usize,
        figures: &mut Figures,
    ) -> Result<()> {
        for _ in 0..steps {
            figures.step(device, || self.advance(model))?;
            self.replace_those_that_end()?;
        }
        figures.result = format!("answers {:016x}", self.answers);
        Ok(())
    }
}
