//! The cases on memories that need no device. See `suite`.

mod suite;

use cuarena::Preset;
use suite::harness::{run, Test};
use suite::rig::{Bytes, Row, Uses, HOST_KINDS};
use suite::{cases, scenarios, streams, traces};

fn main() {
    let rows: Vec<Row> = HOST_KINDS.iter().flat_map(|kind| kind.rows()).collect();
    std::process::exit(run(suite_of(&rows)));
}

fn suite_of(rows: &[Row]) -> Vec<Test> {
    let mut tests = Vec::new();
    for row in rows.iter().copied() {
        let name = |case: &str| format!("{case} ({}, {:?})", row.kind.name, row.uses);
        let streams = streams::CASES
            .iter()
            .filter(|_| row.uses == Uses::OneStream);
        for (case, function) in cases::CASES.iter().chain(streams) {
            tests.push(Test {
                name: name(case),
                run: Box::new(move || function(row)),
            });
        }
        for scenario in scenarios::scenarios() {
            if row.kind.preset == Preset::Pool {
                tests.push(Test {
                    name: name(&scenario.name),
                    run: Box::new(move || scenarios::play(row, &scenario)),
                });
            }
        }
        let replays = row.kind.preset != Preset::Bfc && row.kind.bytes != Bytes::Buffer;
        for trace in TRACES
            .iter()
            .filter(|_| replays && row.uses != Uses::OneStream)
        {
            tests.push(Test {
                name: name(trace),
                run: Box::new(move || traces::replay(row, trace, 4000)),
            });
        }
    }
    tests
}

const TRACES: &[&str] = &["multistream.csv.gz", "cupy_analytics.csv.gz"];
