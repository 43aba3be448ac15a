//! What was found, in the form of the other benchmarks: one JSON object a
//! line, for `bench/tables`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{json, Value};

/// Writes what is below criterion's folder, and `more`, to the file that
/// `CUARENA_BENCH_JSON` names; nothing where it names none.
pub fn write(order: &[String], more: &[Value]) -> io::Result<()> {
    let Some(path) = std::env::var_os("CUARENA_BENCH_JSON") else {
        return Ok(());
    };
    let mut records = Vec::new();
    for folder in measured(&home())? {
        records.push(record(&folder)?);
    }
    records.sort_by_key(|record| place(record, order));
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    writeln!(file, "{}", crate::machine::describe("rust"))?;
    for record in records.iter().chain(more) {
        writeln!(file, "{record}")?;
    }
    file.flush()
}

/// Where criterion writes, by its own rules.
fn home() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    set("CRITERION_HOME")
        .or_else(|| set("CARGO_TARGET_DIR").map(|target| target.join("criterion")))
        .unwrap_or_else(|| PathBuf::from("target/criterion"))
}

/// The folders `new`, each of which is one benchmark.
fn measured(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(found); // nothing was measured
    };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        if path.ends_with("new") && path.join("benchmark.json").exists() {
            found.push(path);
        } else {
            found.extend(measured(&path)?);
        }
    }
    Ok(found)
}

fn record(folder: &Path) -> io::Result<Value> {
    let read = |name: &str| -> io::Result<Value> {
        Ok(serde_json::from_str(&fs::read_to_string(
            folder.join(name),
        )?)?)
    };
    let (of, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let median = &estimates["median"];
    Ok(json!({
        "kind": "rust",
        "case": of["group_id"],
        "who": of["function_id"],
        "of": of["value_str"],
        "unit": "ns",
        "mean": estimates["mean"]["point_estimate"],
        "median": median["point_estimate"],
        "low": median["confidence_interval"]["lower_bound"],
        "high": median["confidence_interval"]["upper_bound"],
    }))
}

/// Sorts by group, by who was measured when, by the parameter.
fn place(record: &Value, order: &[String]) -> (String, usize, u64, String) {
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let who = text("who");
    let at = order.iter().position(|name| *name == who);
    let of = text("of");
    (
        text("case"),
        at.unwrap_or(usize::MAX),
        of.parse().unwrap_or(0),
        of,
    )
}
