//! Programs whose workers all allocate, on one arena of addresses alone, on one
//! of device memory, with a stream for each worker or without, and on the
//! driver's pool beside them:
//!
//! - *rayon*: a parallel pass of which each task allocates, and leaves a block;
//!   tasks of a second pass, on whichever worker, free what the first left;
//! - *tokio*: tasks that hold blocks while they let others run, and go on on
//!   whichever worker.
//!
//! Without a device only addresses are measured. `CUARENA_BENCH_WORKERS_JSON`
//! names a file for `bench/tables`; `--quick` has two workers at most; words are
//! the names of sources, to measure only those.

mod count;
mod programs;
mod sources;

use std::fs::File;
use std::io::{self, Write};

use cuarena_bench::gpu::Gpu;
use cuarena_bench::machine;
use serde_json::{json, Value};

use programs::Found;
use sources::{growing, Arenas, Driver, Source, Streams};

/// As many as the C benchmark of threads has.
const MOST_WORKERS: usize = 16;

/// On how many workers at most, with which sources only, and what was found.
struct Sheet {
    most: usize,
    only: Vec<String>,
    records: Vec<Value>,
}

impl Sheet {
    /// All programs on one source, by how many workers there are. A source is
    /// made anew for each, so that it holds nothing of another.
    fn measure<S: Source>(&mut self, source: impl Fn(usize) -> S) {
        if !self.only.is_empty() && !self.only.iter().any(|name| name == S::NAME) {
            return;
        }
        for (program, run) in [
            ("rayon", programs::rayon::<S> as fn(S, usize) -> Found),
            ("tokio", programs::tokio::<S>),
        ] {
            let mut workers = 1;
            while workers <= self.most {
                let found = run(source(workers), workers);
                self.tell(program, S::NAME, workers, &found);
                workers *= 2;
            }
        }
    }

    fn tell(&mut self, program: &str, who: &str, workers: usize, found: &Found) {
        println!(
            "{program:<8} {who:<14} {workers:>2} workers: {:7.2} million calls per second, \
             a pair {:7.2} us, p99.9 {:8.2}, {:8.1} MiB reserved",
            found.calls_per_second / 1e6,
            found.median_ns / 1e3,
            found.rare_ns / 1e3,
            found.held_bytes as f64 / f64::from(1 << 20),
        );
        self.records.push(json!({
            "kind": "threads",
            "shape": program,
            "allocator": who,
            "threads": workers,
            "calls_per_second": found.calls_per_second,
            "p50_ns": found.median_ns,
            "p999_ns": found.rare_ns,
            "held_bytes": found.held_bytes,
        }));
    }

    /// Programs in the order of tables: all sources of one, then of the next.
    fn write(mut self) -> io::Result<()> {
        let Some(path) = std::env::var_os("CUARENA_BENCH_WORKERS_JSON") else {
            return Ok(());
        };
        let program = |record: &Value| record["shape"].as_str().map(str::to_owned);
        self.records.sort_by_key(program);
        let mut file = io::BufWriter::new(File::create(path)?);
        writeln!(file, "{}", machine::describe("workers"))?;
        for record in &self.records {
            writeln!(file, "{record}")?;
        }
        file.flush()
    }
}

fn main() {
    let (options, only): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("--"));
    let quick = options.iter().any(|word| word == "--quick");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sheet = Sheet {
        most: if quick {
            2
        } else {
            processors.clamp(4, MOST_WORKERS)
        },
        only,
        records: Vec::new(),
    };
    sheet.measure(|_| Arenas::<false>(growing(None)));
    if let Some(gpu) = Gpu::find() {
        let context = &gpu.untracked;
        sheet.measure(|_| Arenas::<true>(growing(Some(context))));
        sheet.measure(|workers| Streams::new(context, workers));
        if context.has_async_alloc() {
            sheet.measure(|workers| Driver::new(context, workers));
        }
    }
    sheet
        .write()
        .expect("the file that CUARENA_BENCH_WORKERS_JSON names");
}
