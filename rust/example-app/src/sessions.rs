//! Who comes, who goes, and what each vector must have in it.

use std::error::Error;
use std::fmt;

use cuarena::Arena;

/// Where vectors are.
pub trait Vectors {
    /// One of them. Nobody has its address between rounds, so it may be moved.
    type Vector;

    /// `len` zeros.
    fn zeros(&self, len: usize) -> cuarena::Result<Self::Vector>;
    /// Adds `amount` to each number.
    fn add(&self, vector: Self::Vector, amount: f32) -> Result<Self::Vector, Box<dyn Error>>;
    /// What the vector has in it.
    fn read(&self, vector: Self::Vector) -> Result<Vec<f32>, Box<dyn Error>>;
    /// Moves vectors together.
    fn compact(&self) -> cuarena::Result<u64>;
    fn arena(&self) -> &Arena;
}

struct Session<V> {
    vector: V,
    len: usize,
    sum: f32,
}

/// All that run.
pub struct Sessions<V: Vectors> {
    vectors: V,
    running: Vec<Session<V::Vector>>,
    random: Random,
    report: Report,
}

/// What happened.
#[derive(Default)]
pub struct Report {
    ended: u32,
    refused: u32,
    compactions: u32,
    moved: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} sessions ended, {} refused, {} vectors moved in {} compactions",
            self.ended, self.refused, self.moved, self.compactions
        )
    }
}

impl<V: Vectors> Sessions<V> {
    pub fn new(vectors: V) -> Self {
        Self {
            vectors,
            running: Vec::new(),
            random: Random(1),
            report: Report::default(),
        }
    }

    /// Some come, all work, some end.
    pub fn round(&mut self) -> Result<(), Box<dyn Error>> {
        for _ in 0..4 {
            self.begin()?;
        }
        let amount = self.random.below(4) as f32;
        for session in std::mem::take(&mut self.running) {
            let vector = self.vectors.add(session.vector, amount)?;
            let sum = session.sum + amount;
            let len = session.len;
            self.running.push(Session { vector, len, sum });
        }
        for _ in 0..3 {
            self.end_one()?;
        }
        Ok(())
    }

    /// Ends all that run.
    pub fn end(mut self) -> Result<Report, Box<dyn Error>> {
        while !self.running.is_empty() {
            self.end_one()?;
        }
        assert_eq!(self.vectors.arena().stats().live_blocks, 0);
        Ok(self.report)
    }

    fn begin(&mut self) -> Result<(), Box<dyn Error>> {
        let len = 1 + self.random.below(100_000) as usize;
        match self.zeros(len) {
            Ok(vector) => {
                let sum = 0.0;
                self.running.push(Session { vector, len, sum });
                Ok(())
            }
            Err(error) if error.is_out_of_memory() => {
                self.report.refused += 1;
                self.end_one()
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where room is there, but in pieces, these are moved together.
    fn zeros(&mut self, len: usize) -> cuarena::Result<V::Vector> {
        match self.vectors.zeros(len) {
            Err(error) if error.is_fragmented() => {
                self.report.compactions += 1;
                self.report.moved += self.vectors.compact()?;
                self.vectors.zeros(len)
            }
            other => other,
        }
    }

    fn end_one(&mut self) -> Result<(), Box<dyn Error>> {
        if self.running.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.running.len() as u64) as usize;
        let session = self.running.swap_remove(at);
        let numbers = self.vectors.read(session.vector)?;
        assert_eq!(numbers.len(), session.len);
        assert!(numbers.iter().all(|&number| number == session.sum));
        self.report.ended += 1;
        Ok(())
    }
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
