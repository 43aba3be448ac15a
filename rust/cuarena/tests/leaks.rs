//! Nothing is lost: an arena ends with its last share and gives all back, and
//! valgrind, where it is installed, finds nothing that was not.

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::{Arc, Mutex};

use cuarena::{Arena, Block, CompactOptions, Preset, Request, Retry};

const KIB: usize = 1 << 10;

/// A bit of everything.
fn everything(preset: Preset) {
    let builder = Arena::builder().preset(preset).limit(1 << 22);
    let sized = match preset {
        Preset::Pool => builder.pool(1 << 20),
        _ => builder,
    };
    let arena = sized.build().unwrap();
    let cache: Arc<Mutex<Vec<Block>>> = Arc::default();
    let cached = Arc::downgrade(&cache);
    arena.on_out_of_memory(move |_| match cached.upgrade() {
        Some(cache) if cache.lock().unwrap().pop().is_some() => Retry::Again,
        _ => Retry::GiveUp,
    });
    arena.on_event(|_| ());
    arena.on_relocation(|_| ControlFlow::Continue(()));
    let tag = arena.tag("cache").unwrap();
    for n in 0..40 {
        let request = Request::new().tag(tag).zeroed();
        let block = arena.alloc_with(n * KIB, &request).unwrap();
        cache.lock().unwrap().push(block);
    }
    cache.lock().unwrap().retain(|block| block.len() % 3 == 0);
    let mut typed = arena.alloc_typed::<u64>(1000).unwrap();
    typed.host_mut().unwrap().fill(1);
    typed.resize(5000).unwrap();
    arena
        .compact_with(&CompactOptions::new(), |_| {
            drop(cache.lock().unwrap().pop());
            ControlFlow::Break(())
        })
        .unwrap();
    arena.clear_events();
    assert!(arena.alloc(64 << 20).unwrap_err().is_out_of_memory());
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        arena.compact_with(&CompactOptions::new(), |_| panic!("on purpose"))
    }));
    drop(panics);
    arena.trim(0).unwrap();
    let weak = arena.downgrade();
    drop((arena, cache));
    assert!(weak.upgrade().is_some());
    assert_eq!(typed.as_block().arena().stats().live_blocks, 1);
    drop(typed);
    assert!(weak.upgrade().is_none());
}

#[test]
fn program() {
    for preset in [
        Preset::Pool,
        Preset::Grow,
        Preset::Bfc,
        Preset::MlxCpu,
        Preset::CupyPool,
    ] {
        everything(preset);
    }
}

#[test]
fn valgrind_finds_nothing_lost() {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--leak-check=full", "--error-exitcode=9"]);
    valgrind.args(["--errors-for-leak-kinds=definite,indirect"]);
    valgrind.arg(std::env::current_exe().unwrap());
    match valgrind.args(["program", "--exact"]).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        }
        Err(error) => println!("skipped: no valgrind here: {error}"),
    }
}
