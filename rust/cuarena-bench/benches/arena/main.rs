//! cuarena beside cudarc: pairs of calls by size, several threads, recorded
//! programs, compaction with a closure; and, in turns instead of by criterion,
//! what the crate adds to C and saves over cudarc.
//!
//! Without a device only the host's part is measured. `CRITERION_HOME` is where
//! criterion's reports go; `CUARENA_BENCH_JSON` a file for `bench/tables`;
//! `CUARENA_TRACES` the folder of recorded programs.

mod compact;
mod pairs;
mod programs;
mod threads;
mod turns;

use std::fmt::Display;
use std::time::Duration;

use criterion::{Bencher, BenchmarkGroup, BenchmarkId, Criterion};
use cuarena_bench::beside::Sheet;
use cuarena_bench::gpu::Gpu;
use cuarena_bench::results;
use cuarena_bench::side::Side;

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// What is measured, and by whom: who came first stands first in tables.
pub struct Bench<'a> {
    group: Group<'a>,
    order: &'a mut Vec<String>,
}

impl Bench<'_> {
    fn run<S: Side>(&mut self, side: &S, of: &dyn Display, routine: impl FnMut(&mut Bencher<'_>)) {
        self.named(side.name(), of, routine);
    }

    fn named(&mut self, name: &str, of: &dyn Display, routine: impl FnMut(&mut Bencher<'_>)) {
        if !self.order.iter().any(|known| known == name) {
            self.order.push(name.to_owned());
        }
        let id = BenchmarkId::new(name, of);
        self.group.bench_function(id, routine);
    }
}

fn config() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .sample_size(20)
        .nresamples(5000)
        .configure_from_args()
}

fn main() {
    let mut criterion = config();
    let mut order = Vec::new();
    let mut part = |name: &str, measure: &dyn Fn(&mut Bench<'_>)| {
        let group = criterion.benchmark_group(name);
        let mut bench = Bench {
            group,
            order: &mut order,
        };
        measure(&mut bench);
        bench.group.finish();
    };
    part("host pair", &pairs::host);
    part("host compaction", &compact::host);
    let mut sheet = Sheet::new(std::env::args().skip(1));
    turns::host(&mut sheet);
    if let Some(gpu) = Gpu::find() {
        turns::device(&mut sheet, &gpu);
        part("pair", &|bench| pairs::device(bench, &gpu));
        part("pair, foreign stream", &|bench| pairs::foreign(bench, &gpu));
        part("pair, host memory", &|bench| pairs::reachable(bench, &gpu));
        part("threads", &|bench| threads::device(bench, &gpu));
        part("program", &|bench| programs::device(bench, &gpu));
        part("compaction", &|bench| compact::device(bench, &gpu));
    }
    criterion.final_summary();
    results::write(&order, &sheet.records).expect("the file that CUARENA_BENCH_JSON names");
}
