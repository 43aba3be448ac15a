//! Keeps the model beside the C code: whoever changes an atomic, its memory order, or where a lock
//! of the protocol is taken or let go of, finds the line here or in `sites.rs` that says so, and
//! with it what the model has of that function.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::sites::{OUTSIDE, USES};

/// The files whose uses of atomics are listed in `sites.rs`: all that include what threads share.
const FILES: &[&str] = &[
    "base/lock.h",
    "base/lock.c",
    "heap/record.h",
    "heap/heap.h",
    "heap/slots.h",
    "heap/fast_path.h",
    "heap/table.h",
    "heap/blocks.c",
    "heap/ranges.c",
    "arena/arena.h",
    "arena/counts.c",
    "arena/thread_cache.c",
    "api/fast_threads.c",
];

/// Folders of which no other file has an atomic, but for counters that nothing depends on.
const FOLDERS: &[&str] = &["heap", "arena", "api"];
const COUNTERS: &[&str] = &["heap/numbers.c", "arena/streams.c"];

/// The functions of the protocol that take a lock or let go of it, or stop caches, in their order.
const LOCKS: &[(&str, &str, &str)] = &[
    ("arena/thread_cache.c", "stop", "enter(t) unlock(t)"),
    ("arena/thread_cache.c", "cuai_tcaches_stop", "stop"),
    (
        "arena/thread_cache.c",
        "cuai_tcaches_enter",
        "enter(arena) stop",
    ),
    (
        "arena/thread_cache.c",
        "leave_arena",
        "lock(arena) stop flush unlock(arena)",
    ),
    (
        "arena/thread_cache.c",
        "end_thread",
        "lock(arenas) unlock(arenas)",
    ),
    ("arena/thread_cache.c", "cuai_tcaches_flush", "flush"),
    ("arena/thread_cache.c", "cuai_tcaches_end", "flush"),
    (
        "arena/thread_cache.c",
        "make_locked",
        "enter(arena) unlock(arena)",
    ),
    ("arena/arena.h", "cuai_stop_again", "stop"),
    (
        "arena/arena.h",
        "cuai_arena_enter_beside",
        "tcaches_enter enter(arena) stop",
    ),
    ("arena/arena.h", "cuai_arena_enter", "arena_enter flush"),
    ("arena/arena.h", "cuai_arena_lock", "lock(arena) stop"),
    ("arena/arena.h", "cuai_arena_wait", "stop"),
    ("api/fast_threads.c", "run_pending_of", "enter(t) unlock(t)"),
    ("api/fast_threads.c", "serve_all", "unlock(arena)"),
    (
        "api/fast_threads.c",
        "try_lock",
        "try_seen_free(arena) enter(arena)",
    ),
    ("api/fast_threads.c", "leave", "unlock(t)"),
    ("api/fast_threads.c", "enter", "enter(t) unlock(t)"),
    ("api/fast.c", "enter_at_once", "try(arena)"),
    ("api/fast.c", "enter_alone", "try(arena)"),
    (
        "api/fast.c",
        "enter_contended",
        "contended(arena) unlock_as(arena)",
    ),
    ("api/fast.c", "enter_heap", "try(arena)"),
];

fn text_of(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../src")
        .join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    without_comments(&text)
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Each function, or macro with parameters, with its text.
fn functions(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let head = line.strip_prefix("#define ");
        let begins = head.is_some() || line.starts_with(|c: char| c.is_ascii_alphabetic());
        if begins && line.contains('(') && !line.ends_with(';') {
            let before = head.unwrap_or(line).split('(').next().unwrap();
            let name = before.rsplit([' ', '*']).next().unwrap();
            found.push((name.to_string(), String::new()));
        } else if line == "}" {
            found.push((String::new(), String::new()));
        }
        if let Some((_, body)) = found.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    found
}

/// What stands in the parentheses that begin the text, or in none.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The words of a text that begin with one of these, each with the text from its end on.
fn words<'a>(text: &'a str, beginnings: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.char_indices()
        .filter(move |(at, c)| is_part(*c) && !text[..*at].ends_with(is_part))
        .filter_map(move |(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let known = beginnings
                .iter()
                .any(|begin| rest[..end].starts_with(begin));
            known.then(|| rest.split_at(end))
        })
}

/// What an atomic of C does, as `sites.rs` calls it.
fn operation(name: &str) -> &str {
    match name {
        "CUAI_LOAD" => "load",
        "CUAI_STORE" => "store",
        "atomic_signal_fence" => "fence",
        _ => name
            .trim_start_matches('_')
            .trim_start_matches("atomic_")
            .trim_end_matches("_explicit")
            .trim_end_matches("_strong")
            .trim_end_matches("_n"),
    }
}

fn line(file: &str, function: &str, what: &str, orders: &[String]) -> String {
    format!("{file} {function}: {what}({})", orders.join(" "))
}

/// Sorted lines, each with a number where there are several.
fn numbered(lines: Vec<String>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in lines {
        let number = (1..)
            .find(|n| !all.contains(&format!("{line} #{n}")))
            .unwrap();
        all.insert(format!("{line} #{number}"));
    }
    all
}

const ATOMICS: &[&str] = &["atomic_", "__atomic_", "CUAI_LOAD", "CUAI_STORE"];

