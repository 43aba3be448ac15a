//! The cases on memories of a device: on the stand-in driver of the C suites,
//! or on a real one. Without one it is skipped. See `suite`.

mod suite;

use suite::driver::{driver, Driver};
use suite::harness::{no_device, run, Test};
use suite::rig::{Uses, DEVICE_KINDS};
use suite::{cases, device, scenarios, streams, traces};

fn main() {
    let status = driver().map_or_else(no_device, |driver| run(suite_on(driver)));
    std::process::exit(status);
}

fn suite_on(driver: &'static Driver) -> Vec<Test> {
    let mut tests = Vec::new();
    for (case, function) in device::CASES {
        tests.push(Test {
            name: (*case).into(),
            run: Box::new(move || function(driver)),
        });
    }
    for row in DEVICE_KINDS.iter().flat_map(|kind| kind.rows()) {
        let name = |case: &str| format!("{case} ({}, {:?})", row.kind.name, row.uses);
        let cases = match row.uses {
            Uses::OneStream => streams::CASES,
            _ => cases::CASES,
        };
        for (case, function) in cases {
            tests.push(Test {
                name: name(case),
                run: Box::new(move || function(row)),
            });
        }
        for scenario in scenarios::scenarios() {
            if row.kind.preset == cuarena::Preset::Pool && row.uses == Uses::NoStream {
                tests.push(Test {
                    name: name(&scenario.name),
                    run: Box::new(move || scenarios::play(row, &scenario)),
                });
            }
        }
        if row.uses == Uses::ManyStreams {
            tests.push(Test {
                name: name("multistream.csv.gz"),
                run: Box::new(move || traces::replay(row, "multistream.csv.gz", 1500)),
            });
        }
    }
    tests
}
