//! The library's log, as the logger of the crate `log` gets it. A program of its
//! own, since both logs are the process's.

#![cfg(feature = "log")]

use std::sync::Mutex;

use cuarena::log::{level, set_default, use_log_crate, Level};
use cuarena::{Arena, UnknownKeys};
use log::{LevelFilter, Log, Metadata, Record};

struct Kept(Mutex<Vec<(log::Level, String, String)>>);

static KEPT: Kept = Kept(Mutex::new(Vec::new()));

impl Log for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = (
            record.level(),
            record.target().to_owned(),
            record.args().to_string(),
        );
        self.0.lock().unwrap().push(line);
    }

    fn flush(&self) {}
}

#[test]
fn lines_reach_the_logger_at_its_level() {
    log::set_logger(&KEPT).unwrap();
    for (filter, is) in [
        (LevelFilter::Off, Level::Off),
        (LevelFilter::Error, Level::Error),
        (LevelFilter::Trace, Level::Debug),
        (LevelFilter::Warn, Level::Warn),
    ] {
        log::set_max_level(filter);
        use_log_crate();
        assert_eq!(level(), is, "{filter}");
    }
    let warned = || {
        let builder = Arena::builder().unknown_keys(UnknownKeys::Warn);
        let _ = builder.option("no_such_key", "1").unwrap();
        std::mem::take(&mut *KEPT.0.lock().unwrap())
    };
    let lines = warned();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (level, target, text) = &lines[0];
    assert_eq!((*level, &target[..]), (log::Level::Warn, "cuarena"));
    assert!(text.contains("no_such_key"), "{text}");
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let block = arena.alloc(1000).unwrap();
    drop(arena); // ends with its block
    drop(block);
    drop(Arena::builder().pool(1 << 20).build().unwrap());
    let lines = std::mem::take(&mut *KEPT.0.lock().unwrap());
    assert_eq!(lines, [], "of arenas that ended, at level warn");
    set_default();
    assert_eq!(warned(), []);
}