fn uses_in(file: &str) -> Vec<String> {
    let mut uses = Vec::new();
    for (function, body) in functions(&text_of(file)) {
        for (name, rest) in words(&body, ATOMICS) {
            if name == function || !rest.starts_with('(') {
                continue;
            }
            let mut orders: Vec<_> = words(arguments(rest), &["memory_order_", "__ATOMIC_"])
                .map(|(order, _)| order.trim_start_matches("memory_order_"))
                .map(|order| order.trim_start_matches("__ATOMIC_"))
                .map(|order| order.replace('_', "").to_lowercase())
                .collect();
            if name.starts_with("CUAI_") {
                orders.push("relaxed".to_string());
            }
            uses.push(line(file, &function, operation(name), &orders));
        }
    }
    uses
}

fn compare(what: &str, model: Vec<String>, code: Vec<String>) {
    let (model, code) = (numbered(model), numbered(code));
    let only_model: Vec<_> = model.difference(&code).collect();
    let only_code: Vec<_> = code.difference(&model).collect();
    assert!(
        only_model.is_empty() && only_code.is_empty(),
        "{what} are not those of the model. In the model only: {only_model:#?}, in C only: {only_code:#?}"
    );
}

#[test]
fn the_uses_of_atomics_are_those_of_the_model() {
    let outside = OUTSIDE.iter().flat_map(|(_, uses)| uses.iter());
    let model = USES
        .iter()
        .chain(outside)
        .map(|(file, function, what, orders)| {
            let orders: Vec<_> = orders
                .iter()
                .map(|o| format!("{o:?}").to_lowercase())
                .collect();
            line(file, function, what, &orders)
        });
    let code = FILES.iter().flat_map(|file| uses_in(file)).collect();
    compare("The uses of atomics", model.collect(), code);
}

#[test]
fn no_other_file_has_atomics() {
    let src = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../src");
    for folder in FOLDERS {
        for entry in fs::read_dir(src.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let file = format!("{folder}/{name}");
            if !FILES.contains(&&*file) && !COUNTERS.contains(&&*file) {
                assert_eq!(
                    uses_in(&file),
                    [""; 0],
                    "sites.rs is to list the uses of {file}"
                );
            }
        }
    }
}

/// The calls about locks in a function.
fn locks_in(body: &str) -> String {
    let calls = words(body, &["cuai_", "stop", "flush"]).filter_map(|(name, rest)| {
        let rest = rest.strip_prefix('(')?;
        let of = rest
            .strip_prefix('&')
            .and_then(|lock| lock.split_once("->lock"));
        let of = of
            .map(|(of, _)| of)
            .filter(|of| *of == "t" || *of == "arena");
        match (name, of) {
            (_, Some(of)) => Some(format!("{}({of})", lock_call(name)?)),
            ("cuai_lock", None) if rest.starts_with("&cuai_arenas_lock)") => {
                Some("lock(arenas)".to_string())
            }
            ("cuai_unlock", None) if rest.starts_with("&cuai_arenas_lock)") => {
                Some("unlock(arenas)".to_string())
            }
            ("cuai_tcaches_enter", None) => Some("tcaches_enter".to_string()),
            ("cuai_arena_enter_beside", None) => Some("arena_enter".to_string()),
            ("stop" | "cuai_tcaches_stop" | "cuai_stop_again", None) => Some("stop".to_string()),
            ("flush" | "cuai_tcaches_flush", None) => Some("flush".to_string()),
            _ => None,
        }
    });
    calls.collect::<Vec<_>>().join(" ")
}

fn lock_call(name: &str) -> Option<&str> {
    match name
        .strip_prefix("cuai_lock_")
        .or(name.strip_prefix("cuai_"))?
    {
        "assert_held" | "is_held" | "init" | "cleanup" => None,
        call => Some(call),
    }
}

#[test]
fn the_locks_are_those_of_the_model() {
    let model = LOCKS
        .iter()
        .map(|(file, function, locks)| format!("{file} {function}: {locks}"));
    let files: BTreeSet<_> = LOCKS.iter().map(|(file, ..)| file).collect();
    let mut code = Vec::new();
    for file in files {
        for (function, body) in functions(&text_of(file)) {
            let body = body.split_once('{').map_or("", |(_, body)| body);
            let locks = locks_in(body);
            let known = *file != "api/fast.c" || function.starts_with("enter_");
            if !locks.is_empty() && known {
                code.push(format!("{file} {function}: {locks}"));
            }
        }
    }
    compare("The locks", model.collect(), code);
}

/// Each order that is stronger than relaxed is needed: with it relaxed a scene fails.
#[test]
fn every_order_has_a_scene_that_needs_it() {
    let scenes = [include_str!("lock.rs"), include_str!("scenes.rs")].concat();
    let sites = include_str!("sites.rs");
    for (file, function, what, orders) in USES {
        let row = format!("\"{file}\" \"{function}\" \"{what}\"");
        let rows = sites.lines().filter(|line| line.contains(&row));
        for line in rows.filter(|_| format!("{:?}", orders[0]) != "Relaxed") {
            let site = line.trim().split(':').next().unwrap();
            assert!(
                scenes.contains(&format!("Weak({site})")),
                "no scene needs the order of {site}"
            );
        }
    }
}
